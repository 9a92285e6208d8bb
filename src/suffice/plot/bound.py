"""The bound of EM by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.plot._axes import axes


def bound(model: Any, ax: Any = None, *, label: str | None = None) -> Any:
    """Draw the bound of a model fitted by EM against the iteration; return the axes.

    Examples
    --------
    >>> import numpy as np, suffice
    >>> from suffice import plot
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> plot.bound(suffice.Mixture(2, random_state=0).fit(rows)).get_xlabel()
    'iteration'
    """
    if not hasattr(model, "bound_history_"):
        check_is_fitted(model)
        raise ValueError(
            f"EM did not run: this {type(model).__name__} was fitted without it, as labels and cells were complete and "
            f"classes have one component, so that there is no bound to draw"
        )
    ax = axes(ax)
    history = model.bound_history_
    ax.plot(np.arange(1, len(history) + 1), history, marker=".", markersize=4, label=label)
    ax.set(xlabel="iteration", ylabel="bound")
    return ax
