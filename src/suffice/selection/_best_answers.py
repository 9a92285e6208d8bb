"""Answers of a search: those of the best mixture that it found."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray, IntArray
from suffice.estimators.mixture import Mixture
from suffice.models.summary import ModelSummary


class BestAnswers:
    """Mixin for searches that keep the best mixture as `best_estimator_`."""

    best_estimator_: Mixture

    @property
    def _best(self) -> Mixture:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def predict(self, X: Any) -> IntArray:
        """Return the most probable component of each row under the best mixture, (n,).

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._best.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(c | x) under the best mixture, n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._best.predict_proba(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log p(c | x) under the best mixture, n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._best.predict_log_proba(X)

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return log p(x, c) under the best mixture, n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._best.predict_joint_log_proba(X)

    def score_samples(self, X: Any) -> FloatArray:
        """Return log p(x) of each row under the best mixture, (n,).

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._best.score_samples(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log-likelihood per row under the best mixture; see `Mixture.score`.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        y : ignored
            Accepted for compatibility with scikit-learn.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        """
        return self._best.score(X, y, sample_weight)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, IntArray]:
        """Draw rows from the best mixture, and their components; see `Mixture.sample`.

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
        return self._best.sample(n_samples, random_state)

    def impute(self, X: Any, *, random_state: Any = None, sample: bool = False) -> Any:
        """Return the table with its missing cells filled in by the best mixture; see `Mixture.impute`.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        sample : bool, default False
            Whether to draw the missing cells instead of their expectations.
        random_state : int, Generator, RandomState or None, default None
            The seed of the draws.
        """
        return self._best.impute(X, random_state=random_state, sample=sample)

    def summary(self) -> ModelSummary:
        """Return what the best mixture has learned; see `Mixture.summary`."""
        return self._best.summary()

    def parameters(self, family: Any = None, *, wide: bool = False, library: str | None = None) -> Any:
        """Return the parameters of the best mixture as a data frame; see `Mixture.parameters`.

        Parameters
        ----------
        family : name of a family or Family, optional
            Return the parameters of the columns of this family only.
        wide : bool, default False
            Whether to return one column per component instead of one row.
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the training table, or one that is installed.
        """
        return self._best.parameters(family, wide=wide, library=library)
