"""Likelihood-ratio and F tests of nested regressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.estimators.glm import GLM
from suffice.estimators.logistic import LogisticRegression
from suffice.tables.results import result_frame

#: relative difference of sums over the same rows, taken in other batches
_ROUNDING = 1e-9

Regression = GLM | LogisticRegression


@dataclass(frozen=True)
class LikelihoodRatioTest:
    """The comparison of two nested regressions.

    Attributes
    ----------
    terms : tuple of str
        The parameters that the larger model has and the smaller one lacks.
    distribution : "chi2" or "F"
        The distribution of the statistic if the smaller model is true: F if the dispersion is estimated.
    statistic : float
        Twice the difference of the log-likelihoods; or F, the mean deviance that the parameters explain over the
        dispersion of the larger model.
    df, df_residual : int
        The number of parameters more, and the residual degrees of freedom of the larger model.
    p_value : float
        The probability of a statistic at least as large if the smaller model is true.
    library : str or None
        The data-frame library of the training table.
    """

    terms: tuple[str, ...]
    distribution: str
    statistic: float
    df: int
    df_residual: int
    p_value: float
    library: str | None = None

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame of one row, with the columns "terms", "distribution", "statistic", "df" and so on.

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the training table, or one that is installed.
        """
        values = {name: [getattr(self, name)] for name in ("distribution", "statistic", "df", "df_residual", "p_value")}
        return result_frame({"terms": [", ".join(self.terms)], **values}, library, known=self.library)

    def __str__(self) -> str:
        degrees = f"{self.df}" if self.distribution == "chi2" else f"{self.df}, {self.df_residual}"
        shown = "< 0.0001" if self.p_value < 1e-4 else f"= {self.p_value:.4f}"
        name = {"chi2": "χ²", "F": "F"}[self.distribution]
        return f"without {', '.join(self.terms)}: {name}({degrees}) = {self.statistic:.4g}, p {shown}"

    __repr__ = __str__


def likelihood_ratio_test(smaller: Regression, larger: Regression, *, check_terms: bool = True) -> LikelihoodRatioTest:
    """Compare two nested regressions that were fitted to the same rows by maximum likelihood.

    Twice the difference of the log-likelihoods is compared with χ². If the dispersion is estimated (gaussian, gamma,
    inverse Gaussian), the difference of the deviances is compared with F, as by `anova(…, test = "F")` of R, which is
    exact for the gaussian.

    Parameters
    ----------
    smaller, larger : GLM or LogisticRegression
        The fitted models, both of the same family and link.
    check_terms : bool, default True
        Whether the terms of the smaller model must be terms of the larger one by their names. Pass False if the models
        are nested otherwise, for example a column of numbers in one and its categories in the other.

    Returns
    -------
    test : LikelihoodRatioTest
        The statistic, its degrees of freedom and the p-value.

    Raises
    ------
    ValueError
        If the models are not nested, not of the same rows or not fitted by maximum likelihood, as far as is known.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import GLM, likelihood_ratio_test
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [4.0, 0.0], [5.0, 0.0]])
    >>> y = [1, 2, 4, 9, 10, 21]
    >>> likelihood_ratio_test(GLM("poisson").fit(X[:, :1], y), GLM("poisson").fit(X, y))
    without x1: χ²(1) = 0.7487, p = 0.3869
    """
    from scipy.special import chdtrc, fdtrc

    for model in (smaller, larger):
        if not isinstance(model, Regression):
            raise TypeError(f"nested regressions are GLM or LogisticRegression, not {type(model).__name__}")
        check_is_fitted(model, "coef_")
        _require_maximum_likelihood(model)
    _require_same_kind(smaller, larger)
    _require_same_rows(smaller, larger)
    known, others = _estimated(larger), _estimated(smaller)
    if check_terms and not set(others) <= set(known):
        unknown = [name for name in others if name not in set(known)]
        raise ValueError(
            f"the smaller model must be nested in the larger one, but has {', '.join(map(repr, unknown[:6]))}, which "
            f"the larger one lacks; pass check_terms=False if it is nested otherwise"
        )
    df = len(known) - len(others)
    if df <= 0:
        raise ValueError(
            f"the larger model must have more parameters, but it has {len(known)} and the smaller one {len(others)}; "
            f"pass the smaller model first"
        )
    terms = tuple(name for name in known if name not in set(others))
    degrees, library = larger.df_residual_, larger.design_.schema.library
    if isinstance(larger, GLM) and not larger._pair().response.dispersion_known:
        explained = _not_negative(smaller.deviance_ - larger.deviance_, smaller.deviance_)
        statistic = explained / df / larger.dispersion_
        return LikelihoodRatioTest(terms, "F", statistic, df, degrees, float(fdtrc(df, degrees, statistic)), library)
    gain = 2.0 * (larger.log_likelihood_ - smaller.log_likelihood_)
    statistic = _not_negative(gain, abs(smaller.log_likelihood_))
    return LikelihoodRatioTest(terms, "chi2", statistic, df, degrees, float(chdtrc(df, statistic)), library)


def _estimated(model: Regression) -> list[str]:
    """Return the names of the parameters that were estimated."""
    out = set(model.aliased_)
    return [name for name in model._names if name not in out]


def _require_maximum_likelihood(model: Regression) -> None:
    if model.n_rows_ == 0 or np.isnan(model.log_likelihood_):
        raise ValueError(
            "the log-likelihood of a model is not known, because it was not fitted to rows or the fit was interrupted; "
            "fit it to the rows of the other one"
        )
    if model.alpha or model.firth:
        how = f"alpha={model.alpha:g}" if model.alpha else "firth=True"
        raise ValueError(
            f"a likelihood-ratio test compares maxima of the likelihood, but {type(model).__name__}({how}) is "
            f"penalised; fit both models with alpha=0 and firth=False"
        )


def _require_same_kind(smaller: Regression, larger: Regression) -> None:
    """Raise ValueError unless the models have the same response and link, or the same classes."""
    if isinstance(smaller, GLM) and isinstance(larger, GLM):
        one, other = smaller._given_pair(), larger._given_pair()
        same = one == other and smaller.levels_ == larger.levels_
        shown = [f"{model._pair().response} with the link {model._pair().link}" for model in (smaller, larger)]
    else:
        same = type(smaller) is type(larger)
        same = same and np.array_equal(cast(Any, smaller).classes_, cast(Any, larger).classes_)
        shown = [f"a {type(model).__name__}" for model in (smaller, larger)]
    if not same:
        raise ValueError(
            f"nested models have the same response, shape, link and classes, but these are {shown[0]} and {shown[1]}"
        )


def _require_same_rows(smaller: Regression, larger: Regression) -> None:
    """Raise ValueError if the number of rows, or sums of weights, responses and offsets differ."""
    one, other = smaller._totals, larger._totals
    same = one.shape == other.shape
    if not (same and np.allclose(one, other, rtol=_ROUNDING, atol=1e-3 * _ROUNDING * np.abs(other).max())):
        raise ValueError(
            f"both models must be fitted to the same rows, weights and offsets, but their numbers of rows "
            f"({smaller.n_rows_:,} and {larger.n_rows_:,}) or their sums of y, weights or offsets differ"
        )


def _not_negative(gain: float, size: float) -> float:
    if gain < -1e-7 * max(size, 1.0):
        raise ValueError(
            "the larger model fits worse than the smaller one, so it is not nested or did not converge; check the "
            "terms and `converged_`"
        )
    return max(gain, 0.0)
