"""The uncertainty of the parameters of a linear model: standard errors, intervals, a summary."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray
from suffice.glm.design import Design
from suffice.glm.intervals import Intervals
from suffice.glm.summary import Summary


class Inference:
    """Mixin of `GLM` and `LogisticRegression` with the uncertainty of their parameters."""

    fit_intercept: bool
    alpha: float
    firth: bool
    design_: Design
    aliased_: list[str]
    parameters_: FloatArray
    n_rows_: int
    n_iter_: int
    converged_: bool
    df_residual_: int
    df_null_: int
    deviance_: float
    null_deviance_: float
    log_likelihood_: float
    aic_: float
    bic_: float
    #: F with F Fᵀ the covariance of the intercepts about the centre and the coefficients; None if it was not formed
    _factor: FloatArray | None
    _center: FloatArray

    @property
    def _intercept(self) -> bool:
        """Whether there is an intercept."""
        return self.fit_intercept

    @property
    @abstractmethod
    def _names(self) -> list[str]:
        """The names of the parameters."""

    @abstractmethod
    def _degrees(self) -> float | None:
        """Return the degrees of freedom of Student's t; None for the normal distribution."""

    @abstractmethod
    def _title(self) -> str:
        """Return the title of the summary."""

    @abstractmethod
    def _notes(self) -> list[tuple[str, str]]:
        """Return what a summary says of the response besides the deviances."""

    @property
    def covariance_(self) -> FloatArray:
        """The covariance of the parameters, in their order; NaN for columns that were left out."""
        check_is_fitted(self, "coef_")
        names = self._names
        if self._factor is None:
            return np.full((len(names), len(names)), np.nan)
        spread = self._factor.reshape(-1, len(self._center) + 1, len(self._factor)).copy()
        spread[:, 0] -= np.einsum("j,cjr->cr", self._center, spread[:, 1:])  # intercept = a − c·b
        if not self._intercept:
            spread = spread[:, 1:]
        rows = spread.reshape(len(names), -1)
        matrix = rows @ rows.T
        out = np.array([name in self.aliased_ for name in names])
        matrix[out] = matrix[:, out] = np.nan
        return matrix

    @property
    def std_errors_(self) -> FloatArray:
        """The standard errors of the parameters, in their order; NaN if no Hessian was formed."""
        return np.sqrt(np.diag(self.covariance_))

    def _quantile(self, level: float) -> float:
        from scipy.special import ndtri, stdtrit

        if not 0.0 < level < 1.0:
            raise ValueError(f"the level of an interval must be between 0 and 1, not {level!r}")
        upper, degrees = 0.5 + 0.5 * level, self._degrees()
        if degrees is None:
            return float(ndtri(upper))
        return float(stdtrit(degrees, upper)) if degrees > 0 else np.nan

    def conf_int(self, level: float = 0.95) -> Intervals:
        """Return Wald's confidence interval per parameter, estimate ± quantile · standard error, in their order.

        The quantile is that of the normal distribution, or of Student's t if the dispersion is estimated and standard
        errors are not robust. `to_frame()` of the result is a data frame with the names of the parameters.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level, between 0 and 1.
        """
        check_is_fitted(self, "coef_")
        margin = self._quantile(level) * self.std_errors_
        bounds = np.column_stack([self.parameters_ - margin, self.parameters_ + margin])
        return Intervals(bounds, self._names, self.design_.schema.library)

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
        errors, degrees = self.std_errors_, self._degrees()
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = self.parameters_ / errors
        p = 2.0 * (ndtr(-np.abs(statistics)) if degrees is None else stdtr(degrees, -np.abs(statistics)))
        notes = [
            ("deviance", f"{self.deviance_:.6g} on {self.df_residual_}"),
            ("null deviance", f"{self.null_deviance_:.6g} on {self.df_null_}"),
            *self._notes(),
            ("log-likelihood", f"{self.log_likelihood_:.6g}"),
            ("AIC", f"{self.aic_:.6g}"),
            ("BIC", f"{self.bic_:.6g}"),
            ("iterations", str(self.n_iter_) + ("" if self.converged_ else ", not converged")),
        ]
        if self._factor is None:
            why = "too many parameters for a Hessian" if self.n_rows_ else "not known, because there are no rows"
            notes.append(("no standard errors:", why))
        if self.alpha or self.firth:
            notes.append(("penalised:", f"alpha {self.alpha:g}" if self.alpha else "Firth's correction"))
        if self.aliased_:
            notes.append(("left out (collinear):", ", ".join(self.aliased_)))
        return Summary(
            self._title(), list(self._names), self.parameters_, errors, statistics, p, self.conf_int(level),
            "z" if degrees is None else "t", level, notes, self.design_.schema.library,
        )  # fmt: skip
