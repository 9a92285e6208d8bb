"""The joint model p(x, y) = p(y) p(x | y), and the kernels that learn and score it a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, to_float64
from suffice.engines.base import Chunk
from suffice.errors import InvalidCellError
from suffice.families import Distributions
from suffice.responsibilities import PartialLabels, Responsibilities
from suffice.schema import Block, Schema
from suffice.statistics import JointStatistics


@dataclass(frozen=True, eq=False)
class JointModel:
    """What is estimated: log p(y), and for each block of columns its distributions given y."""

    schema: Schema
    log_prior: FloatArray
    distributions: tuple[Distributions, ...]

    def parts(self, chunk: Chunk) -> Iterator[tuple[Block, Distributions, Any]]:
        """Yield each block with its distributions and its rows."""
        return zip(self.schema.blocks, self.distributions, chunk.blocks, strict=True)


def learn(chunk: Chunk, schema: Schema) -> JointStatistics:
    """Kernel: S = Rᵀ φ(x) of one chunk."""
    assert isinstance(chunk.responsibilities, Responsibilities)
    blocks = []
    for block, rows in zip(schema.blocks, chunk.blocks, strict=True):
        try:
            with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is looked into there
                blocks.append(block.family.statistics(rows, chunk.responsibilities))
        except InvalidCellError as error:
            raise error.named(block.columns, schema.labels) from None
    return JointStatistics(chunk.responsibilities.totals(), tuple(blocks))


@dataclass(frozen=True, eq=False)
class Expectation:
    """What one pass of EM gives: the expected statistics, and the log-likelihood of the model that they are under."""

    statistics: JointStatistics
    log_likelihood: float

    def __add__(self, other: Expectation) -> Expectation:
        return Expectation(self.statistics + other.statistics, self.log_likelihood + other.log_likelihood)


def expect(chunk: Chunk, model: JointModel) -> Expectation:
    """Kernel: the posterior of the classes of each row, and S = Rᵀ φ(x) under it."""
    known = chunk.responsibilities
    assert isinstance(known, PartialLabels)
    if known.unknown and len(model.distributions) == 1:
        found = model.distributions[0].mixture_pass(chunk.blocks[0], known.weight, model.log_prior)
        if found is not None:
            count, statistics, log_likelihood = found
            return Expectation(JointStatistics(count, (statistics,)), log_likelihood)
    posterior, log_likelihood = known.expect(log_joint(chunk, model))
    blocks = []
    for block, distributions, rows in model.parts(chunk):
        try:
            with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is looked into there
                blocks.append(distributions.expected_statistics(rows, posterior))
        except InvalidCellError as error:
            raise error.named(block.columns, model.schema.labels) from None
    return Expectation(JointStatistics(posterior.totals(), tuple(blocks)), log_likelihood)


def log_joint(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: log p(x, c) = log p(c) + Σ over blocks of log p(x | c), n×k."""
    return log_joint_scores(chunk, model, common=True)


def log_posterior(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: log p(c | x), n×k; where every class says x is impossible, the class prior is all there is."""
    joint = _above_the_largest(_block_scores(chunk, model, common=False), model)
    joint -= np.log(np.exp(joint).sum(axis=0))
    return joint.T


def posterior(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: p(c | x), n×k."""
    scores = _block_scores(chunk, model, common=False)
    probabilities = compiled.posterior(scores, model.log_prior, chunk.out)
    if probabilities is not None:
        return probabilities
    joint = _above_the_largest(scores, model)
    np.exp(joint, out=joint)
    joint /= joint.sum(axis=0)
    return joint.T


def most_probable(chunk: Chunk, model: JointModel) -> IntArray:
    """Kernel: the number of the most probable class, (n,); by the prior where every class says x is impossible."""
    scores = _block_scores(chunk, model, common=False)
    numbers = compiled.most_probable(scores, model.log_prior, chunk.out)
    if numbers is not None:
        return numbers
    # a class at a time: NumPy's argmax over few classes of many rows takes longer than the scores
    best, highest = np.zeros(len(scores), dtype=np.intp), scores[:, 0] + model.log_prior[0]
    for c in range(1, scores.shape[1]):
        score = scores[:, c] + model.log_prior[c]
        best[score > highest] = c
        np.maximum(highest, score, out=highest)
    best[np.isneginf(highest)] = np.argmax(model.log_prior)
    return best


def _above_the_largest(scores: FloatArray, model: JointModel) -> FloatArray:
    """Return log p(x, c) less its maximum over the classes, k×n: reductions are fast across, not along, few classes."""
    joint = scores.T + model.log_prior[:, None]
    largest = joint.max(axis=0)
    if not np.isfinite(largest).all():
        joint = np.where(np.isneginf(largest), model.log_prior[:, None], joint)
        largest = joint.max(axis=0)
    joint -= largest
    return joint


def log_evidence(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: log p(x) = log Σ_c p(x, c), (n,)."""
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_joint_scores(chunk, model, common=True), axis=1))


def log_joint_scores(chunk: Chunk, model: JointModel, *, common: bool) -> FloatArray:
    """Return log p(x, c), n×k; without what all classes share unless `common`."""
    return _block_scores(chunk, model, common=common) + model.log_prior


def _block_scores(chunk: Chunk, model: JointModel, *, common: bool) -> FloatArray:
    """Return Σ over blocks of log p(x | c), n×k."""
    total: Array = None
    for block, distributions, rows in model.parts(chunk):
        try:
            with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is looked into there
                scores = distributions.score(rows, common)
        except InvalidCellError as error:
            raise error.named(block.columns, model.schema.labels) from None
        total = scores if total is None else total + _in_library_of(scores, total)
    return to_float64(total)


def _in_library_of(scores: Array, total: Array) -> Array:
    """Return scores in the library of those before, for blocks may differ (codes are integers)."""
    if type(scores) is type(total):
        return scores
    return as_like(to_float64(scores), total)


@dataclass(frozen=True)
class Comparison:
    """Which two classes to compare, for each row."""

    model: JointModel
    target: IntArray
    against: IntArray


def log_odds_terms(chunk: Chunk, pairs: Comparison) -> FloatArray:
    """Kernel: the log-odds of each row's two classes, split into a baseline and its columns, n×(1 + d)."""
    model, here = pairs.model, slice(chunk.start, chunk.start + len(chunk))
    a, b = pairs.target[here], pairs.against[here]
    split = np.zeros((len(chunk), 1 + model.schema.n_columns))
    split[:, 0] = model.log_prior[a] - model.log_prior[b]
    for block, distributions, rows in model.parts(chunk):
        with np.errstate(invalid="ignore"):
            terms, left = distributions.log_ratio(rows, a, b)
        terms = np.where(np.isnan(terms), 0.0, terms)  # impossible under both: no reason to prefer either
        split[:, [1 + column for column in block.columns]] = terms
        split[:, 0] += left
    return split
