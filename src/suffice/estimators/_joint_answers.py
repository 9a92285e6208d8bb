"""Methods of all estimators with a joint model: posteriors, densities and imputation."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from suffice._arrays import FloatArray
from suffice.errors import EstimateError
from suffice.families import Distributions
from suffice.models import impossible
from suffice.models.imputation import impute
from suffice.models.joint import JointModel, log_evidence, log_joint, log_posterior, posterior
from suffice.models.parameters import (
    covariance_of_columns,
    mean_of_columns,
    parameters_of,
    tidy_frame,
    variance_of_columns,
    wide_frame,
)
from suffice.models.summary import ModelSummary, missing_cells
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

    @property
    def means_(self) -> FloatArray:
        """The mean of each column in each class or component, k×d; NaN for columns of categories."""
        return mean_of_columns(self._joint)

    @property
    def variances_(self) -> FloatArray:
        """The variance of each column in each class or component, k×d; NaN for columns of categories."""
        return variance_of_columns(self._joint)

    @property
    def covariances_(self) -> FloatArray:
        """The covariances in each class or component, k×d×d; 0 between blocks, NaN for columns of categories."""
        return covariance_of_columns(self._joint)

    @abstractmethod
    def _groups(self) -> dict[str, list[Any]]:
        """Return what names the classes or components in frames, each with one label per row of the parameters."""

    def parameters(self, family: Any = None, *, wide: bool = False, library: str | None = None) -> Any:
        """Return the parameters as a data frame with names.

        Parameters
        ----------
        family : name of a family or Family, optional
            Return the parameters of the columns of this family only; by default of all, and the weight of each class.
        wide : bool, default False
            False returns one row per class and parameter, with the value in "value"; True returns one row per
            parameter and one column per class.
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the training table, or one that is installed.

        Returns
        -------
        data frame
            Its columns are "class" (or "component", or both), "column", "family", "parameter", "of" and "value".
            "of" is the category of a probability, or the other column of a covariance.

        Examples
        --------
        >>> import pandas as pd
        >>> from suffice import NaiveBayes
        >>> table = pd.DataFrame({"sky": ["sun", "rain", "rain", "sun"], "wind": [3.0, 20.0, 24.0, 5.0]})
        >>> model = NaiveBayes().fit(table, ["play", "stay", "stay", "play"])
        >>> model.parameters("categorical", wide=True)
          column       family    parameter    of  play  stay
        0    sky  categorical  probability  rain  0.25  0.75
        1    sky  categorical  probability   sun  0.75  0.25
        >>> model.parameters("gaussian").round(2)
          class column    family parameter    of  value
        0  play   wind  gaussian      mean  None   4.00
        1  play   wind  gaussian  variance  None   3.52
        2  stay   wind  gaussian      mean  None  22.00
        3  stay   wind  gaussian  variance  None   6.52
        """
        found = parameters_of(self._joint, family)
        made = wide_frame if wide else tidy_frame
        return made(found, self._groups(), library, self._joint.schema.library)

    @property
    def _filled_in(self) -> bool:
        """Whether EM may have filled in missing cells of covariances."""
        return hasattr(self, "bound_history_")

    def summary(self) -> ModelSummary:
        """Return what the model has learned; printed, it is a table in plain words.

        It has the rows and the share of each class or component, and the family of each column with its missing cells,
        mean and standard deviation or most probable values.

        Returns
        -------
        ModelSummary
            The table; `to_frame()` returns it as a data frame, and notebooks show it as HTML.

        Examples
        --------
        >>> import pandas as pd
        >>> from suffice import NaiveBayes
        >>> table = pd.DataFrame({"sky": ["sun", "rain", None, "sun"], "wind": [3.0, 20.0, 24.0, 5.0]})
        >>> NaiveBayes().fit(table, ["play", "stay", "stay", "play"]).summary()
        NaiveBayes: 4 rows, 2 classes, 2 columns
        <BLANKLINE>
               family       missing                 play                 stay
        rows                                           2                    2
        share                                       50 %                 50 %
        sky    categorical        1  sun 75 %, rain 25 %  rain 67 %, sun 33 %
        wind   gaussian           0            4.0 ± 1.9           22.0 ± 2.6
        <BLANKLINE>
        numbers: mean ± standard deviation; categorical: the most probable values
        """
        model, groups = self._joint, self._groups()
        statistics = getattr(self, "statistics_", None)  # marginal and conditional mixtures have none
        joint = None if statistics is None or statistics.joint.class_count.sum() == 0 else statistics.joint
        labels = groups["class"] if len(groups) == 1 and "class" in groups else groups["component"]
        if len(groups) > 1:
            labels = [f"{c} ({m})" for c, m in zip(groups["class"], groups["component"], strict=True)]
        return ModelSummary(
            type(self).__name__,
            "class" if "component" not in groups else "component",
            labels,
            None if joint is None else joint.class_count,
            np.exp(model.log_prior),
            [None] * model.schema.n_columns if joint is None else missing_cells(model, joint, self._filled_in),
            model,
        )

    @property
    def _repr_html_(self) -> Any:
        diagram = super()._repr_html_  # type: ignore[misc]  # raises AttributeError if scikit-learn displays text
        return lambda: diagram() + self._summary_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return scikit-learn's representations for notebooks, with the summary below the diagram."""
        try:
            bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        except EstimateError:  # partial_fit may have seen too few rows for an estimate
            return {"text/plain": repr(self)}
        if "text/html" in bundle:
            bundle["text/html"] += self._summary_html()
        return bundle

    def _summary_html(self) -> str:
        try:
            return self.summary()._repr_html_()
        except (NotFittedError, EstimateError):
            return ""

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
