"""Predictions for rows with values of probability 0, which occur under maximum likelihood (``prior=None``).

The same rules apply to every family:

- A value that has probability 0 in some of the classes, but not in all of them, rules these classes out.
- A value that has probability 0 in every class carries no information about the class. Posteriors, predictions,
  explanations and imputations ignore that cell, with one warning per call; the other cells of the row are used.
- If the cells of a row together rule out every class, its posterior is the class prior, with one warning.
- log p(x) is −∞ in both of the last two cases: `score_samples` and `predict_joint_log_proba` return −∞.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import warn_user
from suffice.models import passes
from suffice.models.joint import IMPOSSIBLE_CELL, IMPOSSIBLE_ROW, POSTERIORS, JointModel, most_probable, with_impossible


def score(
    X: Any,
    model: JointModel,
    kernel: Callable[..., NDArray[Any]],
    params: Any = None,
    *,
    estimator: str,
    n_jobs: int | None = None,
    marked: bool | None = None,
    noun: str = "class",
) -> NDArray[Any]:
    """Return the result of a kernel for every row, and warn once about rows with values that no class has.

    Parameters
    ----------
    params : Any
        The parameters of the kernel; None is the model itself.
    marked : bool or None
        Whether to look for such rows; None looks for them if the kernel returns posteriors or classes.
    noun : str
        The name of a class in warnings: "component" for mixtures.
    """
    inner = model if params is None else params
    marked = kernel in POSTERIORS if marked is None else marked
    if not (marked and model.rules_out):
        return passes.score(X, model.schema, kernel, inner, estimator=estimator, n_jobs=n_jobs)
    found = passes.score(X, model.schema, with_impossible, (kernel, inner, model), estimator=estimator, n_jobs=n_jobs)
    _warn_of_impossible(found[:, -1], noun)
    return found[:, 0].astype(np.intp) if kernel is most_probable else found[:, :-1]


def _warn_of_impossible(marks: NDArray[Any], noun: str) -> None:
    n, cells, rows = len(marks), int((marks == IMPOSSIBLE_CELL).sum()), int((marks == IMPOSSIBLE_ROW).sum())
    said = []
    if cells:
        said.append(f"{cells} of {n} rows hold a value that has probability 0 in every {noun}; it was left out")
    if rows:
        said.append(
            f"the values of {rows} of {n} rows rule out every {noun} between them; their predictions are the prior "
            f"shares of the {'classes' if noun == 'class' else 'components'}"
        )
    if said:
        warn_user(
            f"{'; '.join(said)}. This happens with maximum likelihood; a prior (prior='auto', or alpha above 0 in a "
            f"drop-in) gives every value a positive probability."
        )
