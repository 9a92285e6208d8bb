"""False positives, false negatives and cost against the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.plot._axes import axes, plain

if TYPE_CHECKING:
    from suffice.selection.thresholds import ThresholdCurve


def draw(curve: ThresholdCurve, ax: Any) -> Any:
    """Draw a threshold curve; return the axes of the numbers of errors, beside which the cost has its own."""
    ax = axes(ax)
    edges = np.concatenate([[0.0], curve.threshold, [1.0]])

    def steps(values: Any) -> Any:  # entry i holds for T in (threshold[i − 1], threshold[i]]
        return np.concatenate([values[:1], values, values[-1:]])

    for name, colour in (("false positives", "C3"), ("false negatives", "C0")):
        values = getattr(curve, name.replace(" ", "_"))
        ax.step(edges, steps(values), where="pre", color=colour, label=name)
    beside = ax.twinx()
    beside.step(edges, steps(curve.cost), where="pre", color="0.45", linestyle="--", linewidth=1.0, label="cost")
    best, least = curve.best, curve.at(curve.best)
    ax.axvline(best, color="0.2", linewidth=0.8, linestyle=":")
    beside.plot([best], [least["cost"]], marker="o", color="0.2", markersize=5, label=f"least cost, T = {best:.3g}")
    ax.set(xlabel=f"threshold T of {plain(curve.positive)}", ylabel="rows", xlim=(0.0, 1.0))
    beside.set_ylabel("cost")
    ax.set_ylim(bottom=0.0)
    beside.set_ylim(bottom=min(0.0, float(curve.cost.min())))
    ax.set_zorder(beside.get_zorder() - 1)
    lines, names = (
        one + two for one, two in zip(ax.get_legend_handles_labels(), beside.get_legend_handles_labels(), strict=True)
    )
    # place the legend above the axes, where it hides nothing
    ax.legend(lines, names, frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return ax
