"""The common base of linear and quadratic analysis: fits in one pass or in batches, and scores chunk by chunk."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from suffice import compiled
from suffice._arrays import Array, FloatArray
from suffice.dropin._common import DensityMixin, in_their_words, narrowed
from suffice.dropin._within import Labelled, class_moments, numbers_of, validated, validated_rows
from suffice.engines import MemoryEngine, Rows
from suffice.engines.base import Chunk
from suffice.errors import InvalidCellError, NotKeptError
from suffice.families import Gaussian
from suffice.families.cells import invalid_cell
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.quadratic import QuadraticForm
from suffice.models.joint import JointModel, log_evidence
from suffice.models.named_statistics import ModelStatistics, collect
from suffice.models.schema import Block, Schema
from suffice.statistics.joint import JointStatistics
from suffice.statistics.responsibilities import Labels
from suffice.tables.labels import LabelCoder, as_objects_if_mixed, class_list, sorted_order

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Whitened(GaussianDistributions):
    """Gaussians with a quadratic form from a decomposition, which may omit directions without variance."""

    given: QuadraticForm = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "form", self.given)

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log N(x; μ_c, Σ_c); raise if a cell is missing, as in scikit-learn."""
        scores = self.form.score(x, common)
        if not np.isfinite(scores).all():
            _require_finite(x)
            return np.where(np.isnan(scores), -np.inf, scores)
        return scores


def _require_finite(x: Array) -> None:
    bad = ~np.isfinite(x)
    if bad.any():
        raise invalid_cell(
            x, bad, "every cell must be a finite number (X contains NaN or infinity)", "clean or impute that cell"
        )


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores (x − origin)·weights_c + constants_c, n×k."""

    origin: FloatArray
    weights: FloatArray
    constants: FloatArray


def linear_scores(chunk: Chunk, linear: LinearScores) -> FloatArray:
    """Kernel: the linear scores of each row."""
    x = chunk.blocks[0]
    with np.errstate(invalid="ignore", over="ignore"):
        scores: Any = compiled.linear_scores(x, linear.origin, linear.weights, linear.constants)
        if scores is None:
            scores = (x - linear.origin) @ linear.weights.T + linear.constants
    if not np.isfinite(scores).all():
        _require_finite(x)
    return np.asarray(scores)


def quadratic_scores(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: log p(x, c) without the common factor (2π)^(−d/2), n×k; for two classes its difference, (n,)."""
    distributions = model.distributions[0]
    with np.errstate(invalid="ignore", over="ignore"):
        scores = distributions.score(chunk.blocks[0], True)
    scores = scores + (model.log_prior + 0.5 * model.schema.n_columns * _LOG_2PI)
    return np.asarray(scores[:, 1] - scores[:, 0] if len(model.log_prior) == 2 else scores)


# -- common base class ---------------------------------------------------------------------------------------------


class Discriminant(DensityMixin):
    """The base class of both analyses: fits in one pass or in batches, and prediction chunk by chunk."""

    statistics_: ModelStatistics
    classes_: NDArray[Any]
    solver: str
    shrinkage: Any
    covariance_estimator: Any
    _validate_params: Any
    _weighted: bool
    #: the float type of the training rows, which attributes and predictions of linear analysis keep
    _dtype: Any
    #: the kernels whose results scikit-learn returns in float32 for float32 rows
    _narrow: tuple[Any, ...] = ()
    #: scikit-learn's message if `covariance_estimator` is set with the solver "svd"
    _estimator_needs: str

    # to be implemented by each analysis

    @abstractmethod
    def _family(self) -> Gaussian:
        """Return the family whose statistics the analysis needs."""

    @abstractmethod
    def _model_of(self, statistics: ModelStatistics, rows: Labelled | None) -> JointModel:
        """Return the model of these statistics, and set scikit-learn's attributes."""

    # learning

    def _require_options(self) -> None:
        """Raise if the constructor parameters contradict each other."""
        if self.solver == "svd":
            if self.shrinkage is not None:
                raise NotImplementedError("shrinkage not supported with 'svd' solver.")
            if self.covariance_estimator is not None:
                raise ValueError(self._estimator_needs)
        elif self.covariance_estimator is not None and self.shrinkage is not None and self.shrinkage != 0:
            raise ValueError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )

    def _require_no_weight(self, sample_weight: Any) -> None:
        if self.covariance_estimator is not None and sample_weight is not None:
            raise ValueError(
                "covariance_estimator is fitted on rows that all count the same; pass no sample_weight with it"
            )

    def _begin(self) -> None:
        """Check the parameters and delete fitted attributes, so that a failed fit leaves no partial model."""
        self._validate_params()
        self._require_options()
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self._model = None

    def _labelled(self, X: NDArray[Any], y: Any, sample_weight: Any, coder: LabelCoder) -> Labelled:
        labels = coder.encode(y, sample_weight, len(X))
        assert isinstance(labels, Labels)
        return Labelled(X, labels, coder.classes())

    def _gather(self, rows: Labelled, coder: LabelCoder, *, in_double: bool = False) -> ModelStatistics:
        family = self._family()
        moments = class_moments(rows, family, type(self).__name__, in_double=in_double)
        names = getattr(self, "feature_names_in_", None)
        d = rows.X.shape[1]
        schema = Schema(None if names is None else tuple(names), d, (Block(family, tuple(range(d))),))
        joint = JointStatistics(rows.labels.totals(), (moments,))
        if joint.class_count.sum() == 0:
            raise ValueError("at least one row must have a positive weight, but all weights are zero")
        return collect(rows.classes, schema, joint, declared=coder.declared)

    def _in_order(self, rows: Labelled, classes: NDArray[Any]) -> Labelled:
        """Return the rows with the codes of the sorted classes, without rows of weight 0."""
        places = {label: place for place, label in enumerate(class_list(classes))}
        position = np.array([places.get(label, -1) for label in class_list(rows.classes)], dtype=np.intp)
        codes, weight, X = position[rows.labels.codes], rows.labels.weight, rows.X
        if weight is not None and not weight.all():
            there = weight > 0
            X, codes, weight = X[there], codes[there], weight[there]
        return Labelled(X, Labels(codes, weight, len(classes)), classes)

    def _adopt(self, statistics: ModelStatistics, model: JointModel | None, *, weighted: bool) -> Self:
        self.statistics_ = statistics
        self.classes_ = statistics.classes.copy()
        self._model, self._weighted = model, weighted
        return self

    def _fit(self, X: NDArray[Any], y: Any, sample_weight: Any) -> Self:
        self._dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        coder = LabelCoder()
        rows = self._labelled(X, y, sample_weight, coder)
        statistics = self._gather(rows, coder)
        self._weighted = sample_weight is not None
        needs_rows = isinstance(self.shrinkage, str) or self.covariance_estimator is not None
        model = self._model_of(statistics, self._in_order(rows, statistics.classes) if needs_rows else None)
        return self._adopt(statistics, model, weighted=self._weighted)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the result for any batches equals that of `fit` on all rows together.

        New classes may appear in any batch, unless `classes` lists all of them at the first call. If the rows so far
        are too few for an estimate, it is made at the first prediction.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows.
        y : array-like of shape (n,)
            The labels.
        classes : array of shape (k,), optional
            All classes that may occur, at the first call.
        sample_weight : array-like of shape (n,), optional
            The weight of each row.

        Returns
        -------
        self : estimator
            The fitted estimator itself.
        """
        self._validate_params()
        self._require_options()
        if isinstance(self.shrinkage, str) or self.covariance_estimator is not None:
            raise ValueError(
                "shrinkage='auto' and covariance_estimator need all rows at once, which partial_fit does not keep; "
                "pass a number as shrinkage, or call fit"
            )
        known: ModelStatistics | None = getattr(self, "statistics_", None)
        if known is None and hasattr(self, "classes_"):
            raise NotKeptError(
                "fit kept no sums, for there were fewer rows than columns; begin with partial_fit to learn in batches"
            )
        X, y = validated(self, X, y, reset=known is None)
        weighted = sample_weight is not None
        if known is None:
            listed = None if classes is None else as_objects_if_mixed(classes)
            if listed is not None:
                listed = listed[sorted_order(class_list(listed))]
            coder = LabelCoder(listed, declared=classes is not None)
            self._dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        else:
            if classes is not None and set(class_list(as_objects_if_mixed(classes))) != set(class_list(known.classes)):
                raise ValueError(
                    f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known.classes!r}"
                )
            coder = LabelCoder(known.classes, declared=known.declared)
            self._dtype = np.result_type(self._dtype, np.float32 if X.dtype == np.float32 else np.float64)
            weighted |= self._weighted
        more = self._gather(self._labelled(X, y, sample_weight, coder), coder, in_double=True)
        if known is not None:
            family = more.schema.blocks[0].family
            known = known.for_families([family])
        statistics = more if known is None else known + more
        self._adopt(statistics, None, weighted=weighted)
        with suppress(ValueError):  # too few rows so far (also LinAlgError); prediction tries again and raises
            self._model = self._model_of(statistics, None)
        return self

    def _estimate(self) -> JointModel:
        check_is_fitted(self, "statistics_")
        return self._model_of(self.statistics_, None)

    # prediction

    def _score(self, kernel: Any, X: Any, params: Any = None) -> NDArray[Any]:
        model = self._joint()
        rows = validated_rows(self, X)
        params = model if params is None else params
        if kernel in self._narrow and rows.dtype == np.float32 and self._dtype == np.float32:
            kernel, params = narrowed, (kernel, params)
        try:
            return MemoryEngine(Rows((numbers_of(rows),))).map(kernel, params)
        except InvalidCellError as error:
            raise in_their_words(error, type(self).__name__) from None

    def _densities(self) -> JointModel:
        """Return the model for log p(x)."""
        return self._joint()

    def score_samples(self, X: Any) -> FloatArray:
        """Return log p(x) of each row, (n,): small for outliers."""
        return self._score(log_evidence, X, self._densities())


def require_one_per_class(priors: FloatArray, count: FloatArray) -> None:
    """Raise ValueError unless there is one prior probability per class."""
    if priors.shape != count.shape:
        raise ValueError(
            f"priors must be one number per class, but are of shape {priors.shape} for {len(count)} classes"
        )
