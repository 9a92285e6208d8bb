"""The boundary between two classes: means, w, x0, and how x0 moves with the class prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from suffice._arrays import FloatArray
from suffice.plot._axes import axes, colours, numbers, plain
from suffice.tables.conversion import as_table

#: the probabilities of the target class of which x0 is drawn
_PRIORS = (0.01, 0.1, 0.5, 0.9, 0.99)
_MOST_POINTS = 1500


def boundary(found: Any, X: Any = None, y: Any = None, ax: Any = None) -> Any:
    """Draw the boundary of two classes, and return the axes.

    With two columns it is drawn in their plane: the means with their ellipses (one standard deviation), the line
    through them, w, x0 and the boundary, and where x0 lies for other probabilities of the classes. With other numbers
    of columns it is drawn on the direction of w: the densities of the two classes there, the probability σ(wᵀ(x − x0)),
    and x0 for other probabilities.

    Parameters
    ----------
    found : Boundary
        As `model.boundary(target, against)` returns it.
    X : array or data frame, optional
        Rows to draw too.
    y : labels, optional
        The classes of the rows; rows of other classes are left out.
    ax : matplotlib Axes, optional
        The axes to draw on; by default new ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianDiscriminant, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = GaussianDiscriminant("tied").fit(X[:, :2], y)
    >>> plot.boundary(lda.boundary(2, 1), X[:, :2], y).get_title()
    'x0 between 2 and 1'
    """
    if (X is None) != (y is None):
        raise ValueError("X and y are drawn together; pass both, or neither")
    if X is not None and len(as_table(X)) != len(y):
        raise ValueError(
            f"there must be one label per row, but X has {len(as_table(X))} rows and y has {len(y)} labels"
        )
    ax = axes(ax)
    palette = dict(zip((found.target, found.against), reversed(colours(2)), strict=True))
    (_in_the_plane if len(found.w) == 2 else _on_the_line)(found, X, y, ax, palette)
    ax.set_title(f"x0 between {plain(found.target)} and {plain(found.against)}")
    return ax


def _rows_of(found: Any, name: Any, X: Any, y: Any) -> Any:
    """Return up to `_MOST_POINTS` rows of a class, as a table of the same kind."""
    places = np.flatnonzero(np.asarray([own == name for own in np.asarray(y, dtype=object).tolist()]))
    places = np.random.default_rng(0).permutation(places)[:_MOST_POINTS]
    columns = found.columns if hasattr(X, "columns") else None
    return numbers(X[columns] if columns is not None else X)[places]


def _in_the_plane(found: Any, X: Any, y: Any, ax: Any, palette: dict[Any, Any]) -> None:
    target, against = found.means
    covariance = found.covariance
    extent = np.abs(target - against)
    if covariance is not None:
        extent = extent + 2.2 * np.sqrt(np.diagonal(covariance))
    low, high = found.midpoint - 1.05 * extent, found.midpoint + 1.05 * extent
    for own, mean in zip(palette, found.means, strict=True):
        if X is not None:
            ax.scatter(*_rows_of(found, own, X, y).T, s=10, color=palette[own], alpha=0.35, linewidths=0)
        if covariance is not None:
            ax.plot(*_ellipse(mean, covariance), color=palette[own], linewidth=1.0, linestyle="--")
        ax.plot(*mean, marker="o", color=palette[own], markersize=8, linestyle="", label=f"mean of {plain(own)}")
    ax.axline(target, against, color="0.6", linewidth=0.8)
    across = np.array([-found.w[1], found.w[0]])  # orthogonal to w
    said: str | None = f"x0 if p({plain(found.target)}) is …"
    for share in _PRIORS:
        other = found.with_prior(share).x0
        if (other >= low).all() and (other <= high).all():
            ax.axline(other, other + across, color="0.75", linewidth=0.8, linestyle=":", label=said)
            said = None
            ax.plot(*other, marker=".", color="0.45", markersize=6)
            ax.annotate(f"{share:g}", other, textcoords="offset points", xytext=(5, 4), fontsize=7, color="0.35")
    ax.axline(found.x0, found.x0 + across, color="0.1", linewidth=1.4)
    ax.plot(*found.x0, marker="X", color="0.1", markersize=8, linestyle="", label="x0")
    arrow = found.w / np.linalg.norm(found.w) * 0.35 * np.linalg.norm(target - against)
    ax.annotate("", found.x0 + arrow, found.x0, arrowprops={"arrowstyle": "-|>", "color": "0.1", "linewidth": 1.4})
    ax.annotate("w", found.x0 + arrow, textcoords="offset points", xytext=(4, -9), fontsize=9)
    half = max(high - low) / 2.0  # one scale on both axes shows that w is orthogonal to the boundary
    scale = np.maximum(high - low, 1.2 * half) / 2.0
    limits = found.midpoint - scale, found.midpoint + scale
    ax.set(xlim=(limits[0][0], limits[1][0]), ylim=(limits[0][1], limits[1][1]), aspect="equal")
    ax.set(xlabel=_label(found, 0), ylabel=_label(found, 1))
    ax.legend(fontsize="x-small", framealpha=0.8)


def _ellipse(mean: FloatArray, covariance: FloatArray) -> FloatArray:
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return np.asarray(mean[:, None] + np.linalg.cholesky(covariance) @ circle)


def _label(found: Any, j: int) -> str:
    name = found.columns[j]
    return plain(name) if isinstance(name, str) else f"x{'₁₂'[j]}"


def _on_the_line(found: Any, X: Any, y: Any, ax: Any, palette: dict[Any, Any]) -> None:
    length = float(np.linalg.norm(found.w))
    places = (found.means - found.x0) @ found.w / length
    spread = None if found.covariance is None else float(np.sqrt(found.w @ found.covariance @ found.w)) / length
    half = 0.75 * abs(places[0] - places[1]) + (3.0 * spread if spread is not None else 0.0)
    at = np.linspace(places.mean() - half, places.mean() + half, 400)
    for name, place in zip(palette, places, strict=True):
        if X is not None:
            own = (_rows_of(found, name, X, y) - found.x0) @ found.w / length
            ax.hist(own, bins=40, range=(at[0], at[-1]), density=True, color=palette[name], alpha=0.3)
        if spread is not None:
            density = np.exp(-0.5 * ((at - place) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
            ax.plot(at, density, color=palette[name], label=f"density of {plain(name)}")
        ax.plot(place, 0.0, marker="o", color=palette[name], markersize=8, clip_on=False)
    ax.axvline(0.0, color="0.1", linewidth=1.4, label="x0")
    said: str | None = f"x0 if p({plain(found.target)}) is …"
    for number, share in enumerate(_PRIORS):
        place = float((found.with_prior(share).x0 - found.x0) @ found.w) / length
        if at[0] <= place <= at[-1]:
            ax.axvline(place, color="0.75", linewidth=0.8, linestyle=":", label=said)
            said, lower = None, -9 * (1 + number)
            ax.annotate(f"{share:g}", (place, 1.0), xycoords=("data", "axes fraction"), xytext=(2, lower),
                        textcoords="offset points", fontsize=7, color="0.35")  # fmt: skip
    beside = ax.twinx()
    beside.plot(at, expit(at * length), color="0.4", linewidth=1.0, linestyle="--")
    beside.set(ylim=(0.0, 1.0), ylabel=f"p({plain(found.target)} | x)  (dashed)")
    ax.set(xlabel="wᵀ(x − x0) / ‖w‖", ylabel="density", xlim=(at[0], at[-1]))
    ax.set_ylim(bottom=0.0)
    ax.legend(fontsize="x-small", framealpha=0.8)
