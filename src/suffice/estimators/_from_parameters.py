"""Classifiers from given parameters, which have no statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.estimators.subclasses import require_single
from suffice.models.given import given_model
from suffice.models.joint import JointModel
from suffice.models.predictive import check_estimate
from suffice.tables.labels import class_list

if TYPE_CHECKING:
    from suffice.models.named_statistics import ModelStatistics
    from suffice.models.schema import Schema
    from suffice.priors import PriorSpec


class _Statistics:
    """What `statistics_` is before a fit, which stores them in the estimator: an AttributeError with the reason."""

    def __get__(self, model: Any, owner: type) -> Any:
        if "classes_" in getattr(model, "__dict__", {}):
            raise AttributeError(
                f"this {owner.__name__} was made from parameters and has no statistics_, which check, merging, "
                f"partial_fit and from_statistics need; fit one to rows"
            )
        raise AttributeError(f"{owner.__name__!r} object has no attribute 'statistics_'; fit it first")


class FromParameters:
    """Mixin for classifiers."""

    estimate: str
    prior: PriorSpec
    n_components: Any
    if TYPE_CHECKING:
        statistics_: ModelStatistics

        def _store(self, classes: NDArray[Any], schema: Schema, joint: JointModel | None) -> Self:
            """Store a model with the names of its classes and columns."""
    else:
        statistics_ = _Statistics()

    @classmethod
    def from_parameters(cls, class_prior: Any, columns: Any, **params: Any) -> Self:
        """Return a classifier with given parameters: class probabilities, and the distribution of each column.

        It predicts, explains, samples and is saved as a fitted one, but has no `statistics_`, so that it cannot be
        updated or merged; `fit` learns a new one with the same families and class probabilities.

        Parameters
        ----------
        class_prior : mapping of class to probability
            The probabilities of the classes, which sum to 1.
        columns : mapping of column to a mapping of class to distribution
            The distribution of each column in each class: a `Distribution`, as `Family.from_parameters` or
            `Family.fit` return it; a table, that is a mapping of values to their probabilities; or a number, the
            probability of 1 or True. Columns are names or positions. A tuple of columns has a distribution of them
            together.
        **params
            Settings of the classifier, such as `cost`.

        Examples
        --------
        >>> from suffice import Gaussian, NaiveBayes
        >>> model = NaiveBayes.from_parameters({"flu": 0.05, "well": 0.95}, {"cough": {"flu": 0.8, "well": 0.2}})
        >>> model.predict_proba([[True]]).round(3)   # 0.8 · 0.05 / (0.8 · 0.05 + 0.2 · 0.95)
        array([[0.174, 0.826]])
        >>> fever = {"flu": Gaussian.from_parameters(mean=39.0, variance=0.5),
        ...          "well": Gaussian.from_parameters(mean=36.8, variance=0.1)}
        >>> pain = {"flu": {"none": 0.1, "some": 0.9}, "well": {"none": 0.9, "some": 0.1}}
        >>> model = NaiveBayes.from_parameters({"flu": 0.05, "well": 0.95}, {"fever": fever, "pain": pain})
        >>> model.predict([[38.5, "some"], [36.9, "none"]]).tolist()
        ['flu', 'well']
        """
        classes, model = given_model(class_prior, columns)
        return cls._of_model(classes, model, {"families": model.schema.families(), **params})

    @classmethod
    def _of_model(cls, classes: NDArray[Any], model: JointModel, params: dict[str, Any]) -> Self:
        """Return a classifier with these parameters, and settings by which `fit` learns the same kind of model."""
        shares = np.exp(model.log_prior).tolist()
        return cls(**{"class_prior": dict(zip(class_list(classes), shares, strict=True)), **params})._with_parameters(
            classes, model
        )

    def _with_parameters(self, classes: NDArray[Any], model: JointModel) -> Self:
        """Store given parameters."""
        check_estimate(self.estimate, self.prior)
        if self.estimate == "predictive":
            raise ValueError("estimate='predictive' averages over parameters, but these are given; leave it out")
        require_single(self.n_components, "a class that is given has one component; set n_components=1")
        return self._store(classes, model.schema, model)
