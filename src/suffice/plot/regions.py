"""The decision regions of a model in the plane of two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.plot._axes import arranged, axes, colours, numbers, plain
from suffice.tables.labels import class_list

_RESOLUTION = 220
_MOST_POINTS = 3000


def regions(model: Any, X: Any, y: Any = None, ax: Any = None) -> Any:
    """Draw the decision regions of the classes or components of a model with two numeric columns; return the axes.

    The colour is that of the most probable class, stronger for a higher probability; ellipses are at one and two
    standard deviations of a Gaussian.

    Parameters
    ----------
    model : a fitted classifier with `predict_proba`, or a mixture, of two columns
    X : array or data frame of two columns
    y : the classes of the rows; None colours them by the model's predictions

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianDiscriminant, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot.regions(GaussianDiscriminant("full").fit(X[:, 2:], y), X[:, 2:], y)
    """
    X = arranged(model, X)
    cells = numbers(X)
    if cells.shape[1] != 2:
        raise ValueError(f"regions are drawn of two columns, but X has {cells.shape[1]}; fit a model to two of them")
    ax = axes(ax)
    low, high = np.nanmin(cells, axis=0), np.nanmax(cells, axis=0)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    across, up = (np.linspace(a, b, _RESOLUTION) for a, b in zip(low - margin, high + margin, strict=True))
    plane = np.stack([side.ravel() for side in np.meshgrid(across, up)], axis=1)
    probability = model.predict_proba(_as_table_of(X, plane))
    k = probability.shape[1]
    palette = colours(k)
    ax.imshow(
        _shade(probability, palette).reshape(_RESOLUTION, _RESOLUTION, 3),
        origin="lower",
        extent=(across[0], across[-1], up[0], up[-1]),
        aspect="auto",
        interpolation="bilinear",
    )
    best = probability.argmax(1).reshape(_RESOLUTION, _RESOLUTION)
    for c in range(k - 1):
        ax.contour(across, up, best == c, levels=[0.5], colors="0.25", linewidths=0.8)
    names = class_list(model.classes_) if hasattr(model, "classes_") else list(range(k))
    codes = model.predict_proba(X).argmax(1) if y is None else _numbers(names, y)
    shown = np.random.default_rng(0).permutation(len(cells))[:_MOST_POINTS]
    for c in range(k):
        own = shown[codes[shown] == c]
        ax.scatter(*cells[own].T, s=14, color=palette[c], edgecolors="white", linewidths=0.3, label=plain(names[c]))
    _ellipses(model, ax)
    labels = getattr(X, "columns", ("x₁", "x₂"))
    ax.set(xlabel=plain(labels[0]), ylabel=plain(labels[1]))
    ax.legend(frameon=True, framealpha=0.8, fontsize="small")
    return ax


def _as_table_of(X: Any, plane: FloatArray) -> Any:
    """Return points as a table of the same type as X."""
    if not hasattr(X, "columns"):
        return plane
    return type(X)({name: plane[:, j] for j, name in enumerate(X.columns)})


def _shade(probability: FloatArray, palette: list[Any]) -> FloatArray:
    """Return the colour of the most probable class, paler for a lower probability."""
    best = probability.argmax(1)
    sure = probability[np.arange(len(best)), best]
    least = 1.0 / probability.shape[1]
    strength = 0.05 + 0.4 * (sure - least) / (1.0 - least) if least < 1.0 else np.full(len(best), 0.2)
    colour = np.array([entry[:3] for entry in palette])[best]
    return 1.0 - strength[:, None] * (1.0 - colour)


def _numbers(names: list[Any], y: Any) -> IntArray:
    place = {name: c for c, name in enumerate(names)}
    return np.array([place.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.intp)


def _ellipses(model: Any, ax: Any) -> None:
    """Draw the ellipses of Gaussian components, if the model has one Gaussian block."""
    from suffice.families.gaussian import GaussianDistributions

    found: Any = getattr(model, "distributions_", ())
    if len(found) != 1 or not isinstance(found[0], GaussianDistributions):
        return
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    limits = ax.get_xlim(), ax.get_ylim()
    covariances = np.broadcast_to(found[0].covariance(), (found[0].n_classes, 2, 2))
    for mean, covariance in zip(found[0].mean(), covariances, strict=True):
        root = np.linalg.cholesky(covariance)
        for radius in (1.0, 2.0):
            ax.plot(*(mean[:, None] + radius * root @ circle), color="0.2", linewidth=0.7, linestyle="--")
        ax.plot(*mean, marker="+", color="0.1", markersize=7)
    ax.set(xlim=limits[0], ylim=limits[1])
