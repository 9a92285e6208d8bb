"""The uncertainty of the parameters of a generalised linear model: standard errors, intervals, a summary."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray
from suffice.glm.pairs import Pair
from suffice.glm.responses import NegativeBinomialResponse
from suffice.glm.successes import Levels
from suffice.glm.summary import Summary


class Inference:
    """Mixin of `GLM` with the uncertainty of its parameters."""

    fit_intercept: bool
    terms_: list[str]
    aliased_: list[str]
    parameters_: FloatArray
    n_rows_: int
    n_iter_: int
    converged_: bool
    df_residual_: int
    levels_: Levels | None
    df_null_: int
    deviance_: float
    null_deviance_: float
    dispersion_: float
    log_likelihood_: float
    shape_std_error_: float
    aic_: float
    bic_: float
    #: F with F Fᵀ the covariance of the intercept about the centre and the coefficients; None if it was not formed
    _factor: FloatArray | None
    _center: FloatArray

    @abstractmethod
    def _pair(self) -> Pair:
        """Return the response and its link."""

    @property
    def covariance_(self) -> FloatArray:
        """The covariance of the parameters, in the order of `terms_`; NaN for columns that were left out."""
        check_is_fitted(self, "coef_")
        if self._factor is None:
            return np.full((len(self.terms_), len(self.terms_)), np.nan)
        spread = self._factor.copy()
        spread[0] -= self._center @ spread[1:]  # intercept = a − c·b
        if not self.fit_intercept:
            spread = spread[1:]
        matrix = spread @ spread.T
        out = np.array([term in self.aliased_ for term in self.terms_])
        matrix[out] = matrix[:, out] = np.nan
        return matrix

    @property
    def std_errors_(self) -> FloatArray:
        """The standard errors of the parameters, in the order of `terms_`; NaN if no Hessian was formed."""
        return np.sqrt(np.diag(self.covariance_))

    def _quantile(self, level: float) -> float:
        from scipy.special import ndtri, stdtrit

        if not 0.0 < level < 1.0:
            raise ValueError(f"the level of an interval must be between 0 and 1, not {level!r}")
        upper = 0.5 + 0.5 * level
        if self._pair().response.dispersion_known:
            return float(ndtri(upper))
        return float(stdtrit(self.df_residual_, upper)) if self.df_residual_ > 0 else np.nan

    def _response_notes(self) -> list[tuple[str, str]]:
        """Return which value of y is a success; or the shape of a negative binomial, and whether it was estimated."""
        if self.levels_ is not None:
            failure, success = self.levels_
            return [("success", repr(success) if failure is None else f"{success!r} (not {failure!r})")]
        response = self._pair().response
        if not isinstance(response, NegativeBinomialResponse):
            return []
        how = f" ± {self.shape_std_error_:.4g} (estimated)" if response.estimated else " (given)"
        return [("shape", f"{response.shape:.5g}{how}")]

    def conf_int(self, level: float = 0.95) -> FloatArray:
        """Return a confidence interval per parameter, estimate ± quantile · standard error, in the order of `terms_`.

        The quantile is that of the normal distribution, or of Student's t if the dispersion is estimated.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level, between 0 and 1.
        """
        check_is_fitted(self, "coef_")
        margin = self._quantile(level) * self.std_errors_
        return np.column_stack([self.parameters_ - margin, self.parameters_ + margin])

    def summary(self, level: float = 0.95) -> Summary:
        """Return a table of estimates, standard errors, z (or t), p-values and intervals, to print or show with rich.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level of the intervals, between 0 and 1.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import GLM
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [1, 2, 4, 9]
        >>> print(GLM("poisson").fit(X, y).summary())
        poisson regression, log link, 4 rows
        <BLANKLINE>
                     estimate  std. error      z  p > |z|  95 % from      to
        (intercept)  -0.06051     0.68696  -0.09   0.9298    -1.4069  1.2859
        x0            0.74776     0.27669   2.70   0.0069    0.20545  1.2901
        <BLANKLINE>
        deviance 0.0151784 on 2 · null deviance 9.05157 on 3 · dispersion 1
        log-likelihood -5.97412 · AIC 15.9482 · BIC 14.7208 · iterations 3
        """
        from scipy.special import ndtr, stdtr

        check_is_fitted(self, "coef_")
        model = self._pair()
        errors = self.std_errors_
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = self.parameters_ / errors
        known = model.response.dispersion_known
        p = 2.0 * (ndtr(-np.abs(statistics)) if known else stdtr(self.df_residual_, -np.abs(statistics)))
        notes = [
            ("deviance", f"{self.deviance_:.6g} on {self.df_residual_}"),
            ("null deviance", f"{self.null_deviance_:.6g} on {self.df_null_}"),
            ("dispersion", f"{self.dispersion_:.5g}" + ("" if known else " (estimated)")),
            *self._response_notes(),
            ("log-likelihood", f"{self.log_likelihood_:.6g}"),
            ("AIC", f"{self.aic_:.6g}"),
            ("BIC", f"{self.bic_:.6g}"),
            ("iterations", str(self.n_iter_) + ("" if self.converged_ else ", not converged")),
        ]
        if self._factor is None:
            notes.append(("no standard errors:", "too many parameters for a Hessian"))
        if self.aliased_:
            notes.append(("left out (collinear):", ", ".join(self.aliased_)))
        title = f"{model.response} regression, {model.link} link, {self.n_rows_:,} rows"
        return Summary(
            title, list(self.terms_), self.parameters_, errors, statistics, p, self.conf_int(level),
            "z" if known else "t", level, notes,
        )  # fmt: skip
