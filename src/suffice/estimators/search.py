"""Which mixture: the number of components and the covariance structure, by a criterion."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from suffice.errors import EstimateError
from suffice.estimators.mixture import Mixture
from suffice.interrupts import end_early, keep_on_interrupt
from suffice.priors import PriorSpec
from suffice.tables import ArrayTable, as_table

#: the covariance models of mclust, from few parameters to many
ALL = ("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV")
#: rows up to which clusters are also begun by merging, whose cost is the square of the rows
_MOST_MERGED = 5000
#: criteria of which smaller is better; the held-out likelihood of "cv" is to be large
_SMALLER = {"bic": True, "icl": True, "aic": True, "cv": False}


def merged_clusters(X: Any) -> Callable[[int], NDArray[np.intp]] | None:
    """Return a function that gives k clusters by Ward's merging of scaled rows; None for holes, or too many rows."""
    table = as_table(X)
    if len(table) > _MOST_MERGED or not isinstance(table, ArrayTable):
        return None
    rows = np.asarray(table.numbers(range(table.n_columns))[:], dtype=np.float64)
    if len(rows) < 2 or not np.isfinite(rows).all():
        return None
    from scipy.cluster.hierarchy import fcluster, linkage

    deviation = rows.std(0)
    tree = linkage((rows - rows.mean(0)) / np.where(deviation > 0, deviation, 1.0), "ward")
    return lambda k: fcluster(tree, k, "maxclust").astype(np.intp)


class MixtureSearch(BaseEstimator):
    """Fit mixtures of several sizes and covariance structures, and keep the best.

    All structures of one size begin with the same starts, and then with the clusters that the others have found.

    Parameters
    ----------
    n_components : iterable of int
    covariance : "all", a structure or a list of structures
        "all" are the fourteen models of mclust, from "EII" to "VVV".
    criterion : "bic", "icl", "aic" or "cv"
        The Bayesian criterion, the same with the cost of overlapping clusters, Akaike's, or the mean log-likelihood of
        held-out rows. The first three are −2 log L plus a penalty: smaller is better.
    families, prior, n_init, max_iter, tol, acceleration, random_state, n_jobs : as in `Mixture`
    cv : int
        Folds for the criterion "cv".

    Attributes
    ----------
    results_ : dict of arrays
        One entry a mixture: "n_components", "covariance", "log_likelihood", "n_parameters", "bic", "aic", "icl", "cv"
        (where it was asked for), "converged"; NaN where maximum likelihood has no estimate. A data frame
        of it is a table.
    best_estimator_ : Mixture
    best_index_ : int
        Its place in `results_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import MixtureSearch
    >>> search = MixtureSearch(range(1, 4), ["EII", "VEV"], random_state=0).fit(load_iris().data)
    >>> search.best_estimator_.n_components, search.best_estimator_.covariance
    (2, 'VEV')
    """

    results_: dict[str, NDArray[Any]]
    best_estimator_: Mixture

    def __init__(
        self,
        n_components: Iterable[int] = range(1, 10),
        covariance: Any = "all",
        criterion: str = "bic",
        *,
        families: Any = "auto",
        prior: PriorSpec = "auto",
        n_init: int = 5,
        max_iter: int = 500,
        tol: float = 1e-6,
        acceleration: str | None = None,
        cv: int = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.criterion = criterion
        self.families = families
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.acceleration = acceleration
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit every mixture of the grid.

        Parameters
        ----------
        X : array or data frame, in memory
        y : ignored
        sample_weight : array of shape (n,), optional
        """
        if self.criterion not in _SMALLER:
            raise ValueError(f"criterion must be one of {', '.join(map(repr, _SMALLER))}, not {self.criterion!r}")
        sizes, structures = [int(k) for k in self.n_components], self._structures()
        if not sizes or min(sizes) < 1:
            raise ValueError(f"n_components must be sizes of at least 1, not {self.n_components!r}")
        rows: list[dict[str, Any]] = []
        fitted: list[Mixture | None] = []
        interrupted = False
        try:
            with keep_on_interrupt(False):  # Ctrl-C ends the search, and not one of its mixtures
                tree = merged_clusters(X)
                for k in sizes:
                    found = self._of_one_size(X, sample_weight, k, structures, tree)
                    measured = [
                        self._measured(mixture, X, sample_weight, k, structure)
                        for mixture, structure in zip(found, structures, strict=True)
                    ]
                    fitted, rows = fitted + found, rows + measured
        except KeyboardInterrupt:
            if not rows:
                raise
            interrupted = True
        self.results_ = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        values = self.results_[self.criterion]
        if np.isnan(values).all():
            raise ValueError("no mixture of the grid has an estimate; use prior='auto', fewer components or more rows")
        self.best_index_ = int(np.nanargmin(values) if _SMALLER[self.criterion] else np.nanargmax(values))
        best = fitted[self.best_index_]
        assert best is not None
        self.best_estimator_ = best
        if interrupted:
            done = len(rows) // len(structures)
            end_early(f"the first {done} of {len(sizes)} sizes were compared", stacklevel=2)
        return self

    def _of_one_size(
        self, X: Any, sample_weight: Any, k: int, structures: Sequence[Any], tree: Any
    ) -> list[Mixture | None]:
        """Return the best mixture of k components for each structure."""
        starts: list[Any] = ["k-means++"]
        merged = None if k == 1 or tree is None else tree(k)
        if merged is not None and len(np.unique(merged)) == k:  # there may be fewer distinct rows
            starts.append(merged)
        found = [
            self._best(X, sample_weight, [self._mixture(k, structure, init=start) for start in starts])
            for structure in structures
        ]
        shares = [other.predict_proba(X) for other in found if other is not None and len(other.weights_) == k]
        if k > 1 and len(structures) > 1 and shares:  # what one structure found may suit another better
            again = [[other, self._mixture(k, s, init=shares)] for other, s in zip(found, structures, strict=True)]
            found = [self._best(X, sample_weight, candidates) for candidates in again]
        return found

    def _structures(self) -> list[Any]:
        if isinstance(self.covariance, str) and self.covariance == "all":
            return list(ALL)
        return (
            list(self.covariance)
            if isinstance(self.covariance, Sequence) and not isinstance(self.covariance, str)
            else [self.covariance]
        )

    def _mixture(self, k: int, structure: Any, init: Any = "k-means++") -> Mixture:
        return Mixture(
            k,
            self.families,
            structure,
            self.prior,
            init=init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            acceleration=self.acceleration,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _best(self, X: Any, sample_weight: Any, candidates: Sequence[Mixture | None]) -> Mixture | None:
        """Return the mixture with the highest bound, those that are not fitted yet being fitted; None if all fail."""
        best: Mixture | None = None
        for mixture in candidates:
            if mixture is None or not (hasattr(mixture, "bound_history_") or self._fits(mixture, X, sample_weight)):
                continue
            if best is None or mixture.bound_history_[-1] > best.bound_history_[-1]:
                best = mixture
        return None if best is None else best.set_params(init="k-means++")

    def _fits(self, mixture: Mixture, X: Any, sample_weight: Any) -> bool:
        """Fit a mixture, and say whether it has an estimate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", ".*components were left without rows", UserWarning)
            try:
                mixture.fit(X, sample_weight=sample_weight)
            except EstimateError:
                return False
        return True

    def _measured(self, mixture: Mixture | None, X: Any, sample_weight: Any, k: int, structure: Any) -> dict[str, Any]:
        row: dict[str, Any] = {"n_components": k, "covariance": str(getattr(structure, "name", structure))}
        nothing = float("nan")
        if mixture is None:
            row |= dict.fromkeys(("log_likelihood", "n_parameters", "bic", "aic", "icl"), nothing) | {
                "converged": False
            }
        else:
            logs = mixture.score_samples(X)
            weight = np.ones(len(logs)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
            log_likelihood, p = float(logs @ weight), mixture.n_parameters_
            bic = -2.0 * log_likelihood + p * float(np.log(weight.sum()))
            overlap = -2.0 * float(mixture.predict_log_proba(X).max(axis=1) @ weight)
            row |= {
                "log_likelihood": log_likelihood,
                "n_parameters": p,
                "bic": bic,
                "aic": -2.0 * log_likelihood + 2.0 * p,
                "icl": bic + overlap,
                "converged": mixture.converged_,
            }
        if self.criterion == "cv":
            row["cv"] = nothing if mixture is None else self._held_out(X, sample_weight, k, structure)
        return row

    def _held_out(self, X: Any, sample_weight: Any, k: int, structure: Any) -> float:
        """Return the mean log-likelihood of rows that were held out."""
        from sklearn.model_selection import KFold
        from sklearn.utils import _safe_indexing

        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        total = 0.0
        for train, test in KFold(self.cv, shuffle=True, random_state=0).split(np.arange(len(X))):
            try:
                mixture = self._mixture(k, structure).fit(_safe_indexing(X, train), sample_weight=weight[train])
            except EstimateError:
                return float("nan")
            total += float(mixture.score_samples(_safe_indexing(X, test)) @ weight[test])
        return total / float(weight.sum())

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the most probable component of each row under the best mixture."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    def plot(self, ax: Any = None) -> Any:
        """Draw the criterion against the number of components, one line a structure; return the axes."""
        check_is_fitted(self, "best_estimator_")
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(7.0, 4.5), layout="constrained")[1] if ax is None else ax
        names, sizes = self.results_["covariance"], self.results_["n_components"]
        values = self.results_[self.criterion]
        colours = plt.get_cmap("turbo")(np.linspace(0.05, 0.95, len(dict.fromkeys(names.tolist()))))
        for name, colour in zip(dict.fromkeys(names.tolist()), colours, strict=True):
            here = names == name
            ax.plot(sizes[here], values[here], "o-", ms=3, lw=1.2, label=name, color=colour)
        best = self.best_index_
        ax.plot(sizes[best], values[best], "o", ms=11, mfc="none", mec="black")
        title = f"{names[best]} with {sizes[best]} components"
        better = "smaller is better" if _SMALLER[self.criterion] else "larger is better"
        ax.set(xlabel="components", ylabel=f"{self.criterion} ({better})", title=title)
        ax.set_xticks(sorted(set(sizes.tolist())))
        ax.legend(fontsize=8, ncols=2, frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return ax
