"""Learning classifiers from rows of which some, or all, have no label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from suffice.errors import warn_user
from suffice.mixtures.best_start import Start
from suffice.mixtures.components import Components, has_constant_columns
from suffice.models import passes
from suffice.models.joint import JointModel
from suffice.models.missing import first_sums, learn_as_one, uncorrelated
from suffice.models.named_statistics import ModelStatistics
from suffice.optimize import em
from suffice.optimize.extrapolation import accelerates
from suffice.optimize.interrupts import Interrupted
from suffice.optimize.progress import progress_line
from suffice.priors import PriorSpec
from suffice.statistics.joint import JointStatistics
from suffice.statistics.responsibilities import PartialLabels
from suffice.tables.labels import (
    LabelCoder,
    as_class_array,
    as_objects_if_mixed,
    check_weight,
    class_list,
    sorted_order,
)

if TYPE_CHECKING:
    from suffice.engines import Engine
    from suffice.estimators.classifier import GenerativeClassifier
    from suffice.estimators.mixture import Mixture


@dataclass(frozen=True)
class Prepared:
    """What EM starts from: the components with their priors, the rows on an engine, and the first model."""

    components: Components
    engine: Engine
    start: JointModel | Start
    n_rows: int = 0
    #: columns that are missing in every row, which the sums of covariances do not show
    never_seen: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Learned:
    """The result of EM for a classifier, and the priors that it used."""

    statistics: ModelStatistics
    priors: Sequence[PriorSpec]
    outcome: em.Outcome[JointModel, JointStatistics]
    #: columns that are missing in every row, which the sums of covariances do not show
    never_seen: frozenset[int] = frozenset()


def named_classes(classes: Any) -> NDArray[Any] | None:
    """Return the classes named by the user, sorted; an integer k names 0, …, k − 1; None if there are none."""
    if classes is None:
        return None
    if isinstance(classes, (int, np.integer)) and not isinstance(classes, bool):
        if classes < 2:
            raise ValueError(f"a classifier needs two classes or more, but classes={classes}")
        return np.arange(int(classes))
    listed = as_objects_if_mixed(classes)
    return listed[sorted_order(class_list(listed))]


def require_classes(statistics: ModelStatistics, *, missing: bool) -> None:
    """Raise ValueError unless there are two classes and, if labels are missing, labelled rows of each."""
    classes, count = class_list(statistics.classes), statistics.class_count
    empty = [label for label, weight in zip(classes, count, strict=True) if weight == 0]
    if empty and missing:
        raise ValueError(
            f"the class {empty[0]!r} was named, but no labelled row has it, so it is not known which of the "
            f"unlabelled rows belong to it; label one of its rows, or leave it out of classes"
        )
    if len(classes) < 2:
        (only,) = classes
        raise ValueError(f"a classifier needs two classes or more, but y holds one class only: {only!r}")


def fit_partly_labelled(
    model: GenerativeClassifier, X: Any, y: Any, sample_weight: Any, labelled: ModelStatistics
) -> Learned:
    """Start from the labelled rows, and learn from all rows and cells by EM."""
    begun = start_partly_labelled(model, X, y, sample_weight, labelled)
    outcome = iterate(model, begun.components, begun.engine, begun.start)
    statistics = ModelStatistics(labelled.classes, labelled.schema, outcome.statistics, declared=True)
    return Learned(statistics, begun.components.priors, outcome, begun.never_seen)


def start_partly_labelled(
    model: GenerativeClassifier, X: Any, y: Any, sample_weight: Any, labelled: ModelStatistics
) -> Prepared:
    """Return the model of the labelled rows, and all rows on an engine."""
    known = known_labels(model, labelled.classes)
    schema = labelled.schema
    coder = LabelCoder(labelled.classes, declared=True, missing_label=model.missing_label, again=True)
    first = first_sums(schema, labelled.joint, lambda simple: model._gather(X, y, sample_weight, coder, simple).joint)
    if first.missing:
        labelled = ModelStatistics(labelled.classes, schema, first.statistics, labelled.declared)
    # a column that is missing in all labelled rows may be observed in the others, which are not in these sums
    unknown: frozenset[int] = frozenset() if coder.n_missing else first.never_seen
    engine = passes.engine(X, y, sample_weight, schema, known, n_jobs=model.n_jobs)
    everything: Sequence[Any] = [None] * len(schema.blocks)
    # constant columns may vary in the unlabelled rows
    if has_constant_columns(labelled.joint) or any(block.family.needs_all_rows for block in schema.blocks):
        everything = engine.reduce(learn_as_one, uncorrelated(schema)).blocks
    priors = [
        block.family.fixed_prior(sums, model._prior, of_all)
        for block, sums, of_all in zip(schema.blocks, labelled.joint.blocks, everything, strict=True)
    ]
    priors = [*model._at_mode(schema, labelled.joint, priors)]
    components = model._components(schema, labelled.classes, priors, missing=first.missing)
    return Prepared(components, engine, components.estimate(labelled.joint), never_seen=unknown)


def known_labels(
    model: GenerativeClassifier, classes: NDArray[Any], *, again: bool = True
) -> Callable[[Any, Any, int, int], PartialLabels]:
    """Return the function that reads labels and weights in every pass of EM; `again` if they were read before."""
    weight = float(model.unlabeled_weight)
    if not 0 <= weight < np.inf:
        raise ValueError(f"unlabeled_weight must be a number of at least 0, not {model.unlabeled_weight!r}")
    coder = LabelCoder(classes, declared=True, missing_label=model.missing_label, again=again)

    def known(labels: Any, weights: Any, n_rows: int, start: int) -> PartialLabels:
        return coder.partial(labels, weights, n_rows, start, unlabeled_weight=weight)

    return known


def nothing_known(k: int) -> Callable[[Any, Any, int, int], PartialLabels]:
    """Return the function that reads the weights of rows that may belong to any of k components."""

    def known(_: Any, weight: Any, n_rows: int, start: int) -> PartialLabels:
        return PartialLabels(None, check_weight(weight, n_rows, start), k, n_rows)

    return known


def find_classes(model: GenerativeClassifier, X: Any, sample_weight: Any, classes: NDArray[Any]) -> Learned:
    """Learn the classes as the components of a mixture, if no row has a label."""
    mixture = mixture_of_classes(model, len(classes))
    begun = mixture._start(X, sample_weight)
    outcome = iterate(mixture, begun.components, begun.engine, begun.start)
    labels = as_class_array(class_list(classes), classes.dtype)
    statistics = ModelStatistics(labels, begun.components.schema, outcome.statistics, declared=True)
    return Learned(statistics, begun.components.priors, outcome)


def mixture_of_classes(model: GenerativeClassifier, k: int) -> Mixture:
    """Return the mixture, with the settings of a classifier, whose components become its classes."""
    from suffice.estimators.mixture import Mixture

    return Mixture(k, model.families, model.covariance, model._prior, unseen=model.unseen, **model._em_settings())


def iterate(
    model: Any, components: Components, engine: Any, start: JointModel | Start
) -> em.Outcome[JointModel, JointStatistics]:
    """Run EM with the settings of an estimator, and warn if it did not converge.

    After Ctrl-C, the outcome is the best so far: a caller that keeps it has to call `interrupts.end_early`.
    """
    with progress_line(model.verbose, model.max_iter, model.tol) as watch:
        try:
            begun = start if isinstance(start, Start) else Start(components.problem(engine), start)
            accelerate = accelerates(model.acceleration)
            outcome = begun.finish(model.max_iter, model.tol, accelerate=accelerate, watch=watch)
        except Interrupted as stop:
            outcome = stop.outcome
    if not outcome.converged and not outcome.interrupted and model.max_iter > 1:
        warn_user(
            f"EM did not converge in {model.max_iter} iterations (the bound still rises); raise max_iter or tol",
            ConvergenceWarning,
        )
    return outcome
