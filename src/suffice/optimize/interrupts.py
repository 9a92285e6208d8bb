"""Ctrl-C in the middle of a fit: it stops, and the best model so far is kept on the estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_KEEP: ContextVar[bool] = ContextVar("keep_on_interrupt", default=False)


class Interrupted(KeyboardInterrupt):
    """Raised by an iteration that Ctrl-C has ended.

    A caller that has no use for `outcome` lets the exception propagate, as any other KeyboardInterrupt.

    Attributes
    ----------
    outcome : object
        The best result so far.
    """

    def __init__(self, outcome: Any) -> None:
        super().__init__()
        self.outcome = outcome


@contextmanager
def keep_on_interrupt(keep: bool = True) -> Iterator[None]:
    """Let Ctrl-C end a fit early instead of raising KeyboardInterrupt.

    By default, Ctrl-C raises KeyboardInterrupt out of `fit`. The estimator then has the parameters of its best
    iteration, with ``converged_ = False``, if at least one iteration over all rows was finished; else it is unchanged.
    Inside this context, `fit` returns that model with a ConvergenceWarning; it raises only if there is no model yet.

    The context applies to every fit inside it, so one Ctrl-C in a cross-validation ends one fold early, not all folds.
    `suffice.dropin` always raises, as scikit-learn does.

    Parameters
    ----------
    keep : bool, default True
        Whether to keep the best model; False restores the default behaviour inside another such context.

    Examples
    --------
    >>> import numpy as np
    >>> import suffice
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> with suffice.keep_on_interrupt():
    ...     model = suffice.Mixture(3, random_state=0).fit(X)
    >>> model.converged_
    True
    """
    token = _KEEP.set(keep)
    try:
        yield
    finally:
        _KEEP.reset(token)


def end_early(what: str, *, stacklevel: int) -> None:
    """Raise KeyboardInterrupt, or issue a ConvergenceWarning inside `keep_on_interrupt`.

    Parameters
    ----------
    what : str
        The part of the message that says what has been kept.
    stacklevel : int
        The stack level of the warning, counted from the caller.
    """
    if not _KEEP.get():
        raise KeyboardInterrupt(f"interrupted; {what}")
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(f"interrupted before convergence; {what}", ConvergenceWarning, stacklevel=stacklevel + 1)
