"""Methods of fitted mixtures: the parameters of their components, and information criteria for model selection."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.estimators._joint_answers import JointAnswers
from suffice.estimators.sampling import sample_table
from suffice.mixtures.start_clusters import generator
from suffice.models.joint import most_probable
from suffice.models.schema import Schema
from suffice.tables.labels import check_weight, row_weights


class ComponentAnswers(JointAnswers):
    """Mixin for mixtures."""

    _noun: ClassVar[str] = "component"
    schema_: Schema
    n_features_in_: int
    _batches: int

    @property
    def weights_(self) -> FloatArray:
        """The weights (mixing proportions) of the components, (k,)."""
        return np.exp(self._joint.log_prior)

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters: those of the components, and their weights."""
        return sum(found.n_parameters for found in self.distributions_) + len(self._joint.log_prior) - 1

    def predict(self, X: Any) -> IntArray:
        """Return the most probable component of each row, (n,).

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._score(most_probable, X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log-likelihood per row.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        y : ignored
            Accepted for compatibility with scikit-learn.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        """
        logs = self.score_samples(X)
        return float(np.average(logs, weights=check_weight(sample_weight, len(logs))))

    def log_likelihood(self, X: Any, sample_weight: Any = None) -> float:
        """Return the log-likelihood of rows, Σ_i log p(x_i).

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        sample_weight : array of shape (n,), optional
            The weight of each row, by which its logarithm is multiplied.

        Examples
        --------
        >>> from suffice import Mixture
        >>> round(Mixture.from_parameters([1.0], [[0.0]], [[1.0]]).log_likelihood([[0.0], [1.0]]), 4)   # −log 2π − ½
        -2.3379
        """
        return self._log_likelihood(X, sample_weight)[0]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, IntArray]:
        """Draw rows, in the table type of the training data, and their components.

        Parameters
        ----------
        n_samples : int, default 1
            The number of rows.
        random_state : int, Generator, RandomState or None, default None
            The seed.

        Returns
        -------
        rows : data frame or array
            The rows, in the table type of the training data.
        components : array of shape (n_samples,)
            The component of each row.
        """
        rng = generator(random_state)
        weights = self.weights_
        numbers = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
        return sample_table(self.schema_, self.distributions_, numbers, rng), numbers

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Return −2 log L + p log n: smaller is better.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        """
        log_likelihood, n = self._log_likelihood(X, sample_weight)
        return -2.0 * log_likelihood + self.n_parameters_ * float(np.log(n))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Return −2 log L + 2p: smaller is better.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        """
        log_likelihood, _ = self._log_likelihood(X, sample_weight)
        return -2.0 * log_likelihood + 2.0 * self.n_parameters_

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """Return BIC − 2 Σ log max_c p(c | x): smaller is better, and overlapping clusters are penalised.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        """
        certain = self.predict_log_proba(X).max(axis=1)
        return self.bic(X, sample_weight) - 2.0 * float(certain @ row_weights(sample_weight, len(certain)))

    def _groups(self) -> dict[str, list[Any]]:
        return {"component": list(range(len(self._joint.log_prior)))}

    @property
    def _filled_in(self) -> bool:
        fitted = getattr(self, "_fitted_components", None)
        return fitted is None or fitted.missing or self._batches > 1

    def _log_likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        logs = self.score_samples(X)
        weight = row_weights(sample_weight, len(logs))
        return float(logs @ weight), float(weight.sum())
