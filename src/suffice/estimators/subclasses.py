"""Mixture discriminant analysis: classes with several components, p(x | c) = Σ_m p(m | c) p(x | c, m)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray
from suffice.engines import Engine, MemoryEngine, Rows
from suffice.errors import EstimateError
from suffice.estimators.partly_labelled import Learned, Prepared, iterate, known_labels
from suffice.families import Distributions
from suffice.mixtures.best_start import N_STARTS, Start, best_of
from suffice.mixtures.components import Components
from suffice.mixtures.start_clusters import START_ROWS, Points, generator, picked, rows_of_each_class
from suffice.models import passes
from suffice.models.joint import JointModel, most_probable, posterior
from suffice.models.missing import first_sums, learn_as_one, learn_known, lifted, uncorrelated
from suffice.models.named_statistics import ModelStatistics, sums_by_class
from suffice.models.schema import Schema
from suffice.optimize import em
from suffice.priors import PriorSpec
from suffice.statistics.joint import JointStatistics
from suffice.statistics.responsibilities import Labels, PartialLabels, SoftLabels
from suffice.tables.labels import class_list

if TYPE_CHECKING:
    from suffice.estimators.classifier import GenerativeClassifier

#: a component with a smaller share of all rows counts as empty
_EMPTY = 1e-12


def components_of_classes(n_components: Any, classes: NDArray[Any] | None) -> IntArray:
    """Return the requested number of components of each class, (k,); classes that a mapping does not name have one.

    If `classes` is None, only the numbers are checked, and the result is empty.
    """
    named = n_components if isinstance(n_components, Mapping) else {}
    for label, size in [*named.items()] if isinstance(n_components, Mapping) else [(None, n_components)]:
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            where = "" if label is None else f" for class {label!r}"
            raise ValueError(
                f"n_components must be a whole number of at least 1, or a mapping of class to such numbers, but is "
                f"{size!r}{where}"
            )
    if classes is None:
        return np.zeros(0, dtype=np.intp)
    labels = class_list(classes)
    unknown = [label for label in named if label not in labels]
    if unknown:
        raise ValueError(f"n_components names the class {unknown[0]!r}, but the classes are {labels}")
    if isinstance(n_components, Mapping):
        return np.array([named.get(label, 1) for label in labels], dtype=np.intp)
    return np.full(len(labels), n_components, dtype=np.intp)


def require_single(n_components: Any, reason: str) -> None:
    """Raise ValueError if some class is to have several components, which only a fit to labelled rows can find."""
    components_of_classes(n_components, None)
    sizes = n_components.values() if isinstance(n_components, Mapping) else [n_components]
    if max(sizes, default=1) > 1:
        raise ValueError(f"{reason} (n_components={n_components!r})")


def log_prior_of_components(
    count: FloatArray, class_of: IntArray | None, of_classes: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return log p(m) = log p(c) + log (n_m / n_c), (m,); `of_classes` returns log p(c) for the class weights."""
    if class_of is None:
        return of_classes(count)
    of_class = sums_by_class(count, class_of)[class_of]
    equal = 1.0 / np.bincount(class_of)[class_of]
    with np.errstate(divide="ignore"):
        share = np.log(np.divide(count, of_class, out=equal, where=of_class > 0))
        return np.asarray(of_classes(sums_by_class(count, class_of))[class_of] + share)


def fit_components_of_classes(
    model: GenerativeClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    labelled: ModelStatistics,
    sizes: IntArray,
    n_rows: int,
) -> Learned:
    """Split the rows of each class into clusters, and learn their components from all rows by EM.

    A labelled row can only belong to components of its own class, an unlabelled row to any component. The prior is
    that of the classes, from their labelled rows, with the volume of a class shared among its components.
    """
    begun, clusters = start_components_of_classes(model, X, y, sample_weight, labelled, sizes, n_rows)
    first = begun.components.class_of
    assert first is not None
    outcome = iterate(model, begun.components, begun.engine, begun.start)
    outcome, class_of = _without_empty(outcome, first, clusters)
    _warn_of_fewer(labelled.classes, np.bincount(class_of), sizes)
    statistics = ModelStatistics(
        labelled.classes, labelled.schema, outcome.statistics, declared=True, class_of=class_of
    )
    return Learned(statistics, clusters.priors, outcome, begun.never_seen)


def start_components_of_classes(
    model: GenerativeClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    labelled: ModelStatistics,
    sizes: IntArray,
    n_rows: int,
) -> tuple[Prepared, _Clusters]:
    """Return the model of clusters within the classes with all rows on an engine, and how it was found."""
    schema, classes = labelled.schema, labelled.classes
    engine = passes.engine(X, y, sample_weight, schema, known_labels(model, classes), n_jobs=model.n_jobs)
    first = first_sums(schema, engine.reduce(learn_as_one, schema), lambda simple: engine.reduce(learn_as_one, simple))
    overall, sums_of_classes = first.statistics, labelled.joint
    if first.missing:
        sums_of_classes = lifted(engine.reduce(learn_known, uncorrelated(schema)), schema)
    priors = [
        block.family.prior_within_classes(sums, model._prior, float(sizes.mean()), of_all)
        for block, sums, of_all in zip(schema.blocks, sums_of_classes.blocks, overall.blocks, strict=True)
    ]
    priors = [*model._at_mode(schema, sums_of_classes, priors)]
    units = [block.family.estimate(sums, "auto") for block, sums in zip(schema.blocks, overall.blocks, strict=True)]
    clusters = _Clusters(model, schema, classes, priors, first.missing, units, sizes, generator(model.random_state))
    start = clusters.begin(rows_of_each_class(engine, n_rows, max(START_ROWS, 50 * int(sizes.sum())), clusters.rng))
    assert start.class_of is not None
    return Prepared(clusters.components(start.class_of), engine, start, n_rows, first.never_seen), clusters


@dataclass(frozen=True)
class _Clusters:
    """The starting point of EM: clusters of the rows of each class."""

    model: GenerativeClassifier
    schema: Schema
    classes: NDArray[Any]
    priors: Sequence[PriorSpec]
    missing: bool
    #: the distributions of all rows, which give the units of distances
    units: Sequence[Distributions]
    sizes: IntArray
    rng: np.random.Generator

    def components(self, class_of: IntArray) -> Components:
        """Return the `Components` that estimate a model from the sums of these components."""
        return self.model._components(self.schema, self.classes, self.priors, class_of, missing=self.missing)

    def begin(self, rows: Rows) -> JointModel:
        """Return the starting model.

        It is estimated from the labelled rows. If there are unlabelled rows, each joins its most probable class under
        that model (or under one component per class, if maximum likelihood has no estimate with more), each class is
        split into clusters again, and the better of the two models is returned.
        """
        known = rows.responsibilities
        assert isinstance(known, PartialLabels)
        shares = known.shares()
        weight = np.ones(len(rows)) if known.weight is None else known.weight
        unlabelled = (known.most_probable() < 0) & (weight > 0)
        if not unlabelled.any():
            return self._split(rows, shares)
        try:
            first = self._split(rows, shares)
            starts = [first]
        except EstimateError:
            first, starts = self._model(rows, shares, np.arange(len(self.sizes))), []
        engine = MemoryEngine(rows, self.model.n_jobs)
        joined = shares.copy()
        joined[unlabelled, engine.map(most_probable, first)[unlabelled]] = weight[unlabelled]
        try:
            second = self._split(rows, joined)
        except EstimateError:
            if not starts:
                raise
            return first
        if len(second.log_prior) > len(first.log_prior):  # too few labelled rows to find as many components
            return second
        return self._best([*starts, second], engine)

    def _best(self, starts: Sequence[JointModel], engine: Engine) -> JointModel:
        """Return the best start after a few iterations."""

        def begin(start: JointModel) -> Start:
            assert start.class_of is not None
            return Start(self.components(start.class_of).problem(engine), start)

        return best_of([partial(begin, start) for start in starts], self.model.tol).model

    def _split(self, rows: Rows, shares: FloatArray) -> JointModel:
        """Return the model of clusters within each class; `shares`, n×k, is the weight of each row in each class."""
        members, class_of = [], []
        for c, k in enumerate(self.sizes.tolist()):
            there = np.flatnonzero(shares[:, c] > 0)
            within = np.zeros((len(rows), 1))
            if len(there):
                found = self._shares_of_clusters(picked(rows, there), shares[there, c], k, c)
                within = np.zeros((len(rows), found.shape[1]))
                within[there] = found * shares[there, c][:, None]
            members.append(within)
            class_of += [c] * within.shape[1]
        return self._model(rows, np.hstack(members), np.array(class_of, dtype=np.intp))

    def _model(self, rows: Rows, members: FloatArray, class_of: IntArray) -> JointModel:
        """Return the model estimated from the weights of the rows in each component, n×m."""
        belongs = MemoryEngine(Rows(rows.blocks, SoftLabels(members)), self.model.n_jobs)
        return self.components(class_of).begin(belongs)

    def _shares_of_clusters(self, rows: Rows, weight: FloatArray, k: int, c: int) -> FloatArray:
        """Return the responsibilities of the clusters of a class, n×k, from the best of a few starts.

        There are fewer than k clusters if there are too few distinct rows.
        """
        everything = np.ones((len(rows), 1))
        if k == 1:
            return everything
        starts = []
        points = Points(rows, self.units, weight)
        for start in range(N_STARTS):
            codes = points.planned_clusters(k, start, self.rng, self.model.n_jobs)()
            numbers, codes = np.unique(codes, return_inverse=True)
            if len(numbers) == 1:
                return everything
            starts.append(partial(self._first_of_clusters, rows, Labels(codes, weight, len(numbers)), c))
        best = best_of(starts, self.model.tol).model
        return MemoryEngine(rows, self.model.n_jobs).map(posterior, best)

    def _first_of_clusters(self, rows: Rows, clusters: Labels, c: int) -> Start:
        """Return a start for the components of one class only, from the model of its clusters."""
        size, n_jobs = clusters.n_classes, self.model.n_jobs
        components = Components(
            self.schema, self.priors, names=class_list(self.classes[[c]]) * size, missing=self.missing
        )
        alone = Rows(rows.blocks, PartialLabels(None, clusters.weight, size, len(rows)))
        first = components.begin(MemoryEngine(Rows(rows.blocks, clusters), n_jobs))
        return Start(components.problem(MemoryEngine(alone, n_jobs)), first)


def _without_empty(
    outcome: em.Outcome[JointModel, JointStatistics], class_of: IntArray, clusters: _Clusters
) -> tuple[em.Outcome[JointModel, JointStatistics], IntArray]:
    """Remove components without rows, but keep at least one per class."""
    count = outcome.statistics.class_count
    alive = count > _EMPTY * count.sum()
    for c in np.setdiff1d(class_of, class_of[alive]):
        own = np.flatnonzero(class_of == c)
        alive[own[np.argmax(count[own])]] = True
    if alive.all():
        return outcome, class_of
    kept = np.flatnonzero(alive)
    statistics = outcome.statistics.only(kept)
    model = clusters.components(class_of[kept]).estimate(statistics)
    return replace(outcome, model=model, statistics=statistics), class_of[kept]


def _warn_of_fewer(classes: NDArray[Any], found: IntArray, sizes: IntArray) -> None:
    fewer = np.flatnonzero(found < sizes)
    if len(fewer):
        c = int(fewer[0])
        more = f" (nor do {len(fewer) - 1} others have theirs)" if len(fewer) > 1 else ""
        warnings.warn(
            f"class {class_list(classes)[c]!r} has only {found[c]} of the {sizes[c]} components asked for{more}: it "
            f"has too few distinct rows, or clusters; lower n_components",
            UserWarning,
            stacklevel=4,
        )
