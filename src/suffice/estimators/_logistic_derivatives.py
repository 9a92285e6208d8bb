"""The log-likelihood of a `LogisticRegression` and its derivatives at any coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.glm.classes import Classes
from suffice.glm.design import Design, Survey
from suffice.glm.known import KnownDesign, as_parameters, centred_parameters, uncentring
from suffice.glm.pairs import pair
from suffice.glm.responses import BernoulliResponse
from suffice.glm.rows import open_rows
from suffice.glm.softmax import SoftmaxPoint, softmax_sums
from suffice.glm.sums import NewtonSums, Point, newton_sums
from suffice.glm.warn import INTERCEPT


class LogisticDerivatives:
    """Mixin of `LogisticRegression`: the log-likelihood, its gradient and its Hessian."""

    fit_intercept: bool
    n_jobs: int | None
    classes_: NDArray[Any]
    coef_: FloatArray
    intercept_: FloatArray

    def log_likelihood(self, X: Any, y: Any = None, coef: Any = None, *, sample_weight: Any = None) -> float:
        """Return the log-likelihood Σ log p(y | x) of some rows, without the penalty of `alpha`.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows.
        y : labels of any type, one per row
            The classes of the rows.
        coef : array of shape (1 + p,), or (k, 1 + p) for more than two classes, optional
            The intercept, if there is one, and the coefficients: of the log-odds of the second of two classes, or of
            each class. By default those of the fit; given ones need no fit.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        """
        return -self._derivatives(X, y, coef, sample_weight)[0].half_deviance

    def gradient(self, X: Any, y: Any = None, coef: Any = None, *, sample_weight: Any = None) -> FloatArray:
        """Return the gradient of the log-likelihood in the parameters, in the shape of `coef`.

        It is Σ (y − p(1 | x)) x for two classes, and Σ ([y = c] − p(c | x)) x for class c of more. It is 0 at the
        maximum, and α times the coefficients at the maximum of a fit with the penalty `alpha`.

        Parameters
        ----------
        X, y, coef, sample_weight : as in `log_likelihood`
            The rows, and the parameters at which the gradient is taken.

        Examples
        --------
        >>> from suffice import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
        >>> LogisticRegression().gradient(X, y, [0.0, 0.0])  # Σ ([y = yes] − ½) and Σ ([y = yes] − ½) x
        array([0., 1.])
        """
        sums, turn, shape = self._derivatives(X, y, coef, sample_weight)
        return (turn @ -sums.gradient).reshape(shape)

    def hessian(self, X: Any, y: Any = None, coef: Any = None, *, sample_weight: Any = None) -> FloatArray:
        """Return the second derivatives of the log-likelihood, a square matrix in the order of `coef` row by row.

        It is minus Fisher's information, −XᵀWX for two classes. For more it is singular, because adding the same to
        all classes changes nothing.

        Parameters
        ----------
        X, y, coef, sample_weight : as in `log_likelihood`
            The rows, and the parameters at which the derivatives are taken.
        """
        sums, turn, _ = self._derivatives(X, y, coef, sample_weight)
        return turn @ -sums.hessian @ turn.T

    def _derivatives(
        self, X: Any, y: Any, coef: Any, sample_weight: Any
    ) -> tuple[NewtonSums, FloatArray, tuple[int, ...]]:
        """Return the sums, the matrix T with T g the gradient in the user's parameters, and their shape."""
        fitted: Design | None = vars(self).get("design_")
        if fitted is None and coef is None:
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "coef_")
        labels = Classes(None if fitted is None else self.classes_)
        survey = Survey(intercept=self.fit_intercept) if fitted is None else KnownDesign(fitted)
        data = open_rows(
            X, y, sample_weight, survey=survey, meet=labels.meet, target=labels.target,
            estimator=type(self).__name__, n_jobs=self.n_jobs,
        )  # fmt: skip
        k = len(labels.classes())
        if k < 2:
            raise ValueError(f"a classifier needs at least two classes, but y has {k} class: {list(labels.classes())}")
        names = ([INTERCEPT] if self.fit_intercept else []) + data.design.names
        shape = (len(names),) if k == 2 else (k, len(names))
        if coef is None:
            coef = np.column_stack([self.intercept_, self.coef_]) if self.fit_intercept else self.coef_
            coef = coef[0] if k == 2 else coef
        values = as_parameters(coef, shape, names)
        center = data.center if self.fit_intercept else np.zeros(len(data.center))
        turn = uncentring(center, self.fit_intercept)
        theta = centred_parameters(values, center, self.fit_intercept)
        if k == 2:
            return data.engine.reduce(newton_sums, Point(pair(BernoulliResponse()), center, theta)), turn, shape
        sums = data.engine.reduce(softmax_sums, SoftmaxPoint(center, theta[1:] - theta[0]))
        differences = np.concatenate([-np.ones((1, k - 1)), np.eye(k - 1)])  # the classes relative to the first
        return sums, np.kron(differences, turn), shape
