"""Answers of classifiers: classes, log-odds, explanations, distances, samples and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray
from suffice.engines.base import Chunk
from suffice.estimators._linear_answers import LinearAnswers
from suffice.estimators.sampling import sample_table
from suffice.families import Gaussian
from suffice.models import passes
from suffice.models.decisions import decide
from suffice.models.explanations import Explanation, compared_classes
from suffice.models.joint import (
    ClassPairs,
    JointModel,
    log_odds_terms,
    most_probable,
)
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Schema

if TYPE_CHECKING:
    from suffice.diagnostics import Check


class ClassAnswers(LinearAnswers):
    """Mixin of classifiers with a joint model."""

    classes_: NDArray[Any]
    schema_: Schema
    statistics_: ModelStatistics
    threshold: Any
    cost: Any

    @property
    def class_log_prior_(self) -> FloatArray:
        """The logarithm of the class probabilities, (k,)."""
        return self._joint.class_log_prior

    @property
    def class_prior_(self) -> FloatArray:
        """The class probabilities, (k,)."""
        return np.exp(self._joint.class_log_prior)

    @property
    def component_classes_(self) -> NDArray[Any]:
        """The class of each component, (m,)."""
        class_of = self._joint.class_of
        return np.array(self.classes_ if class_of is None else self.classes_[class_of])

    @property
    def component_shares_(self) -> FloatArray:
        """The share of each component in its class, p(m | c), (m,)."""
        return np.exp(self._joint.log_shares)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row: the most probable one, unless a threshold or a cost matrix decides."""
        if self.threshold is None and self.cost is None:
            numbers = self._score(most_probable, X)
            return np.asarray(self.classes_[numbers])
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[decide(probabilities, self.classes_, self.threshold, self.cost)])

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the second class where there are two, (n,), else log p(c | x), n×k."""
        logs = self.predict_log_proba(X)
        if len(self.classes_) == 2:
            return np.asarray(logs[:, 1] - logs[:, 0])
        return logs

    def mahalanobis(self, X: Any) -> FloatArray:
        """Return the distance of each row to the mean of each class in units of its covariance, n×k.

        It is taken over the Gaussian columns, and over the cells that are there; to the nearest component of a class.
        """
        check_is_fitted(self, "statistics_")
        if not any(isinstance(block.family, Gaussian) for block in self.schema_.blocks):
            raise ValueError("a Mahalanobis distance needs Gaussian columns, and this model has none")
        return np.sqrt(self._score(_squared_distances, X))

    def check(self, X: Any, y: Any) -> Check:
        """Return whether the assumptions of the model hold for rows with known classes, in plain words.

        Within each class: are rows normal (Mardia's tests, or d'Agostino and Pearson's where columns stand alone), do
        the classes share their covariance (Box's M), is the variance of counts their mean, and do columns that are
        taken to be independent depend on each other? At most 20,000 rows are looked at. Columns that look like
        identifiers are named.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> print(GaussianDiscriminant(covariance="full").fit(X, y).check(X, y))
        Looked at 150 rows of 3 classes.
          holds  Within the classes, rows look normal (Mardia).
        """
        from suffice.diagnostics import check_assumptions

        check_is_fitted(self, "statistics_")
        return check_assumptions(self.statistics_, X, y)

    def explain(self, X: Any, target: Any = None, against: Any = None) -> Explanation:
        """Return what each column adds to the log-odds of one class against another, for each row.

        Where classes have several components, a column adds the mean, over pairs of components of the two classes by
        p(m | x, target) p(l | x, against), of what it adds to the log-odds of these components.

        Parameters
        ----------
        target : class label or one for each row, optional
            The class to explain; the most probable one by default.
        against : class label or one for each row, optional
            The class to compare with; the most probable other one by default.
        """
        chosen, other = compared_classes(self.predict_log_proba(X), self.classes_, target, against)
        pairs = ClassPairs(self._joint, chosen, other)
        split = passes.score(X, self.schema_, log_odds_terms, pairs, estimator=type(self).__name__, n_jobs=self.n_jobs)
        return Explanation(
            list(self.schema_.column_labels), split[:, 1:], split[:, 0], self.classes_[chosen], self.classes_[other]
        )

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, NDArray[Any]]:
        """Draw rows and their labels from the model; the rows come in the kind of table that it was fitted on."""
        check_is_fitted(self, "statistics_")
        rng = np.random.default_rng(random_state)
        shares = np.exp(self._joint.log_prior)
        numbers = rng.choice(len(shares), size=n_samples, p=shares / shares.sum())
        return sample_table(self.schema_, self.distributions_, numbers, rng), self.component_classes_[numbers]


def _squared_distances(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: the squared Mahalanobis distances over all Gaussian blocks, n×k."""
    squared = np.zeros((len(chunk), len(model.log_prior)))
    for _, distributions, rows in model.parts(chunk):
        distance = getattr(distributions, "mahalanobis", None)  # what numbers have, as Gaussians or averaged over them
        if distance is not None:
            squared += distance(rows)
    if model.class_of is None:
        return squared
    return np.minimum.reduceat(squared, np.flatnonzero(np.diff(model.class_of, prepend=-1)), axis=1)
