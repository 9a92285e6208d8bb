"""Imputation as a transformer: missing cells filled in from a generative model of all columns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from suffice.estimators.mixture import Mixture
from suffice.tables.conversion import as_table
from suffice.tables.frames import FrameTable
from suffice.tables.sources import Source

#: the components of the default mixture, and the rows that each needs
_COMPONENTS, _ROWS = 5, 20


class Imputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer that fills in missing cells from p(missing | observed), for numbers, booleans and words.

    It fits a mixture (or another model with `impute`) to the rows, missing cells included, and fills in the mean of a
    number and the most probable category given the observed cells of the row; with `sample`, draws from their
    distribution. It works in a Pipeline and in a ColumnTransformer.

    Parameters
    ----------
    estimator : Mixture, classifier, MixtureSearch or None, default None
        The model of the rows, which is cloned. None is a `Mixture` of five components with a tied covariance, or fewer
        if there are fewer than 20 rows per component. A classifier learns from the `y` that is passed to `fit`.
    sample : bool, default False
        Whether to draw the missing cells instead of filling in expected values: tables of several seeds show the
        uncertainty (multiple imputation).
    random_state : int, Generator, RandomState or None, default None
        The seed of the draws and of the default mixture. An integer makes every `transform` draw the same.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    n_features_in_, feature_names_in_ : int, array of str
        The number of columns, and their names if the training table had names.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import Imputer
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, np.nan]])
    >>> Imputer().fit_transform(X)[3].round(1)
    array([4., 8.])
    """

    estimator_: Any

    def __init__(self, estimator: Any = None, *, sample: bool = False, random_state: Any = None) -> None:
        self.estimator = estimator
        self.sample = sample
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model of the rows.

        Parameters
        ----------
        X : array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows; NaN, None and null mark missing cells.
        y : array of shape (n,), optional
            The classes of the rows, if `estimator` is a classifier; otherwise it is ignored.
        sample_weight : array of shape (n,), optional
            The weight of each row.

        Returns
        -------
        self : estimator
            The fitted estimator itself.
        """
        model = self._default(X) if self.estimator is None else clone(self.estimator)
        if not hasattr(model, "impute"):
            raise TypeError(
                f"the estimator of an Imputer needs the method impute, as a Mixture or a GenerativeClassifier has, but "
                f"it is {model!r}"
            )
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = model.fit(X, y if is_classifier(model) else None, **weight)
        self.n_features_in_ = model.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def _default(self, X: Any) -> Mixture:
        k = _COMPONENTS
        if not isinstance(X, Source):
            k = min(k, max(len(as_table(X)) // _ROWS, 1))
        seed = self.random_state if isinstance(self.random_state, (int, np.integer)) else 0
        return Mixture(k, covariance="tied", random_state=seed)

    def transform(self, X: Any) -> Any:
        """Return the rows with their missing cells filled in, in the type of X and with the columns of training.

        Parameters
        ----------
        X : array or data frame
            The rows; observed cells are unchanged.
        """
        check_is_fitted(self, "estimator_")
        if not isinstance(X, Source):
            schema = self._schema
            table = schema.as_table(X)
            schema.check(table, type(self).__name__)
            ordered = schema.arranged(table)
            if ordered is not table and isinstance(ordered, FrameTable):
                X = ordered.frame.to_native()
        return self.estimator_.impute(X, sample=self.sample, random_state=self.random_state if self.sample else None)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns, which are those of the rows.

        Parameters
        ----------
        input_features : array of str or None, default None
            The names of the columns, if training gave none.
        """
        return np.asarray(super().get_feature_names_out(input_features))

    @property
    def _schema(self) -> Any:
        return getattr(self.estimator_, "best_estimator_", self.estimator_).schema_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        model = Mixture() if self.estimator is None else self.estimator
        tags.input_tags = model.__sklearn_tags__().input_tags
        tags.target_tags.required = is_classifier(model)
        tags.non_deterministic = bool(self.sample) and self.random_state is None
        return tags
