"""Methods of all estimators with a joint model: posteriors, densities and imputation."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.families import Distributions
from suffice.models import impossible
from suffice.models.imputation import impute
from suffice.models.joint import JointModel, log_evidence, log_joint, log_posterior, posterior
from suffice.models.top_words import TopWords, top_words
from suffice.tables.labels import class_list


class JointAnswers:
    """Mixin for estimators with a joint model p(x, c) of classes or components."""

    #: the name of c in error messages
    _noun: ClassVar[str] = "class"
    n_jobs: int | None

    @property
    @abstractmethod
    def _joint(self) -> JointModel:
        """The fitted model; raises NotFittedError before `fit`."""

    @property
    def distributions_(self) -> tuple[Distributions, ...]:
        """The estimated distributions, one entry per block of the schema."""
        return self._joint.distributions

    def _score(self, kernel: Any, X: Any) -> NDArray[Any]:
        name = type(self).__name__
        return impossible.score(X, self._joint, kernel, estimator=name, n_jobs=self.n_jobs, noun=self._noun)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(c | x), n×k; columns in the order of the classes or components.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._score(posterior, X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log p(c | x), n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._score(log_posterior, X)

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return log p(x, c), n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._score(log_joint, X)

    def score_samples(self, X: Any) -> FloatArray:
        """Return log p(x) of each row, (n,): small for outliers, −∞ for rows with probability 0 in every class.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._score(log_evidence, X)

    def impute(self, X: Any, *, random_state: Any = None, sample: bool = False) -> Any:
        """Return the table with its missing cells filled in from p(missing | observed).

        Parameters
        ----------
        X : array or data frame
            The rows; the result has the same type, and observed cells are unchanged.
        random_state : int, Generator, RandomState or None, default None
            The seed, if `sample` is true.
        sample : bool, default False
            False fills in expected values: the mean of a number, the most probable category. True draws from the
            conditional distribution instead; different seeds give different tables, for multiple imputation.

        Examples
        --------
        >>> import pandas as pd
        >>> from suffice import NaiveBayes
        >>> table = pd.DataFrame({"outlook": ["sun", "rain", "rain", "sun"], "wind": [3.0, 20.0, 24.0, 5.0]})
        >>> model = NaiveBayes().fit(table, ["play", "stay", "stay", "play"])
        >>> model.impute(pd.DataFrame({"outlook": [None, "sun"], "wind": [21.0, 4.0]}))["outlook"].tolist()
        ['rain', 'sun']
        """
        return impute(self, X, self._joint, random_state, sample)

    def top_words(self, n: int = 10, column: Any = None) -> TopWords:
        """Return the words that speak most for each class or component, by p log(p / q).

        p is the probability of the word in the class, q its average over the other classes: the value is what the word
        adds to the log-odds of the class, on average per word of its documents (per document under the Bernoulli
        model). Of a mixture of one component, the most frequent words are returned, with p.

        Parameters
        ----------
        n : int, default 10
            The maximum number of words per class.
        column : str or int, optional
            The column of text, if there are several.

        Returns
        -------
        TopWords
            A mapping from classes to lists of (word, value); printed, it is one line per class.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> mails = ["buy cheap pills", "cheap pills now", "meeting at noon", "notes of the meeting"]
        >>> print(NaiveBayes("text").fit(mails, ["spam", "spam", "ham", "ham"]).top_words(2))
        ham   meeting 0.18, at 0.074
        spam  cheap 0.22, pills 0.22
        """
        model = self._joint
        statistics = getattr(self, "statistics_", None)
        labels = class_list(self.classes_) if hasattr(self, "classes_") else list(range(model.n_classes))
        return top_words(model, None if statistics is None else statistics.joint.blocks, labels, n, column)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
