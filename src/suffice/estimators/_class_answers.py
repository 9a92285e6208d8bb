"""Methods of fitted classifiers: classes, log-odds, explanations, distances, samples and checks."""

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
    conditional_log_likelihood,
    log_likelihood,
    log_odds_terms,
    most_probable,
)
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Schema
from suffice.models.word_terms import word_terms
from suffice.tables.labels import LabelCoder, class_list
from suffice.tables.sources import Source

if TYPE_CHECKING:
    from suffice.diagnostics import Check


class ClassAnswers(LinearAnswers):
    """Mixin for classifiers with a joint model."""

    classes_: NDArray[Any]
    schema_: Schema
    statistics_: ModelStatistics
    threshold: Any
    cost: Any
    missing_label: Any

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

    def _groups(self) -> dict[str, list[Any]]:
        groups = {"class": class_list(self.component_classes_)}
        if self._joint.class_of is not None:
            groups["component"] = list(range(len(self._joint.log_prior)))
        return groups

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, (n,): the most probable one, unless a threshold or a cost matrix is set.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        if self.threshold is None and self.cost is None:
            numbers = self._score(most_probable, X)
            return np.asarray(self.classes_[numbers])
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[decide(probabilities, self.classes_, self.threshold, self.cost)])

    def log_likelihood(self, X: Any, y: Any = None, sample_weight: Any = None, *, conditional: bool = False) -> float:
        """Return the log-likelihood of rows with their classes, Σ_i log p(x_i, y_i).

        It is what learning by maximum likelihood maximises. A row without a label adds log p(x_i) = log Σ_c p(x_i, c).
        The conditional log-likelihood, Σ_i log p(y_i | x_i), is what logistic regression maximises instead; the two
        differ by Σ_i log p(x_i).

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training; a scan or a stream brings its labels and weights.
        y : labels, or an n×k matrix (or data frame) of class probabilities, optional
            The classes of the rows; None, NaN and `missing_label` mark rows without a label. Without `y` no row has
            one. A row with class probabilities r adds Σ_c r_c log p(x, c).
        sample_weight : array of shape (n,), optional
            The weight of each row, by which its logarithm is multiplied.
        conditional : bool, default False
            Whether to sum log p(y | x), to which a row without a label adds 0.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> model = NaiveBayes("bernoulli", prior=None).fit([[1], [1], [0], [0]], ["a", "a", "a", "b"])
        >>> round(model.log_likelihood([[1], [0]], ["a", "b"]), 4)   # log ¾·⅔ + log ¼·1
        -2.0794
        >>> round(model.log_likelihood([[0]], ["b"], conditional=True), 4)   # log ½
        -0.6931
        """
        check_is_fitted(self, "classes_")
        if conditional and y is None and not isinstance(X, Source):
            raise ValueError("the conditional log-likelihood is that of labels; pass y")
        coder = LabelCoder(self.classes_, declared=True, missing_label=self.missing_label)
        engine = passes.engine(
            X, y, sample_weight, self.schema_, coder.partial, n_jobs=self.n_jobs, estimator=type(self).__name__
        )
        return float(engine.reduce(conditional_log_likelihood if conditional else log_likelihood, self._joint))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the second of two classes, (n,), or log p(c | x) of more classes, n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        logs = self.predict_log_proba(X)
        if len(self.classes_) == 2:
            return np.asarray(logs[:, 1] - logs[:, 0])
        return logs

    def mahalanobis(self, X: Any) -> FloatArray:
        """Return the Mahalanobis distance of each row to the mean of each class, n×k.

        It uses the Gaussian columns and the observed cells of a row. If a class has several components, the distance is
        to the nearest one.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        check_is_fitted(self, "classes_")
        if not any(isinstance(block.family, Gaussian) for block in self.schema_.blocks):
            raise ValueError("a Mahalanobis distance needs Gaussian columns, and this model has none")
        return np.sqrt(self._score(_squared_distances, X))

    def check(self, X: Any, y: Any) -> Check:
        """Return a report on whether the assumptions of the model hold for rows with known classes.

        The checks are, within each class: are rows normal (Mardia's tests, or d'Agostino and Pearson's for independent
        columns), do the classes share their covariance (Box's M), does the variance of counts equal their mean, and do
        columns that are modelled as independent depend on each other? At most 20,000 rows are used. Columns that look
        like identifiers are named.

        Parameters
        ----------
        X : array or data frame
            The rows, with the columns of training.
        y : array of shape (n,)
            The classes of the rows.

        Returns
        -------
        Check
            The findings; printed, it is one line per assumption.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> print(GaussianDiscriminant(covariance="full").fit(X, y).check(X, y))
        Checked 150 rows of 3 classes.
          holds  Within the classes, rows look normal (Mardia).
        """
        from suffice.diagnostics import check_assumptions

        check_is_fitted(self, "classes_")
        return check_assumptions(self.statistics_, X, y)

    def explain(self, X: Any, target: Any = None, against: Any = None) -> Explanation:
        """Return the contribution of each column to the log-odds of one class against another, for each row.

        If classes have several components, the contribution of a column is a weighted mean of its contributions to the
        log-odds of all pairs of components of the two classes, with weights p(m | x, target) p(l | x, against).

        Parameters
        ----------
        X : array, data frame or other table
            The rows, with the columns of training.
        target : class label or one per row, optional
            The class to explain; the most probable one by default.
        against : class label or one per row, optional
            The class to compare with; the most probable other one by default.

        Returns
        -------
        Explanation
            What each column adds to the log-odds of each row.
        """
        chosen, other = compared_classes(self.predict_log_proba(X), self.classes_, target, against)
        pairs = ClassPairs(self._joint, chosen, other)
        split = passes.score(X, self.schema_, log_odds_terms, pairs, estimator=type(self).__name__, n_jobs=self.n_jobs)
        schema = self.schema_
        return Explanation(
            list(schema.column_labels),
            split[:, 1:],
            split[:, 0],
            self.classes_[chosen],
            self.classes_[other],
            word_terms(X, pairs, estimator=type(self).__name__, n_jobs=self.n_jobs),
            None if isinstance(X, Source) else schema.arranged(schema.as_table(X)),
            schema.library,
        )

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, NDArray[Any]]:
        """Draw rows and their labels from the model; the rows have the table type of the training data.

        Parameters
        ----------
        n_samples : int, default 1
            The number of rows.
        random_state : int, Generator or None, default None
            The seed.

        Returns
        -------
        rows : data frame or array
            The rows, in the table type of the training data.
        labels : array of shape (n_samples,)
            The class of each row.
        """
        check_is_fitted(self, "classes_")
        rng = np.random.default_rng(random_state)
        shares = np.exp(self._joint.log_prior)
        numbers = rng.choice(len(shares), size=n_samples, p=shares / shares.sum())
        return sample_table(self.schema_, self.distributions_, numbers, rng), self.component_classes_[numbers]


def _squared_distances(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: the squared Mahalanobis distances over all Gaussian blocks, n×k."""
    squared = np.zeros((len(chunk), len(model.log_prior)))
    for _, distributions, rows in model.parts(chunk):
        distance = getattr(distributions, "mahalanobis", None)  # Gaussians and their predictives have it
        if distance is not None:
            squared += distance(rows)
    if model.class_of is None:
        return squared
    return np.minimum.reduceat(squared, np.flatnonzero(np.diff(model.class_of, prepend=-1)), axis=1)
