"""Attributes of classifiers with linear log-odds: coefficients, the decision boundary, and the logistic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray
from suffice.errors import NotLinearError
from suffice.estimators._joint_answers import JointAnswers
from suffice.estimators.boundary import Boundary
from suffice.estimators.logistic_form import logistic_form
from suffice.models.linear import LinearForm
from suffice.tables.labels import class_list

if TYPE_CHECKING:
    from suffice.estimators.logistic import LogisticRegression


class LinearAnswers(JointAnswers):
    """Mixin for classifiers; its attributes raise AttributeError if the log-odds are not linear."""

    classes_: NDArray[Any]

    @property
    def coef_(self) -> FloatArray:
        """The weights of the linear log-odds.

        For two classes, 1×d, they are w = β_1 − β_0, which is Σ⁻¹(μ_1 − μ_0) for a tied Gaussian. For more classes,
        k×d, they are β_c, with log p(c | x) = β_cᵀx + γ_c up to a term that all classes share, and γ_c in
        `intercept_`:

        - a tied Gaussian has β_c = Σ⁻¹μ_c and γ_c = log π_c − ½ μ_cᵀΣ⁻¹μ_c (columns with a single value have 0);
        - independent columns with tied variances have β_cj = μ_cj / σ_j², the same with a diagonal Σ;
        - other columns have their natural parameters β_cj = η_cj and add −A(η_cj) to γ_c: log p/(1 − p) and
          log(1 − p) of a Bernoulli column, log λ and −λ of a Poisson column, −λ and log λ of an Exponential one,
          log p and 0 of a Multinomial one.

        If the means are far from 0, wᵀx + b cancels digits; predictions, `boundary` and `to_logistic` use a point
        between the classes instead of 0.
        """
        form = self._linear()
        if len(self.classes_) == 2:
            return form.log_odds(1, 0)[0][None]
        return form.natural()[0]

    @property
    def intercept_(self) -> FloatArray:
        """The intercepts that go with `coef_`: b = γ_1 − γ_0, (1,), for two classes; γ_c, (k,), for more."""
        form = self._linear()
        if len(self.classes_) == 2:
            return np.array([form.log_odds(1, 0)[1]])
        return form.natural()[1]

    def boundary(self, target: Any = None, against: Any = None) -> Boundary:
        """Return the boundary between two classes: w, x0, the projection of rows, and how the class prior moves x0.

        Parameters
        ----------
        target : class label, optional
            The class on the side to which w points; by default the second of two classes.
        against : class label, optional
            The other class; by default the first, or the other one, of two classes.

        Raises
        ------
        ValueError
            If the log-odds are not linear, as with a covariance per class.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> boundary = GaussianDiscriminant("tied", prior=None).fit(X[:, :2], y).boundary(2, 1)
        >>> boundary.w.round(3), boundary.x0.round(3)
        (array([ 2.614, -0.297]), array([6.262, 2.872]))
        """
        check_is_fitted(self, "classes_")
        labels = class_list(self.classes_)
        for label in (target, against):
            if label is not None and label not in labels:
                raise ValueError(f"there is no class {label!r}; the classes are {labels}")
        if len(labels) != 2 and (target is None or against is None):
            raise ValueError(
                f"a boundary belongs to two classes, and there are {len(labels)}; name two of {labels}, as in "
                f"boundary(target, against)"
            )
        if target is None:
            target = labels[1] if against is None or against == labels[0] else labels[0]
        if against is None:
            against = labels[1] if target == labels[0] else labels[0]
        if target == against:
            raise ValueError(f"a boundary belongs to two different classes, but both are {target!r}")
        try:
            return Boundary.of(self._joint, labels, labels.index(target), labels.index(against))
        except NotLinearError as error:
            raise error.as_value_error() from None

    @property
    def boundary_point_(self) -> FloatArray:
        """The point x0 on the boundary between two classes that lies on the line through their means."""
        self._linear()
        try:
            return self.boundary().x0
        except ValueError as error:
            raise AttributeError(str(error)) from None

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

        check_is_fitted(self, "classes_")
        return LogisticRegression.from_coefficients(self.classes_, *logistic_form(self._joint))

    def _linear(self) -> LinearForm:
        if not hasattr(self, "classes_"):
            raise AttributeError("the model is not fitted yet, so it has no linear form")
        return LinearForm.of(self._joint)
