"""The parameters of a model by name: class, column, family, parameter and value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.families import Categorical, Distributions, Text, as_family
from suffice.models.joint import JointModel
from suffice.models.schema import Block, Schema
from suffice.posteriors import Predictive
from suffice.statistics.category_counts import CategoryCounts
from suffice.tables.results import result_frame

#: the largest number of covariances that are returned as an array
_MOST_COVARIANCES = 5 * 10**7


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of a column in all classes.

    Attributes
    ----------
    column : str, int or None
        The name of the column, or its position; None if the parameter belongs to no single column.
    family : str or None
        The name of the family; None for the probability of the class itself.
    name : str
        The name of the parameter.
    of : object or None
        The category or word of a probability, or the other column of a covariance; else None.
    values : array of shape (k,)
        The value in each class.
    """

    column: str | int | None
    family: str | None
    name: str
    of: Any
    values: FloatArray


def parameters_of(model: JointModel, family: Any = None) -> list[Parameter]:
    """Return all parameters in the order of the columns, or those of one family; the weights of the classes first.

    Parameters
    ----------
    model : JointModel
    family : name of a family, Family or None
        None is all families.
    """
    blocks = list(zip(model.schema.blocks, model.distributions, strict=True))
    if family is not None:
        wanted = as_family(family).name
        blocks = [(block, found) for block, found in blocks if block.family.name == wanted]
        if not blocks:
            used = sorted({block.family.name for block in model.schema.blocks})
            raise ValueError(f"the model has no {wanted!r} columns; its families are {', '.join(map(repr, used))}")
    found = [pair for block, distributions in blocks for pair in _of_block(model.schema, block, distributions)]
    places = {label: place for place, label in enumerate(model.schema.column_labels)}
    found.sort(key=lambda one: -1 if one.column is None else places[one.column])
    weights = Parameter(None, None, "weight", None, np.exp(model.log_prior))
    return found if family is not None else [weights, *found]


def _of_block(schema: Schema, block: Block, distributions: Distributions) -> Iterator[Parameter]:
    family = distributions.title if isinstance(distributions, Predictive) else block.family.name
    labels = [schema.column_labels[column] for column in block.columns]
    for key, values in distributions.shown().items():
        name, array = key.replace("_", " "), np.asarray(values, dtype=np.float64)
        array = np.broadcast_to(array, (distributions.n_classes, *array.shape[1:]))
        if array.ndim == 3:
            diagonal = "variance" if name == "covariance" else f"squared {name}"
            for i, label in enumerate(labels):
                yield Parameter(label, family, diagonal, None, array[:, i, i])
                for j in range(i + 1, len(labels)):
                    yield Parameter(label, family, name, labels[j], array[:, i, j])
        elif isinstance(block.family, Text):
            for place, word in enumerate(_words(schema, block.columns[0], array.shape[1])):
                yield Parameter(labels[0], family, name, word, array[:, place])
        elif isinstance(block.family, Categorical):
            for column, where in zip(block.columns, CategoryCounts(array, schema.sizes(block)).columns(), strict=True):
                for place, value in zip(range(where.start, where.stop), schema.categories[column].values, strict=True):
                    yield Parameter(schema.column_labels[column], family, name, value, array[:, place])
        elif array.ndim == 2 and array.shape[1] == len(labels):
            for j, label in enumerate(labels):
                yield Parameter(label, family, name, None, array[:, j])
        else:  # one number for the whole block
            yield Parameter(labels[0] if len(labels) == 1 else None, family, name, None, array.reshape(len(array)))


def _words(schema: Schema, column: int, size: int) -> list[str]:
    """Return the words of a column of text, in the order of their probabilities; hashed words have no names."""
    known = schema.categories.get(column)
    return [f"bucket {j}" for j in range(size)] if known is None else [str(word) for word in known.values[:size]]


def tidy_frame(
    parameters: Sequence[Parameter], groups: dict[str, list[Any]], library: str | None, known: str | None
) -> Any:
    """Return one row per class and parameter.

    Parameters
    ----------
    parameters : sequence of Parameter
    groups : dict
        What names the classes: "class", "component" or both, each with k labels.
    library, known : str or None
        See `result_frame`.
    """
    k = len(next(iter(groups.values())))
    columns: dict[str, Any] = {name: np.repeat(_objects(labels), len(parameters)) for name, labels in groups.items()}
    for name, cells in _described(parameters).items():
        columns[name] = cells * k
    columns["value"] = np.array([one.values for one in parameters]).T.ravel()
    return result_frame(columns, library, known=known)


def wide_frame(
    parameters: Sequence[Parameter], groups: dict[str, list[Any]], library: str | None, known: str | None
) -> Any:
    """Return one row per parameter and one column per class, named by its label; arguments as in `tidy_frame`."""
    columns: dict[str, Any] = dict(_described(parameters))
    noun = next(iter(groups))
    values = np.array([one.values for one in parameters])
    for c, labels in enumerate(zip(*groups.values(), strict=True)):
        name = " ".join(map(str, labels))
        columns[name if name not in columns else f"{noun} {name}"] = values[:, c]
    return result_frame(columns, library, known=known)


def _described(parameters: Sequence[Parameter]) -> dict[str, list[Any]]:
    """Return the columns that say what a parameter is."""
    return {
        "column": [None if one.column is None else str(one.column) for one in parameters],
        "family": [one.family for one in parameters],
        "parameter": [one.name for one in parameters],
        "of": [one.of for one in parameters],
    }


def _objects(labels: Sequence[Any]) -> Any:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def mean_of_columns(model: JointModel) -> FloatArray:
    """Return the mean of each column in each class, k×d in the order of the columns; NaN for categories and text."""
    means = np.full((len(model.log_prior), model.schema.n_columns), np.nan)
    for block, found in zip(model.schema.blocks, model.distributions, strict=True):
        if not isinstance(block.family, (Categorical, Text)):
            means[:, list(block.columns)] = found.mean()
    return means


def variance_of_columns(model: JointModel) -> FloatArray:
    """Return the variance of each column in each class, k×d in order of the columns; NaN for categories and text."""
    variance = np.full((len(model.log_prior), model.schema.n_columns), np.nan)
    for block, found in zip(model.schema.blocks, model.distributions, strict=True):
        if not isinstance(block.family, (Categorical, Text)):
            variance[:, list(block.columns)] = found.variance()
    return variance


def covariance_of_columns(model: JointModel) -> FloatArray:
    """Return the covariances of columns in each class, k×d×d, 0 between blocks; NaN for categories and text."""
    k, d = len(model.log_prior), model.schema.n_columns
    if k * d * d > _MOST_COVARIANCES:
        # an AttributeError, because representations in notebooks and dir() evaluate all attributes
        raise AttributeError(
            f"the covariances of {d:,} columns in {k:,} classes would take {8e-9 * k * d * d:,.1f} GB; see variances_, "
            f"or covariance() of a block in distributions_"
        )
    covariance = np.zeros((k, d, d))
    for block, found in zip(model.schema.blocks, model.distributions, strict=True):
        places = np.array(block.columns)
        if isinstance(block.family, (Categorical, Text)):
            covariance[:, places, :] = covariance[:, :, places] = np.nan
        else:
            covariance[:, places[:, None], places[None, :]] = found.covariance()
    return covariance
