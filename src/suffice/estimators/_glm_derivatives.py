"""The log-likelihood of a `GLM` and its derivatives at any coefficients."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.estimators._regression_answers import RegressionAnswers
from suffice.glm.baseline import NullModel, ends
from suffice.glm.design import Design, Survey
from suffice.glm.known import KnownDesign, as_parameters, centred_parameters, uncentring
from suffice.glm.pairs import Pair
from suffice.glm.responses import NegativeBinomialResponse
from suffice.glm.rows import Data
from suffice.glm.successes import Successes
from suffice.glm.sums import Point, newton_sums, observed_hessian
from suffice.glm.warn import INTERCEPT


class Derivatives(RegressionAnswers):
    """Mixin of `GLM`: the log-likelihood, its gradient and its Hessian, of fitted and unfitted models."""

    @property
    @abstractmethod
    def _intercept(self) -> bool:
        """Whether there is an intercept."""

    positive: Any
    parameters_: FloatArray

    @abstractmethod
    def _open(
        self, pair: Pair, survey: Survey, successes: Successes, X: Any, y: Any, sample_weight: Any, offset: Any,
        exposure: Any, groups: Any,
    ) -> Data:  # fmt: skip
        """Return the rows on an engine."""

    def log_likelihood(
        self, X: Any, y: Any = None, coef: Any = None, *, sample_weight: Any = None, offset: Any = None,
        exposure: Any = None, dispersion: float = 1.0,
    ) -> float:  # fmt: skip
        """Return the log-likelihood Σ log p(y | x) of some rows, without the penalty of `alpha`.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows.
        y : array of shape (n,)
            The response, as in `fit`.
        coef : array of shape (q,), optional
            The intercept, if there is one, and the coefficients, in the order of `terms_`. By default those of the fit;
            given ones need no fit.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        offset, exposure : array of shape (n,), or a column of X by its name or position, optional
            As in `fit`.
        dispersion : float, default 1.0
            The dispersion φ of a gaussian, gamma or inverse Gaussian response.
        """
        data, at = self._at(X, y, coef, sample_weight, offset, exposure, dispersion)
        sums = data.engine.reduce(newton_sums, at)
        if not np.isfinite(sums.half_deviance):
            return -np.inf
        saturated = data.targets.reduce(ends, NullModel(at.pair, 0.0, dispersion)).saturated
        return saturated - sums.half_deviance / dispersion

    def gradient(
        self, X: Any, y: Any = None, coef: Any = None, *, sample_weight: Any = None, offset: Any = None,
        exposure: Any = None, dispersion: float = 1.0,
    ) -> FloatArray:  # fmt: skip
        """Return the gradient of the log-likelihood in the parameters, (q,), in the order of `terms_`.

        It is Xᵀ(y − μ)/φ for the canonical link and Σ weight (y − μ) μ′ x / (φ V(μ)) for any. It is 0 at the maximum,
        and α times the coefficients at the maximum of a fit with the penalty `alpha`; NaN if the response cannot have
        one of the means.

        Parameters
        ----------
        X, y, coef, sample_weight, offset, exposure, dispersion : as in `log_likelihood`
            The rows, and the parameters at which the gradient is taken.

        Examples
        --------
        >>> from suffice import GLM
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1, 2, 4, 9]
        >>> GLM("poisson").gradient(X, y, [0.0, 0.0])  # Σ (y − 1) and Σ (y − 1) x
        array([12., 31.])
        >>> bool(abs(GLM("poisson").fit(X, y).gradient(X, y)).max() < 1e-9)
        True
        """
        data, at = self._at(X, y, coef, sample_weight, offset, exposure, dispersion)
        sums = data.engine.reduce(newton_sums, at)
        if not np.isfinite(sums.half_deviance):
            return np.full(len(data.center) + self._intercept, np.nan)
        return uncentring(at.center, self._intercept) @ -sums.gradient / dispersion

    def hessian(
        self, X: Any, y: Any = None, coef: Any = None, *, sample_weight: Any = None, offset: Any = None,
        exposure: Any = None, dispersion: float = 1.0, expected: bool = False,
    ) -> FloatArray:  # fmt: skip
        """Return the second derivatives of the log-likelihood in the parameters, (q, q), in the order of `terms_`.

        Parameters
        ----------
        X, y, coef, sample_weight, offset, exposure, dispersion : as in `log_likelihood`
            The rows, and the parameters at which the derivatives are taken.
        expected : bool, default False
            Whether to return their expectation, −XᵀWX/φ: minus Fisher's information. It is the same for the canonical
            link.
        """
        data, at = self._at(X, y, coef, sample_weight, offset, exposure, dispersion)
        sums = data.engine.reduce(newton_sums, at)
        matrix = sums.hessian
        if not (expected or at.pair.canonical):
            matrix = data.engine.reduce(observed_hessian, at).values
        if not np.isfinite(sums.half_deviance):
            matrix = np.full(matrix.shape, np.nan)
        turn = uncentring(at.center, self._intercept)
        return turn @ -matrix @ turn.T / dispersion

    def _at(
        self, X: Any, y: Any, coef: Any, sample_weight: Any, offset: Any, exposure: Any, dispersion: float
    ) -> tuple[Data, Point]:
        """Return the rows, and the point with the given parameters, or those of the fit."""
        if not dispersion > 0.0:
            raise ValueError(f"the dispersion must be a positive number, not {dispersion!r}")
        fitted: Design | None = vars(self).get("design_")
        if fitted is None and coef is None:
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "coef_")
        y, pair = self._response(X, y), self._pair()
        response = pair.response
        if isinstance(response, NegativeBinomialResponse) and response.estimated and fitted is None:
            raise ValueError("the shape of this negative binomial is to be estimated; pass shape=, or fit the model")
        if fitted is None:
            successes, survey = Successes(response, self.positive), self._survey(offset, exposure)
        else:
            self._require_offsets(offset, exposure)
            successes = Successes(response, None, self.levels_)
            survey = KnownDesign(self._design_beside(offset, exposure))
        data = self._open(pair, survey, successes, X, y, sample_weight, offset, exposure, None)
        names = ([INTERCEPT] if self._intercept else []) + data.design.names
        values = self.parameters_ if coef is None else as_parameters(coef, (len(names),), names)
        center = data.center if self._intercept else np.zeros(len(data.center))
        return data, Point(pair, center, centred_parameters(values, center, self._intercept))

    @abstractmethod
    def _survey(self, offset: Any, exposure: Any, groups: Any = None) -> Survey:
        """Return the survey that finds the design."""
