"""Generalised linear models: scikit-learn's interface to Newton's method over the engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from suffice._arrays import FloatArray
from suffice.estimators._glm_derivatives import Derivatives
from suffice.estimators._glm_inference import GLMInference
from suffice.glm.baseline import NullModel, Totals, ends, totals
from suffice.glm.design import Design, Survey
from suffice.glm.formulas import FormulaSurvey, parse
from suffice.glm.objective import Found
from suffice.glm.pairs import Pair
from suffice.glm.predicting import is_column, offsets
from suffice.glm.regression import Settings, fit_pair
from suffice.glm.response_names import as_response
from suffice.glm.responses import GaussianResponse, NegativeBinomialResponse, Response
from suffice.glm.rows import Data, Target, open_rows
from suffice.glm.sandwich import Groups, as_cov_type, require_hessian, robust_factor
from suffice.glm.shape import fit_shape
from suffice.glm.successes import Successes
from suffice.glm.targets import as_target
from suffice.glm.warn import INTERCEPT, warn_of_fit, warn_of_shape
from suffice.optimize.interrupts import end_early
from suffice.optimize.progress import progress_line
from suffice.tables.sources import Source
from suffice.tables.table import Table


class GLM(Derivatives, GLMInference, RegressorMixin, BaseEstimator):
    """A generalised linear model: y has the mean μ with g(μ) = intercept + x·coef + offset.

    It is fitted by Newton's method with the expected Hessian (iteratively reweighted least squares): one pass over the
    rows per iteration, in memory or from files. If such iterations gain little, steps use the observed Hessian where it
    differs. Data-frame columns of text and categories become one 0/1 column per level except the first. With more than
    1,500 parameters the Hessian is not formed: L-BFGS replaces Newton's method, on columns that it scales itself, and
    there are no standard errors.

    Parameters
    ----------
    family : str or Family, default "gaussian"
        The distribution of y: "gaussian" (or "normal"), "bernoulli", "poisson", "gamma", "binomial",
        "negative-binomial" (or "nb"), "inverse-gaussian", in any spelling with spaces, hyphens or underscores; or one
        of the library's families, such as `Poisson()` or `NegativeBinomial(shape=2.0)`.
    link : str, Link or None, default None
        The link function g: "identity", "logit", "probit", "cloglog", "log", "inverse", "sqrt", "inverse-squared", or a
        power with its exponent, "power(0.25)". None is the canonical link, and the log for the negative binomial.
    alpha : float, default 0.0
        The precision of a normal prior on each coefficient except the intercept: the fit maximises
        log-likelihood − ½ α Σ coef², with the dispersion taken as 1. It does not grow with the number of rows;
        scikit-learn's `PoissonRegressor(alpha=a)` is α = a · Σ weights, its `Ridge(alpha=a)` is α = a.
    fit_intercept : bool, default True
        Whether to fit an intercept. Without one, the first categorical column has a column for every level.
    formula : str or None, default None
        A formula such as "visits ~ age * C(city) + offset(log(days))", for data frames: the columns of the design, with
        interactions (`:`, `*`), functions and categories, and the response, unless y is passed. `fit`, `score` and
        `residuals` then need X alone. "0 + …" leaves out the intercept. It needs the library formulaic, whose terms and
        names of terms it has, and which runs the formula as code.
    shape : float or None, default None
        The shape θ of the negative binomial, whose variance is μ + μ²/θ; other software gives α = 1/θ. None estimates
        it together with the coefficients by maximum likelihood, as `glm.nb` of R does.
    positive : value of y or None, default None
        For a bernoulli or binomial y of two values, such as "no" and "yes": the one that counts as a success, whose
        probability is modelled. None is the last of the two: 1, True, the second category, or the second in sorted
        order.
    firth : bool, default False
        Whether to maximise the likelihood times the square root of the determinant of the information (Firth's
        correction), which removes the first-order bias and is finite even if classes are separated. For logistic and
        log-linear models.
    max_iter : int, default 100
        The maximum number of iterations; fifty times as many for L-BFGS, whose iterations are many and cheap.
    tol : float, default 1e-12
        How far the log-likelihood may be below its maximum before the last step, in units of log-likelihood.
    verbose : bool, default False
        Whether to show each iteration on standard error.
    n_jobs : int or None, default None
        The number of threads; None is one per core.

    Attributes
    ----------
    coef_ : array of shape (p,)
        The coefficients of the columns of the design.
    intercept_ : float
        The intercept; 0 without one.
    terms_ : list of str
        The names of all parameters: "(intercept)" if there is one, then the columns of the design, such as "age" and
        "smoke[yes]".
    parameters_, std_errors_ : arrays, in the order of `terms_`
        The estimates and their standard errors. Standard errors are those of R: √ of the diagonal of φ (XᵀWX + α)⁻¹.
        They are NaN for columns that were left out, and for all columns if there are more than 1,500 parameters.
    covariance_ : array, in the order of `terms_`
        The covariance matrix of the parameters.
    cov_type_, n_groups_ : str, int or None
        How standard errors were computed: "nonrobust", or as asked for in `fit`; and the number of groups.
    dispersion_ : float
        φ: 1 if the family has a known dispersion, else Pearson's χ² / (rows − parameters), as in R. Rows of weight 0 do
        not count.
    shape_, shape_std_error_ : float
        Of a negative binomial regression: the shape θ, and its standard error by the observed information, NaN if it
        was given. If the counts vary no more than Poisson counts, θ is infinite, and a warning says so.
    levels_ : (failure, success) or None
        The two values of a binomial y; None if y holds numbers.
    deviance_, null_deviance_, log_likelihood_, aic_, bic_ : float
        The measures of fit, defined as in R: an estimated dispersion counts as a parameter.
    aliased_ : list of str
        Columns that are linear combinations of earlier ones; their coefficients are 0.
    n_iter_ : int
        The number of iterations over all rows.
    converged_ : bool
        Whether the fit converged.
    n_features_in_, feature_names_in_ : int, array of str
        The number of columns of X, and their names if it had names, as in scikit-learn.

    Notes
    -----
    Weights are R's prior weights: the variance of row i is φ V(μ) / weight. For families with a known dispersion a row
    of weight 2 counts as that row twice; for a binomial the weight is the number of trials.

    With an identity link, predictions may lie outside the range of y, such as a negative rate or a probability above 1.
    A power, inverse or square-root link has means for η > 0 only; for other η, the limit at η = 0 is predicted, which
    is 0 or infinity, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import GLM
    >>> dose = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = GLM("poisson").fit(dose, [1, 2, 4, 9])
    >>> model.coef_.round(4), model.std_errors_.round(4)
    (array([0.7478]), array([0.687 , 0.2767]))
    >>> model.predict([[4.0]]).round(2)
    array([18.74])
    """

    def __init__(
        self,
        family: Any = "gaussian",
        link: Any = None,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        *,
        formula: str | None = None,
        shape: float | None = None,
        positive: Any = None,
        firth: bool = False,
        max_iter: int = 100,
        tol: float = 1e-12,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.link = link
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.formula = formula
        self.shape = shape
        self.positive = positive
        self.firth = firth
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.n_jobs = n_jobs

    # -- learning -----------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        start: Any = None,
        cov_type: str | None = None,
        groups: Any = None,
    ) -> Self:
        """Estimate the coefficients.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, without missing cells.
        y : array of shape (n,)
            The response; None if the formula names it. For the bernoulli and the binomial: any two values, see
            `positive`. For the binomial also proportions of successes with the numbers of trials as weights, or two
            columns, successes and failures.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        offset : array of shape (n,), or a column by its name or position, optional
            A known part of the linear predictor. A column that is named here is not a term, and is read in prediction,
            unless another offset is given there.
        exposure : array of shape (n,), or a column by its name or position, optional
            For log links: the mean is proportional to it, so log(exposure) is added to the offset. If a column is
            named, predictions are counts for the exposure in that column; for an array they are rates, per unit of
            exposure, unless they are given an exposure too.
        start : array of shape (1 + p,), or a model with `coef_` and `intercept_`, optional
            The starting point: the intercept (if there is one) and the coefficients.
        cov_type : "HC0", "HC1", "HC2", "HC3" or "cluster", optional
            Robust standard errors, which hold if the variance is not that of the family, or if rows of a group depend
            on each other ("cluster"). They take two more passes over the rows. A weighted row counts as one
            observation. A shape that was estimated is taken as known.
        groups : array of shape (n,), or a column by its name or position, optional
            The group of each row, for `cov_type="cluster"`. A column that is named here is not a term.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, with the best coefficients so far kept; the null deviance, log-likelihood, AIC and BIC, which
            need another pass over the rows, are then NaN. See `suffice.keep_on_interrupt`.
        """
        y, model = self._response(X, y), self._given_pair()
        successes = Successes(model.response, self.positive)
        settings = Settings(self._intercept, self.alpha, self.firth, self.max_iter, self.tol)
        survey = self._survey(offset, exposure, groups)
        robust = as_cov_type(cov_type, groups=groups is not None, penalised=bool(self.alpha or self.firth))
        data = self._open(model, survey, successes, X, y, sample_weight, offset, exposure, groups)
        if robust is not None:
            require_hessian(len(data.center) + self._intercept)
        met = data.targets.reduce(totals, None)
        if met.weight == 0:
            raise ValueError("at least one row must have a positive weight, but all weights are zero")
        with progress_line(self.verbose, self.max_iter, self.tol) as watch:
            if isinstance(model.response, NegativeBinomialResponse) and model.response.estimated:
                best = fit_shape(model, data, met, settings, start, watch)
                model, found, null, shape_error = best.model, best.found, best.null, best.std_error
            else:
                found, null = fit_pair(model, data, met, settings, start, watch)
                shape_error = np.nan
        cov_type = robust if not found.interrupted else None
        spread, n_groups = None, None
        if cov_type is not None:
            spread, n_groups = robust_factor(cov_type, model, data, found, met.n_rows, self._intercept)
        self._given = [
            name for name, v in (("offset", offset), ("exposure", exposure)) if v is not None and not is_column(v)
        ]
        self.levels_ = successes.levels()
        self._adopt(model, data, met, found, null, shape_error)
        self.cov_type_, self.n_groups_ = cov_type or "nonrobust", n_groups
        if spread is not None:
            self._factor = spread
        alike = f"y is {met.y / met.weight:g} in every row" if met.constant else None
        terms = np.array(self.terms_, dtype=object)
        warn_of_fit(terms, found, stacklevel=3, firth=model.bends, constant=alike)
        warn_of_shape(model.response, found, stacklevel=3)
        if found.interrupted:
            end_early(f"the coefficients are the best of {found.n_iter} iterations", stacklevel=2)
        return self

    @property
    def _intercept(self) -> bool:
        """Whether there is an intercept."""
        if self.formula is None:
            return self.fit_intercept
        if not self.fit_intercept:
            raise ValueError(
                "a formula says whether there is an intercept; write '0 + …' in it, and fit_intercept=True"
            )
        return parse(self.formula, ("the columns",)).intercept

    def _survey(self, offset: Any, exposure: Any, groups: Any = None) -> Survey:
        """Return the survey that finds the design."""
        named = {"offset": offset, "exposure": exposure, "groups": groups}
        if self.formula is not None:
            return FormulaSurvey(
                self.formula, **{name: value if is_column(value) else None for name, value in named.items()}
            )
        return Survey(
            intercept=self._intercept, **{name: value if is_column(value) else None for name, value in named.items()}
        )

    def _open(
        self, pair: Pair, survey: Survey, successes: Successes, X: Any, y: Any, sample_weight: Any, offset: Any,
        exposure: Any, groups: Any,
    ) -> Data:  # fmt: skip
        """Return the rows on an engine."""
        if isinstance(X, Source) and any(v is not None and not is_column(v) for v in (offset, exposure, groups)):
            raise ValueError(
                "for a stream or a scan, name the column that holds the offset, exposure or groups: offset='column'"
            )
        if isinstance(X, Source) and isinstance(survey, FormulaSurvey):
            raise ValueError(
                "a formula takes its categories and transformations from all rows, so that it needs a table in memory "
                "to fit; pass a data frame, or a stream or scan without a formula"
            )
        numbers = Groups()

        def target(y: Any, weight: Any, table: Table, design: Design, start: int) -> Target:
            shift = offsets(table, design, pair.link, offset, exposure, start)
            found = as_target(pair, y, weight, len(table), start, shift, successes.levels())
            if groups is None:
                return found
            values = groups if design.groups is None else design.schema.arranged(table).values(design.groups)
            return replace(found, group=numbers.codes(values, len(table), start))

        return open_rows(
            X, y, sample_weight, survey=survey, meet=successes.meet, target=target, estimator=type(self).__name__,
            n_jobs=self.n_jobs,
        )  # fmt: skip

    def _adopt(self, model: Pair, data: Data, met: Totals, found: Found, null: float, shape_error: float) -> None:
        """Store the estimates, and all that is computed from them."""
        response, design = model.response, data.design.without("groups")
        free = self._set_shape(response, shape_error)
        self.design_ = design
        self.n_features_in_ = design.schema.n_columns
        if design.schema.names is not None:
            self.feature_names_in_ = np.array(design.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.terms_ = ([INTERCEPT] if self._intercept else []) + design.names
        theta = found.theta if self._intercept else np.append(0.0, found.theta)
        self._center = data.center if self._intercept else np.zeros(len(theta) - 1)
        self._theta = theta
        self.coef_ = theta[1:].copy()
        self.intercept_ = float(theta[0] - self._center @ self.coef_) if self._intercept else 0.0
        self.parameters_ = np.append(self.intercept_, self.coef_) if self._intercept else self.coef_.copy()
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        rank = int(found.kept.sum())
        self.n_rows_ = met.n_rows
        self._totals = np.array([met.n_rows, met.weight, met.y, met.square, met.offset])
        self.df_null_ = met.n_rows - int(self._intercept)
        self.df_residual_ = met.n_rows - rank
        self.deviance_ = max(2.0 * found.half_deviance, 0.0)
        dispersion = 1.0
        if not response.dispersion_known:
            dispersion = found.pearson / self.df_residual_ if self.df_residual_ > 0 else np.nan
        self.dispersion_ = dispersion
        self._factor = self._spread(found, dispersion)
        self.aliased_ = np.array(self.terms_, dtype=object)[~found.kept].tolist()
        self.null_deviance_ = self.log_likelihood_ = self.aic_ = self.bic_ = np.nan
        if found.interrupted:  # the rest takes another pass over the rows
            return
        rows = met.n_rows if isinstance(response, GaussianResponse) else met.weight
        # a perfect fit leaves only rounding error, and an unbounded density
        perfect = self.deviance_ <= 1e-24 * (met.square if isinstance(response, GaussianResponse) else met.weight)
        likely = 1.0 if response.dispersion_known or perfect else self.deviance_ / rows
        last = data.targets.reduce(ends, NullModel(model, null, likely))
        self.null_deviance_ = last.null_deviance
        self.log_likelihood_ = last.saturated - self.deviance_ / (2.0 * likely)
        if perfect and not response.dispersion_known:
            self.log_likelihood_ = np.inf
        self.aic_ = 2.0 * (rank + free) - 2.0 * self.log_likelihood_
        self.bic_ = np.log(met.n_rows) * (rank + free) - 2.0 * self.log_likelihood_

    def _set_shape(self, response: Response, std_error: float) -> int:
        """Store the shape, if there is one; return the number of estimated parameters besides the coefficients."""
        if isinstance(response, NegativeBinomialResponse):
            self.shape_, self.shape_std_error_ = response.shape, std_error
            return int(response.estimated)
        for name in ("shape_", "shape_std_error_"):
            self.__dict__.pop(name, None)
        return int(not response.dispersion_known)

    def _spread(self, found: Found, dispersion: float) -> FloatArray | None:
        """Return F with F Fᵀ the covariance of the centred intercept and the coefficients, (1 + p)×(1 + p)."""
        if found.solver is None or found.hessian is None:
            return None
        spread = found.solver.root_of_inverse(found.hessian)
        if not self._intercept:
            spread = np.pad(spread, ((1, 0), (1, 0)))
        return np.sqrt(dispersion) * spread

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        response = as_response(self.family, self.shape)
        tags.target_tags.positive_only = not isinstance(response, GaussianResponse)
        return tags
