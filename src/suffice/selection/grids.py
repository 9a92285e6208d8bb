"""The mixtures that a search compares, over one table: what all kinds of tables share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice._arrays import IntArray
from suffice.estimators.mixture import Mixture
from suffice.selection.strategy import best_of_one_size
from suffice.selection.trials import Start, Trial

if TYPE_CHECKING:
    from suffice.selection.mixture_search import MixtureSearch

#: the maximum number of rows in which clusters are found; of more rows a sample is used, and EM then goes on with all
MOST_SAMPLED = 2000
#: the figures reported for each mixture
FIGURES = ("log_likelihood", "n_parameters", "bic", "aic", "icl")


class Grid(ABC):
    """The mixtures of a search over one table.

    Parameters
    ----------
    search : MixtureSearch
        The settings of the search.
    structures : sequence
        The covariance structures.
    X, sample_weight : table, array of shape (n,) or None
        The rows and their weights.
    """

    #: whether several sizes can be searched at the same time, in threads
    threaded: bool
    #: whether all columns are Gaussian and not constant; otherwise maximum likelihood gives values probability 0, or
    #: has no estimate
    gaussian: bool

    def __init__(self, search: MixtureSearch, structures: Sequence[Any], X: Any, sample_weight: Any) -> None:
        self.search, self.structures, self.X, self.sample_weight = search, structures, X, sample_weight

    def of_one_size(self, k: int, stop: Event) -> list[Any]:
        """Return the best run of each structure with k components, None if it has no estimate.

        The prior "auto" means maximum likelihood, and the weak prior of `Mixture` if that has no estimate.
        """
        starts, prior = self._starts(k), self.search.prior
        if not starts:
            return [None] * len(self.structures)
        automatic = self.gaussian and isinstance(prior, str)
        found = self._best(k, self.structures, starts, None if automatic else prior, stop)
        failed = [i for i, run in enumerate(found) if not run.found] if automatic else []
        if failed:
            shares = (run.shares() for run in found if run.found)
            starts = [*starts, *(start for start in shares if start is not None)]
            again = self._best(k, [self.structures[i] for i in failed], starts, "auto", stop)
            for i, run in zip(failed, again, strict=True):
                found[i] = run
        return [run if run.found else None for run in found]

    def _best(self, k: int, structures: Sequence[Any], starts: Sequence[Start], prior: Any, stop: Event) -> list[Trial]:
        def begin(structure: Any, start: Start) -> Trial:
            return self._trial(k, structure, start, prior, stop)

        return best_of_one_size(begin, structures, starts, self.search.max_iter)

    @abstractmethod
    def _starts(self, k: int) -> list[Start]:
        """Return the starts of all structures; an empty list if there are too few rows."""

    @abstractmethod
    def _trial(self, k: int, structure: Any, start: Start, prior: Any, stop: Event) -> Trial:
        """Return a run of EM that has not started."""

    @abstractmethod
    def measured(self, run: Any) -> dict[str, Any]:
        """Return the figures of a mixture, and whether it converged and has a prior."""

    @abstractmethod
    def mixture(self, run: Any, k: int, structure: Any) -> Mixture:
        """Return the mixture that a run has found."""

    @abstractmethod
    def held_out(self, k: int, stop: Event) -> list[float]:
        """Return the mean log-likelihood of held-out rows, one per structure."""


def figures_of(log_likelihood: float, certain: float, p: int, total: float) -> dict[str, Any]:
    """Return the criteria; `certain` is Σ log max_c p(c | x)."""
    bic = -2.0 * log_likelihood + p * float(np.log(total))
    aic, icl = -2.0 * log_likelihood + 2.0 * p, bic - 2.0 * certain
    return dict(zip(FIGURES, (log_likelihood, p, bic, aic, icl), strict=True))


def folds(n_folds: int, n_rows: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows to fit and the rows to hold out."""
    from sklearn.model_selection import KFold  # a slow import

    yield from KFold(n_folds, shuffle=True, random_state=0).split(np.arange(n_rows))
