"""A column and the distributions that fit it best, drawn with Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.families import Bernoulli, Categorical, Distribution, Family, NegativeBinomial, Poisson

if TYPE_CHECKING:
    from suffice.selection.ranking import FamilyRanking

#: discrete families, which have probabilities; the others have densities
_DISCRETE = (Bernoulli, Categorical, NegativeBinomial, Poisson)
_LINES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D")
#: the largest number of bars for values drawn one by one
_MOST_BARS = 80


def draw(ranking: FamilyRanking, ax: Any, most: int) -> Any:
    """Draw bars of the shares of each value, or a histogram, and the distributions over it; return the axes."""
    if not isinstance(most, (int, np.integer)) or isinstance(most, bool) or most < 1:
        raise ValueError(f"most must be a whole number of at least 1, but is {most!r}")
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(7.0, 4.5), layout="constrained").add_subplot()
    values, share = ranking.values, ranking.weight / ranking.weight.sum()
    best = ranking.table[:most]
    wide = values.dtype.kind not in "iuf" or np.ptp(values) < _MOST_BARS
    if isinstance(best[0].distribution.family, _DISCRETE) and wide:
        _bars(ax, values, share, best)
    else:
        _histogram(ax, values.astype(np.float64), share, best)
    named = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    names = ["data", *(name for name in named if name != "data")]
    # place the legend above the axes, where it hides nothing
    ax.legend(
        [named[name] for name in names], names, frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0)
    )
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _bars(ax: Any, values: Any, share: Any, best: Any) -> None:
    numbers = values.dtype.kind in "iuf"
    if numbers:
        at = np.arange(values.min(), values.max() + 1.0)
        heights = np.array([share[values == value].sum() for value in at])
        places: Any = at
    else:
        known = sorted(set(values.tolist()), key=str)
        heights = np.array([share[np.array([cell == value for cell in values.tolist()])].sum() for value in known])
        places, at = np.arange(len(known)), np.array(known, dtype=object)
        ax.set_xticks(places, [str(value) for value in known])
    ax.bar(places, heights, width=0.8, color="0.85", label="data")
    for number, row in enumerate(best):
        style = _LINES[number % len(_LINES)] if numbers else "none"
        height = np.exp(_log_prob(row.distribution, at))
        if isinstance(row.distribution.family, Categorical):  # undefined for values without rows
            height = np.where(heights > 0, height, np.nan)
        marker = _MARKERS[number % len(_MARKERS)]
        ax.plot(places, height, linestyle=style, marker=marker, markersize=4, color=f"C{number}", label=_label(row))
    ax.set_xlabel("value")
    ax.set_ylabel("probability")


def _log_prob(found: Distribution, at: Any) -> Any:
    """Return the log-probabilities of values; numeric families take booleans as 0 and 1."""
    if isinstance(found.family, Categorical):
        return found.log_prob(at)
    return found.log_prob(np.asarray(at, dtype=np.float64))


def _histogram(ax: Any, values: Any, share: Any, best: Any) -> None:
    edges = np.histogram_bin_edges(values, bins="auto" if len(values) > 30 else 10)
    if (values == np.round(values)).all():  # the same number of whole numbers in every bin
        width = max(round(float(edges[1] - edges[0])), 1)
        edges = np.arange(values.min() - 0.5, values.max() + width, width)
    ax.hist(values, bins=edges, weights=share / np.diff(edges)[0], color="0.85", label="data")
    low, high = edges[0], edges[-1]
    at = np.linspace(low, high, 801)[1:-1]
    for number, row in enumerate(best):
        family = row.distribution.family
        if isinstance(family, Categorical):
            continue
        where = np.unique(np.round(at)) if isinstance(family, _DISCRETE) else _within(family, at)
        density = np.exp(row.distribution.log_prob(where))
        ax.plot(where, density, linestyle=_LINES[number % len(_LINES)], color=f"C{number}", label=_label(row))
    ax.set_ylim(0.0, 1.4 * max(patch.get_height() for patch in ax.patches))  # a density may be infinite at a boundary
    ax.set_xlabel("value")
    ax.set_ylabel("density")


def _within(family: Family, at: FloatArray) -> FloatArray:
    """Return the points within the support of a family; bins of whole numbers start half a unit below the first."""
    low, high = family.support
    return at[(at > low) & (at < high)]


def _label(row: Any) -> str:
    return f"{row.family.replace('_', ' ')} (BIC {row.bic:.0f})"
