"""The axes of figures; Matplotlib is imported when the first figure is made."""

from __future__ import annotations

from typing import Any


def plain(name: Any) -> str:
    """Return a name as a label of a figure, in which a dollar sign begins no formula."""
    return str(name).replace("$", r"\$")


def axes(ax: Any, size: tuple[float, float] = (5.2, 3.8)) -> Any:
    """Return the given axes, or new ones of this size in inches; raise ImportError if Matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("figures need matplotlib; pip install 'suffice[plot]'") from error
    if ax is not None:
        return ax
    return plt.subplots(figsize=size, layout="constrained")[1]
