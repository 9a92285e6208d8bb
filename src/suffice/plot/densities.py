"""The densities of one column in each class, over a histogram of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice._arrays import FloatArray, to_float64
from suffice.families import Categorical, Family, Gaussian, Text
from suffice.families.cells import dense_rows
from suffice.models.schema import find_column, listed
from suffice.plot._axes import axes, colours, plain
from suffice.tables.conversion import as_table
from suffice.tables.labels import class_list

_POINTS = 400


def densities(model: Any, X: Any, column: Any = None, y: Any = None, ax: Any = None) -> Any:
    """Draw p(x_j, c) of a column of numbers for each class or component, over a histogram; return the axes.

    Parameters
    ----------
    model : a fitted classifier or mixture of this library
    X : the rows, whose column is drawn as a histogram
    column : its name or index; not needed if the model has one column
    y : the classes of the rows, for one histogram per class; None draws one of all rows

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import NaiveBayes, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> plot.densities(NaiveBayes().fit(X, y), X, 2, y).get_ylabel()
    'density'
    """
    if column is not None and np.ndim(column) > 0:  # called as densities(model, X, y), like regions(model, X, y)
        column, y = None, column if y is None else y
    joint = model._joint
    if column is None and model.schema_.n_columns > 1:
        raise ValueError(
            f"densities are those of one column, but the model has {model.schema_.n_columns}; choose one, by its "
            f"name or position, as in densities(model, X, {model.schema_.column_labels[0]!r}, y); the columns are "
            f"{listed(model.schema_.column_labels, 8)}"
        )
    place = find_column(model.schema_, model.schema_.column_labels[0] if column is None else column, "`column`")
    block, found = next(
        (block, found)
        for block, found in zip(joint.schema.blocks, joint.distributions, strict=True)
        if place in block.columns
    )
    if isinstance(block.family, Categorical):
        raise ValueError(
            f"densities are drawn of a column of numbers, but column {column!r} holds categories; its probabilities "
            f"are in model.distributions_"
        )
    if isinstance(block.family, Text):
        raise ValueError(
            f"densities are drawn of a column of numbers, but column {column!r} holds text; model.top_words() names "
            f"the words of each class"
        )
    table = as_table(X)
    model.schema_.check(table, type(model).__name__, extra=True)
    table = model.schema_.arranged(table)
    cells = dense_rows(table.numbers([place])[0 : len(table)])[:, 0]
    ax = axes(ax)
    grid = _grid(cells[np.isfinite(cells)], block.family)
    one = found.marginal(np.array([block.columns.index(place)]))
    density = np.exp(to_float64(one.score(grid[:, None])) + joint.log_prior)
    names = class_list(model.classes_) if hasattr(model, "classes_") else list(range(density.shape[1]))
    bins = _edges(cells[np.isfinite(cells)], grid)
    width = np.diff(bins)[0] * len(cells)
    labels = None if y is None else np.asarray(y)
    if labels is None:
        ax.hist(cells, bins, weights=np.full(len(cells), 1.0 / width), color="0.85")
    for name, colour, curve in zip(names, colours(len(names)), density.T, strict=True):
        if labels is not None:
            own = cells[labels == name]
            ax.hist(own, bins, weights=np.full(len(own), 1.0 / width), color=colour, alpha=0.25)
        ax.plot(grid, curve, color=colour, marker="." if _whole(grid) else None, label=plain(name))
    label = model.schema_.column_labels[place]
    ax.set(xlabel=plain(label) if isinstance(label, str) else f"column {label}", ylabel="density")
    ax.legend(frameon=False)
    return ax


def _grid(cells: FloatArray, family: Family) -> FloatArray:
    """Return the points to draw: beyond the range of the cells only for Gaussians, whole numbers for counts."""
    low, high = cells.min(), cells.max()
    if isinstance(family, Gaussian):
        margin = 0.08 * (high - low or 1.0)
        return np.linspace(low - margin, high + margin, _POINTS)
    return np.arange(low, high + 1.0) if _whole(cells) else np.linspace(low, high, _POINTS)


def _edges(cells: FloatArray, grid: FloatArray) -> FloatArray:
    if _whole(grid):
        return np.append(grid - 0.5, grid[-1] + 0.5)
    return np.histogram_bin_edges(cells, bins="auto")


def _whole(values: FloatArray) -> bool:
    return bool((values == np.round(values)).all())
