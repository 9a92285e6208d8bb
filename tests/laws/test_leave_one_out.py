"""Leave-one-out equals refitting without the row: every family, structure, estimate, weight and missing value.

What an estimate takes from the data besides the sums of the classes stays as it is for all rows, so the refits here have
the prior of all rows, with its data-scaled parts as numbers.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import suffice
from suffice import (
    BetaPrior,
    Categorical,
    DirichletPrior,
    GammaPrior,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    KnownVariance,
    LogNormal,
    NaiveBayes,
    NormalInverseWishart,
    PseudoCount,
    Text,
    stream,
)
from suffice.errors import EstimateError
from suffice.families.gaussian.covariance import STRUCTURES, GivenCovariance, GivenDiagonal, GivenSphere
from suffice.families.gaussian.covariance.constant import resolved
from suffice.models.joint import JointModel, log_joint_scores, log_posterior
from suffice.engines.base import Chunk
from suffice.models.schema import Encoder
from suffice.posteriors.normal_inverse_wishart import AUTOMATIC
from suffice.statistics.responsibilities import Labels
from suffice.tables.conversion import as_table

from .cases import BERNOULLI, CASES, CATEGORICAL, DIRICHLET, MULTINOMIAL, POISSON, EXPONENTIAL, LOG_NORMAL, Case, GaussianCase, Shape, each, law, shapes

TOLERANCE = {"rtol": 1e-8, "atol": 1e-8}


def encoded(model, X):
    return Encoder(model.schema_, grow=False).encode(model.schema_.as_table(X))


def without(model, X, y, weight, i):
    """Return the model fitted to all rows but i, with the prior, the values and the words of all rows."""
    blocks, codes = encoded(model, X), np.searchsorted(model.classes_, y)
    others = np.flatnonzero(np.arange(len(y)) != i)
    labels = Labels(codes[others], None if weight is None else weight[others], len(model.classes_))
    count = labels.totals()
    found = []
    for block, rows, sums in zip(model.schema_.blocks, blocks, model.statistics_.joint.blocks, strict=True):
        with np.errstate(invalid="ignore"):
            rest = block.family.statistics(rows[others], labels)
        if model.estimate == "predictive":
            found.append(block.family.posterior(rest, fixed(block.family, sums, model.prior)).predictives())
        else:
            found.append(block.family.estimate(rest, block.family.fixed_prior(sums, model._prior)))
    more = model._counted_before
    log_prior = model._components(model.schema_, model.classes_, None).log_shares(count + more)
    return JointModel(model.schema_, log_prior, tuple(found))


def fixed(family, sums, prior):
    """Return the prior of a predictive with its data-scaled parts as numbers."""
    if isinstance(prior, list):
        return prior
    inner = family.inner if isinstance(family, LogNormal) else family
    if isinstance(inner, Gaussian):
        if isinstance(prior, NormalInverseWishart) and prior.scatter is not None and prior.mean is not None:
            return prior
        if isinstance(prior, KnownVariance):
            return prior if prior.mean is not None else KnownVariance(prior.variance, sums.total_mean(), prior.count)
        return resolved(inner.structure, sums, prior if isinstance(prior, NormalInverseWishart) else AUTOMATIC)
    if family.name in ("poisson", "exponential") and not isinstance(prior, GammaPrior):
        posterior = family.posterior(sums, prior)
        return GammaPrior(*posterior._before)
    return prior


def refits(model, X, y, weight=None):
    """Return log p(c | x_i) by the model without row i."""
    blocks, answers = encoded(model, X), []
    for i in range(len(y)):
        joint = without(model, X, y, weight, i)
        rows = tuple(block[i : i + 1] for block in blocks)
        answers.append(log_posterior(Chunk(rows), joint)[0])
    return np.array(answers)


def assert_law(model, X, y, weight=None):
    expected = refits(model, X, y, weight)
    np.testing.assert_allclose(model.loo_log_proba(X, y, weight), expected, **TOLERANCE)
    evidence = model.loo_evidence(X, y, weight)
    assert evidence.shape == (len(y), len(model.evidence_columns_), len(model.classes_))
    if np.isfinite(evidence).all():
        codes, weights = np.searchsorted(model.classes_, y), np.ones(len(y)) if weight is None else weight
        count = np.bincount(codes, weights=weights, minlength=len(model.classes_))
        counts = count[None] - np.eye(len(count))[codes] * weights[:, None]
        counts[np.abs(counts) < 1e-9] = 0.0
        log_shares = model._components(model.schema_, model.classes_, None).log_shares
        prior = np.array([log_shares(row + model._counted_before) for row in counts])
        joint = evidence.sum(1) + prior
        found = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        np.testing.assert_allclose(found, expected, **TOLERANCE)


def wide(case: Case) -> GenerativeClassifier:
    return case.model()


ALL = [*CASES, *(GaussianCase(f"gaussian-{name}", Gaussian(name)) for name in STRUCTURES if f"gaussian-{name}" not in {c.name for c in CASES})]
#: structures that are estimated by iteration, one fit per row
SLOW = {"gaussian-VEI", "gaussian-EVI", "gaussian-VEE", "gaussian-EVE", "gaussian-VVE", "gaussian-EEV", "gaussian-VEV", "gaussian-EVV"}


@each(ALL)
@law
@given(shape=shapes(3))
def test_it_is_the_fit_without_the_row(case: Case, shape: Shape):
    X, y = case.table(shape)
    if case.name in SLOW:
        X, y = X[:12], np.arange(len(X[:12])) % 2
    assert_law(case.model().fit(X, y), X, y)


@each([case for case in CASES if case.name not in SLOW])
@law
@given(shape=shapes(3))
def test_a_row_leaves_with_its_weight(case: Case, shape: Shape):
    X, y = case.table(shape)
    weight = shape.rng.choice([0.0, 0.5, 1.0, 2.5], size=len(y))
    weight[np.unique(y, return_index=True)[1]] = 1.5
    assert_law(case.model().fit(X, y, weight), X, y, weight)
