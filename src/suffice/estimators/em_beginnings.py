"""Where EM begins: the rows of an estimator on an engine, and the parameters it starts from."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.estimators.classifier import GenerativeClassifier
from suffice.estimators.mixture import Mixture
from suffice.estimators.partly_labelled import (
    Prepared,
    known_labels,
    mixture_of_classes,
    nothing_known,
    start_partly_labelled,
)
from suffice.estimators.subclasses import components_of_classes, start_components_of_classes
from suffice.models import passes
from suffice.models.missing import learn_known, lifted, uncorrelated
from suffice.optimize import em
from suffice.priors import PriorSpec
from suffice.statistics.responsibilities import PartialLabels
from suffice.tables.labels import LabelCoder, NoLabels, check_weight
from suffice.tables.sources import Source

Estimator = Mixture | GenerativeClassifier


def begin(
    model: Estimator, X: Any, y: Any, sample_weight: Any, *, given: bool = False
) -> tuple[Prepared, NDArray[Any]]:
    """Return what EM starts from, and the names of the classes or components.

    A fitted model starts from its parameters, another where `fit` starts. With `given`, `y` holds the responsibilities
    of all rows.
    """
    passes.require_alone(X, y, sample_weight)
    if isinstance(model, Mixture):
        if not (y is None or given):
            raise ValueError("a mixture has no labels, but y was given; pass it to a classifier, such as NaiveBayes")
        model._check_parameters()
        size = len(model.weights_) if is_fitted(model) else model._size
        return _begin_mixture(model, X, sample_weight, _given_shares(y, size) if given else None), np.arange(size)
    if model.estimate == "predictive":
        raise ValueError("EM estimates parameters, and estimate='predictive' averages over them; use estimate='map'")
    return _begin_classifier(model, X, y, sample_weight)


def _begin_mixture(model: Mixture, X: Any, sample_weight: Any, known: Any) -> Prepared:
    """Return what EM starts from; `known` reads the given responsibilities, if there are any."""
    if not is_fitted(model):
        return model._start(X, sample_weight)
    start = model._joint
    components = vars(model).get("_fitted_components")
    if components is None:  # loaded, or of given parameters: the parts that the prior takes from the rows are of these
        components = model._components(start.schema, _priors_of_rows(model, X, sample_weight), missing=True)
    _require_columns(model, X)
    known = nothing_known(len(start.log_prior)) if known is None else known
    engine = passes.engine(X, None, sample_weight, components.schema, known, n_jobs=model.n_jobs)
    return Prepared(components, engine, start)


def _priors_of_rows(model: Mixture, X: Any, sample_weight: Any) -> list[PriorSpec]:
    """Return the prior of each block, with its data-dependent parts taken from the rows."""
    schema = model._joint.schema
    if model.prior is None:
        return [None] * len(schema.blocks)
    _require_columns(model, X)
    overall = passes.gather(X, None, sample_weight, schema_of=lambda _: schema, coder=NoLabels(), n_jobs=model.n_jobs)
    return [
        block.family.prior_of_components(sums, model.prior, len(model.weights_))
        for block, sums in zip(schema.blocks, overall.joint.blocks, strict=True)
    ]


def _begin_classifier(model: GenerativeClassifier, X: Any, y: Any, sample_weight: Any) -> tuple[Prepared, NDArray[Any]]:
    """Return what EM starts from, and the classes."""
    if is_fitted(model):
        known, start = model.statistics_, model._joint
        priors = model._priors
        if priors is None:  # fixed by the rows that the model has learned from
            pairs = zip(known.schema.blocks, known.joint.blocks, strict=True)
            priors = [block.family.fixed_prior(sums, model._prior) for block, sums in pairs]
        components = model._components(known.schema, known.classes, priors, known.class_of, missing=True)
        _require_columns(model, X)
        reads = known_labels(model, known.classes, again=False)
        engine = passes.engine(X, y, sample_weight, known.schema, reads, n_jobs=model.n_jobs)
        return Prepared(components, engine, start), known.classes
    found = model._of_labelled(X, y, sample_weight)
    if not isinstance(found, tuple):
        return mixture_of_classes(model, len(found))._start(X, sample_weight), found
    labelled, coder = found
    sizes = components_of_classes(model.n_components, labelled.classes)
    if sizes.max() > 1:
        begun, _ = start_components_of_classes(model, X, y, sample_weight, labelled, sizes, coder.n_rows)
        return begun, labelled.classes
    return start_partly_labelled(model, X, y, sample_weight, labelled), labelled.classes


def first_of_mixture(model: Mixture, X: Any, R: Any, sample_weight: Any) -> Mixture:
    """Return the mixture estimated from responsibilities; covariances of incomplete rows treat columns as unrelated."""
    passes.require_alone(X, R, sample_weight)
    components, _, n_rows = model._prepare(X, sample_weight)
    schema = components.schema
    engine = passes.engine(X, R, sample_weight, schema, _given_shares(R, model._size), n_jobs=model.n_jobs)
    statistics = engine.reduce(learn_known, uncorrelated(schema) if components.missing else schema)
    if components.missing:
        statistics = lifted(statistics, schema)
    outcome = em.Outcome(components.estimate(statistics), statistics)
    return copy.copy(model)._adopt(components, outcome, n_rows)


def _given_shares(R: Any, k: int) -> Callable[[Any, Any, int, int], PartialLabels]:
    """Return the function that reads responsibilities, or the numbers of the components, and weights."""
    coder = LabelCoder(np.arange(k), declared=True)

    def known(labels: Any, weight: Any, n_rows: int, start: int) -> PartialLabels:
        if k == 1:
            return PartialLabels(np.zeros(n_rows, dtype=np.intp), check_weight(weight, n_rows, start), 1, n_rows)
        return coder.partial(R if labels is None else labels, weight, n_rows, start)

    return known


def is_fitted(model: Estimator) -> bool:
    """Return whether a model has parameters."""
    return "statistics_" in vars(model)


def _require_columns(model: Estimator, X: Any) -> None:
    if not isinstance(X, Source):
        model.schema_.check(model.schema_.as_table(X), type(model).__name__, extra=True)


def require_estimator(model: Any) -> None:
    """Raise TypeError unless EM can learn the model."""
    if not isinstance(model, (Mixture, GenerativeClassifier)):
        raise TypeError(
            f"EM is that of a mixture or a generative classifier, such as Mixture, SoftKMeans, NaiveBayes or "
            f"GaussianDiscriminant, but the model is {model!r:.80}"
        )
