"""Attributes of classifiers with linear log-odds: coefficients, the decision boundary, and the logistic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray
from suffice.estimators._joint_answers import JointAnswers
from suffice.estimators.logistic_form import logistic_form
from suffice.models.linear import boundary_point, linear_form

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from suffice.estimators.logistic import LogisticRegression


class LinearAnswers(JointAnswers):
    """Mixin for classifiers; its attributes raise AttributeError if the log-odds are not linear."""

    classes_: NDArray[Any]

    @property
    def coef_(self) -> FloatArray:
        """The weights of the linear log-odds: w = Σ⁻¹(μ1 − μ0), 1×d, for two classes; Σ⁻¹μ_c, k×d, for more."""
        weights, _ = self._linear()
        return weights[1:] - weights[:1] if len(weights) == 2 else weights

    @property
    def intercept_(self) -> FloatArray:
        """The intercepts that go with `coef_`."""
        _, intercepts = self._linear()
        return intercepts[1:] - intercepts[:1] if len(intercepts) == 2 else intercepts

    @property
    def boundary_point_(self) -> FloatArray:
        """The point on the boundary between two classes that lies on the line through their means."""
        self._linear()
        return boundary_point(self._joint)

    def to_logistic(self) -> LogisticRegression:
        """Return the equivalent logistic regression: its coefficients are natural parameters, its posteriors the same.

        It exists if the log-odds are linear: Gaussians with a tied covariance, Bernoulli, Categorical (one coefficient
        per value except the first), Multinomial, Poisson, Exponential, Geometric and NegativeBinomial columns.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianDiscriminant(covariance="tied").fit(X, y)
        >>> bool(abs(model.to_logistic().predict_proba(X) - model.predict_proba(X)).max() < 1e-12)
        True
        """
        from suffice.estimators.logistic import LogisticRegression

        check_is_fitted(self, "statistics_")
        return LogisticRegression.from_coefficients(self.classes_, *logistic_form(self._joint))

    def _linear(self) -> tuple[FloatArray, FloatArray]:
        if not hasattr(self, "statistics_"):
            raise AttributeError("the model is not fitted yet, so it has no linear form")
        return linear_form(self._joint)
