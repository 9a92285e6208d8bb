"""The choice of a mixture: the number of components and the covariance structure, by a criterion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from threading import Event
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import IntArray
from suffice._threads import threads
from suffice.engines.base import ONE_BLAS_THREAD
from suffice.estimators.mixture import Mixture
from suffice.estimators.settings import SearchSettings, documented
from suffice.estimators.warn import warn_of_light_rows
from suffice.families import reads_documents
from suffice.optimize.interrupts import end_early, keep_on_interrupt
from suffice.priors import PriorSpec
from suffice.selection._best_answers import BestAnswers
from suffice.selection.grids import FIGURES, Grid
from suffice.selection.numeric_grid import NumericGrid
from suffice.selection.strategy import in_threads
from suffice.selection.table_grid import TableGrid
from suffice.tables.conversion import as_table
from suffice.tables.document_tables import as_document_table
from suffice.tables.labels import check_weight
from suffice.tables.results import result_frame
from suffice.tables.sources import Source

#: the covariance structures of mclust, from few parameters to many
ALL = ("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV")
#: whether a smaller value of the criterion is better; "cv" is a likelihood, so larger is better
_SMALLER = {"bic": True, "icl": True, "aic": True, "cv": False}

_CRITERIA_TRUST = "the criteria take these for very few rows. Scale the weights to a mean of 1."


@dataclass(eq=False, repr=False)
class _Settings(SearchSettings):
    """The settings of `MixtureSearch`."""

    n_components: int | Iterable[int] = range(1, 10)
    covariance: Any = "all"
    criterion: str = "bic"
    _: KW_ONLY
    families: Any = "auto"
    prior: PriorSpec = "auto"
    n_init: int = 2
    cv: int = 5


@documented
class MixtureSearch(BestAnswers, _Settings, DensityMixin, BaseEstimator):
    """A search that fits mixtures of several sizes and covariance structures, and keeps the best.

    All structures of one size start from clusters of agglomeration (`mixtures.agglomeration`), and then from the
    clusters that the other structures have found. The fitted search is used like a mixture: `predict`, `score_samples`,
    `sample` and the like are those of `best_estimator_`.

    Parameters
    ----------
    n_components : int or iterable of int, default range(1, 10)
        The numbers of components to try; an integer tries all up to it: 3 is 1, 2 and 3.
    covariance : "all", structure or list of structures, default "all"
        The covariance structures to try; "all" is the fourteen of mclust, from "EII" to "VVV".
    criterion : "bic", "icl", "aic" or "cv", default "bic"
        The Bayesian information criterion, the same with a penalty for overlapping clusters, Akaike's criterion, or the
        mean log-likelihood of held-out rows. The first three are −2 log L plus a penalty: smaller is better.
    families : "auto", Family, name of a family, or mapping, default "auto"
        The distribution of each column given the component, as in `Mixture`.
    prior : "auto", None, number, Prior or list of Priors, default "auto"
        "auto" is maximum likelihood if all columns are Gaussian, because the criteria are defined for it.
        A mixture without such an estimate, because a component collapses, is fitted with the weak prior of `Mixture`
        instead; its criteria depend on that prior, so it is chosen only if there is no other. Tables with columns of
        other families get the automatic prior of `Mixture`. None is maximum likelihood only.
    n_init : int, default 2
        The number of starts per size: agglomeration into ellipsoids, agglomeration into spheres, and from the third on
        k-means++.
    cv : int, default 5
        The number of folds for the criterion "cv".
    {SearchSettings}

    Attributes
    ----------
    results_ : dict of arrays
        One entry per mixture: "n_components", "covariance", "log_likelihood", "n_parameters", "bic", "aic", "icl",
        "converged", "prior" (whether it was fitted with one), and "cv" if that is the criterion; NaN if there is no
        estimate. Constant columns are not counted. `to_frame` returns it as a data frame.
    best_estimator_ : Mixture
        The best mixture.
    best_index_ : int
        The position of the best mixture in `results_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import MixtureSearch
    >>> search = MixtureSearch(3).fit(load_iris().data)
    >>> search.best_estimator_.n_components, search.best_estimator_.covariance
    (2, 'VEV')
    >>> search.predict_proba(load_iris().data).shape
    (150, 2)
    """

    results_: dict[str, NDArray[Any]]
    best_estimator_: Mixture
    best_index_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit all mixtures of the grid, and keep the best.

        Parameters
        ----------
        X : array or data frame, in memory
            The rows.
        y : ignored
            Accepted for compatibility with scikit-learn.
        sample_weight : array of shape (n,), optional
            The weight of each row.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, with the best mixture of the finished sizes kept; see `suffice.keep_on_interrupt`.
        """
        if self.criterion not in _SMALLER:
            raise ValueError(f"criterion must be one of {', '.join(map(repr, _SMALLER))}, not {self.criterion!r}")
        sizes, structures = _sizes(self.n_components), self._structures()
        self._mixture(1, structures[0])._check_parameters()
        if isinstance(X, Source):
            raise TypeError(
                "MixtureSearch needs all rows in memory, and was given a stream; search on a sample of the rows, and "
                "fit the Mixture that it finds on the stream"
            )
        if sample_weight is not None:
            n_rows = len(as_document_table(X) if reads_documents(self.families) else as_table(X))
            weight = check_weight(sample_weight, n_rows)
            warn_of_light_rows(float(np.sum(np.asarray(weight))), n_rows, max(sizes), _CRITERIA_TRUST)
        grid = NumericGrid.of(self, structures, X, sample_weight) or TableGrid(self, structures, X, sample_weight)
        done: dict[int, list[tuple[Any, dict[str, Any]]]] = {}
        interrupted = False
        try:
            with keep_on_interrupt(False), ONE_BLAS_THREAD:  # Ctrl-C ends the search, not just one of its fits
                n_threads = threads(self.n_jobs) if grid.threaded else 1
                in_threads(lambda k, stop: self._of_one_size(grid, k, stop), sizes, n_threads, done)
        except KeyboardInterrupt:
            if not done:
                raise
            interrupted = True
        self._keep_the_best(grid, [entry for place in sorted(done) for entry in done[place]])
        if interrupted:
            end_early(f"{len(done)} of {len(sizes)} sizes were compared", stacklevel=2)
        return self

    def _structures(self) -> list[Any]:
        if isinstance(self.covariance, str) and self.covariance == "all":
            return list(ALL)
        if isinstance(self.covariance, str) or not isinstance(self.covariance, Sequence):
            return [self.covariance]
        if not self.covariance:
            raise ValueError("covariance must be 'all', a structure or a list of structures, but the list is empty")
        return list(self.covariance)

    def _mixture(self, k: int, structure: Any, prior: PriorSpec = "auto") -> Mixture:
        return Mixture(
            k,
            self.families,
            structure,
            prior,
            n_init=self.n_init,
            **self._em_settings(),
        )

    def _of_one_size(self, grid: Grid, k: int, stop: Event) -> list[tuple[Any, dict[str, Any]]]:
        """Return the best run of each structure with k components, with its results."""
        nothing = {**dict.fromkeys(FIGURES, float("nan")), "converged": False, "prior": False}
        found = []
        for run, structure in zip(grid.of_one_size(k, stop), self._structures(), strict=True):
            row = {"n_components": k, "covariance": str(getattr(structure, "name", structure))}
            found.append((run, row | (nothing if run is None else grid.measured(run))))
        if self.criterion == "cv":
            for (_, row), value in zip(found, grid.held_out(k, stop), strict=True):
                row["cv"] = value
        return found

    def _keep_the_best(self, grid: Grid, found: list[tuple[Any, dict[str, Any]]]) -> None:
        self.results_ = {name: np.array([row[name] for _, row in found]) for name in found[0][1]}
        values = self.results_[self.criterion].astype(np.float64)
        if np.isnan(values).all():
            raise ValueError("no mixture of the grid has an estimate; use prior='auto', fewer components or more rows")
        if self.criterion != "cv":  # only held-out rows allow a fair comparison of fits with and without a prior
            likelihood = np.where(self.results_["prior"], np.nan, values)
            values = values if np.isnan(likelihood).all() else likelihood
        self.best_index_ = int(np.nanargmin(values) if _SMALLER[self.criterion] else np.nanargmax(values))
        run, row = found[self.best_index_]
        structure = self._structures()[self.best_index_ % len(self._structures())]
        self._use(grid.mixture(run, row["n_components"], structure))

    def _use(self, best: Mixture) -> Self:
        """Store the best mixture and its attributes."""
        self.best_estimator_ = best
        self.n_features_in_ = best.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IntArray:
        """Run the search, and return the most probable component of each row under the best mixture, (n,).

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows; NaN, None and null mark missing cells.
        y : ignored
            Accepted for compatibility with scikit-learn.
        sample_weight : array of shape (n,), optional
            The weight of each row.

        Returns
        -------
        array of shape (n,)
            The most probable component of each row.
        """
        return self.fit(X, y, sample_weight).predict(X)

    def to_frame(self, library: str | None = None) -> Any:
        """Return `results_` as a data frame with one row per mixture of the grid.

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the training table, or one that is installed.
        """
        return result_frame(self.results_, library, known=self._best.schema_.library)

    def plot(self, ax: Any = None) -> Any:
        """Plot the criterion against the number of components, one line per structure; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to plot on; by default new ones.
        """
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = Mixture().__sklearn_tags__().input_tags
        return tags


def _sizes(n_components: Any) -> list[int]:
    """Return the numbers of components to try: all up to an integer, or those of a list."""
    whole = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    listed = range(1, n_components + 1) if whole else n_components
    sizes = list(listed) if isinstance(listed, Iterable) and not isinstance(listed, str) else []
    if not sizes or not all(
        isinstance(k, (int, float, np.number)) and np.isfinite(k) and k == int(k) >= 1 for k in sizes
    ):
        raise ValueError(
            f"n_components must be a whole number of at least 1, up to which all are tried, or a list of such numbers, "
            f"not {n_components!r}"
        )
    return [int(k) for k in sizes]
