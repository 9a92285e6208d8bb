"""The joint model p(x, y) = p(y) p(x | y), and the kernels that learn and score it chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, to_float64
from suffice.engines.base import Chunk
from suffice.errors import InvalidCellError
from suffice.families import Distributions
from suffice.models.schema import Block, Schema
from suffice.statistics.joint import JointStatistics
from suffice.statistics.responsibilities import PartialLabels, Responsibilities, SoftLabels


@dataclass(frozen=True, eq=False)
class JointModel:
    """The estimated parameters: log p(y), and for each block of columns its distributions given y.

    If a class has several components, p(x | c) = Σ_m p(m | c) p(x | c, m), then `log_prior` and the distributions are
    those of the components, and `class_of` gives the class of each component.
    """

    schema: Schema
    log_prior: FloatArray
    distributions: tuple[Distributions, ...]
    #: the class number of each component, (m,), in increasing order; None if every class has one component
    class_of: IntArray | None = None

    @property
    def components(self) -> JointModel:
        """The same model with every component as a class of its own."""
        return self if self.class_of is None else replace(self, class_of=None)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_log_prior)

    @cached_property
    def class_log_prior(self) -> FloatArray:
        """The logarithm of the class probabilities, (k,)."""
        return self.log_prior if self.class_of is None else log_sums(self.log_prior[None], self.class_of)[0]

    @cached_property
    def rules_out(self) -> bool:
        """Whether some values have probability 0 in some class."""
        return any(part.rules_out for part in self.distributions)

    @cached_property
    def log_shares(self) -> FloatArray:
        """The logarithm of each component's share of its class, (m,); equal shares if the class has probability 0."""
        if self.class_of is None:
            return np.zeros(len(self.log_prior))
        of_class = self.class_log_prior[self.class_of]
        with np.errstate(invalid="ignore"):
            return np.where(
                np.isneginf(of_class), -np.log(np.bincount(self.class_of))[self.class_of], self.log_prior - of_class
            )

    def given_class(self, joint: FloatArray) -> FloatArray:
        """Return log p(m | x, c), n×m, from log p(x, m); log p(m | c) where x has probability 0 in the class."""
        assert self.class_of is not None
        total = log_sums(joint, self.class_of)[:, self.class_of]
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(total), self.log_shares, joint - total)

    def parts(self, chunk: Chunk) -> Iterator[tuple[Block, Distributions, Any]]:
        """Yield each block with its distributions and its rows."""
        return zip(self.schema.blocks, self.distributions, chunk.blocks, strict=True)


def learn(chunk: Chunk, schema: Schema) -> JointStatistics:
    """Kernel: S = Rᵀ φ(x) of one chunk."""
    assert isinstance(chunk.responsibilities, Responsibilities)
    blocks = []
    for block, rows in zip(schema.blocks, chunk.blocks, strict=True):
        try:
            with np.errstate(invalid="ignore", over="ignore"):  # the family checks for non-finite results
                blocks.append(block.family.statistics(rows, chunk.responsibilities))
        except InvalidCellError as error:
            raise error.named(block.columns, schema.column_labels) from None
    return JointStatistics(chunk.responsibilities.totals(), tuple(blocks))


@dataclass(frozen=True, eq=False)
class Expectation:
    """The result of one pass of EM: the expected statistics under a model, and the log-likelihood of that model."""

    statistics: JointStatistics
    log_likelihood: float

    @property
    def weight(self) -> float:
        """The sum of the row weights."""
        return float(self.statistics.class_count.sum())

    def __add__(self, other: Expectation) -> Expectation:
        return Expectation(self.statistics + other.statistics, self.log_likelihood + other.log_likelihood)


def expect(chunk: Chunk, model: JointModel) -> Expectation:
    """Kernel: the expected statistics S = Rᵀ φ(x), with R the posterior of the classes of each row."""
    known = chunk.responsibilities
    assert isinstance(known, PartialLabels)
    if known.unknown and len(model.distributions) == 1:
        found = model.distributions[0].mixture_pass(chunk.blocks[0], known.weight, model.log_prior)
        if found is not None:
            count, statistics, log_likelihood = found
            return Expectation(JointStatistics(count, (statistics,)), log_likelihood)
    posterior, log_likelihood = expected_classes(chunk, known, model)
    blocks = []
    for block, distributions, rows in model.parts(chunk):
        try:
            with np.errstate(invalid="ignore", over="ignore"):  # the family checks for non-finite results
                blocks.append(distributions.expected_statistics(rows, posterior))
        except InvalidCellError as error:
            raise error.named(block.columns, model.schema.column_labels) from None
    return Expectation(JointStatistics(posterior.totals(), tuple(blocks)), log_likelihood)


def expected_classes(chunk: Chunk, known: PartialLabels, model: JointModel) -> tuple[SoftLabels, float]:
    """Return the posterior of the classes, or of their components, times the row weights, and the log-likelihood."""
    joint = log_joint_scores(chunk, model, common=True)
    posterior, log_likelihood = _expected_classes(known, joint, model)
    if model.rules_out and np.isneginf(joint).all(axis=1).any():
        # cells with probability 0 in every class carry no information on it, but make the log-likelihood −∞
        posterior, _ = _expected_classes(known, log_joint_scores(chunk, model, common=False), model)
    return posterior, log_likelihood


def _expected_classes(known: PartialLabels, joint: FloatArray, model: JointModel) -> tuple[SoftLabels, float]:
    if model.class_of is None:
        return known.expect(joint)
    # p(m | x, y) = p(c | x, y) p(m | x, c)
    classes, log_likelihood = known.expect(log_sums(joint, model.class_of))
    return SoftLabels(classes.weights[:, model.class_of] * np.exp(model.given_class(joint))), log_likelihood


def log_joint(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: log p(x, c) = log p(c) + Σ over blocks of log p(x | c), n×k."""
    joint = log_joint_scores(chunk, model, common=True)
    return joint if model.class_of is None else log_sums(joint, model.class_of)


def log_posterior(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: log p(c | x), n×k.

    A cell that has probability 0 in every class is ignored; if the other cells together rule out every class, the
    posterior is the class prior.
    """
    return _log_posterior_of(*_class_scores(chunk, model), chunk.out)


def posterior(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: p(c | x), n×k."""
    return _posterior_of(*_class_scores(chunk, model), chunk.out)


def most_probable(chunk: Chunk, model: JointModel) -> IntArray:
    """Kernel: the number of the most probable class, (n,); by the prior if x has probability 0 in every class."""
    return _most_probable_of(*_class_scores(chunk, model), chunk.out)


def _log_posterior_of(scores: FloatArray, log_prior: FloatArray, out: Any) -> FloatArray:
    joint = _above_the_largest(scores, log_prior)
    joint -= np.log(np.exp(joint).sum(axis=0))
    return joint.T


def _posterior_of(scores: FloatArray, log_prior: FloatArray, out: Any) -> FloatArray:
    probabilities = compiled.posterior(scores, log_prior, out)
    if probabilities is not None:
        return probabilities
    joint = _above_the_largest(scores, log_prior)
    np.exp(joint, out=joint)
    joint /= joint.sum(axis=0)
    return joint.T


def _most_probable_of(scores: FloatArray, log_prior: FloatArray, out: Any) -> IntArray:
    numbers = compiled.most_probable(scores, log_prior, out)
    if numbers is not None:
        return numbers
    # loop over the classes: NumPy's argmax over few classes of many rows takes longer than computing the scores
    best, highest = np.zeros(len(scores), dtype=np.intp), scores[:, 0] + log_prior[0]
    for c in range(1, scores.shape[1]):
        score = scores[:, c] + log_prior[c]
        best[score > highest] = c
        np.maximum(highest, score, out=highest)
    best[np.isneginf(highest)] = np.argmax(log_prior)
    return best


#: the kernels that return a posterior or a class, each with the function that computes it from the class scores
POSTERIORS: dict[Callable[..., Any], Callable[..., Any]] = {
    posterior: _posterior_of,
    log_posterior: _log_posterior_of,
    most_probable: _most_probable_of,
}
IMPOSSIBLE_CELL, IMPOSSIBLE_ROW = 1.0, 2.0


def with_impossible(chunk: Chunk, params: tuple[Callable[..., Any], Any, JointModel]) -> FloatArray:
    """Kernel: the result of another kernel, with an extra column of 0, IMPOSSIBLE_CELL or IMPOSSIBLE_ROW per row.

    IMPOSSIBLE_CELL marks a row with a cell that has probability 0 in every class, which is ignored; IMPOSSIBLE_ROW
    marks a row whose other cells together rule out every class, so that its posterior is the class prior.
    """
    kernel, inner, model = params
    scores, log_prior = _class_scores(chunk, model)
    finish = POSTERIORS.get(kernel)
    answer = kernel(chunk, inner) if finish is None else finish(scores, log_prior, None)
    marks = np.where(np.isneginf(scores + log_prior).all(axis=1), IMPOSSIBLE_ROW, 0.0)
    for _, distributions, rows in model.parts(chunk):
        marks = np.maximum(marks, np.where(np.asarray(distributions.impossible_cells(rows)) > 0, IMPOSSIBLE_CELL, 0.0))
    return np.column_stack([answer, marks])


def _above_the_largest(scores: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Return log p(x, c) minus its maximum over the classes, k×n, a layout with fast reductions over few classes."""
    joint = scores.T + log_prior[:, None]
    largest = joint.max(axis=0)
    if not np.isfinite(largest).all():
        joint = np.where(np.isneginf(largest), log_prior[:, None], joint)
        largest = joint.max(axis=0)
    joint -= largest
    return joint


def log_evidence(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: log p(x) = log Σ_c p(x, c), (n,)."""
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_joint_scores(chunk, model, common=True), axis=1))


def log_likelihood(chunk: Chunk, model: JointModel) -> float:
    """Kernel: Σ log p(x, y), with log p(x) for rows without a label."""
    assert isinstance(chunk.responsibilities, PartialLabels)
    return chunk.responsibilities.expect(log_joint(chunk, model))[1]


def conditional_log_likelihood(chunk: Chunk, model: JointModel) -> float:
    """Kernel: Σ log p(y | x), with 0 for rows without a label."""
    assert isinstance(chunk.responsibilities, PartialLabels)
    return chunk.responsibilities.expect(log_posterior(chunk, model))[1]


def log_joint_scores(chunk: Chunk, model: JointModel, *, common: bool) -> FloatArray:
    """Return log p(x, c), n×k, or log p(x, m) of components; without terms common to all unless `common` is true."""
    return _block_scores(chunk, model, common=common) + model.log_prior


def log_sums(joint: FloatArray, class_of: IntArray) -> FloatArray:
    """Return the log-sum-exp over the components of each class, n×k, from logarithms per component, n×m."""
    first = np.flatnonzero(np.diff(class_of, prepend=-1))
    largest = np.maximum.reduceat(joint, first, axis=1)
    shift = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log(np.add.reduceat(np.exp(joint - shift[:, class_of]), first, axis=1)))


def _class_scores(chunk: Chunk, model: JointModel) -> tuple[FloatArray, FloatArray]:
    """Return log p(x | c), n×k, without terms common to all classes, and log p(c)."""
    scores = _block_scores(chunk, model, common=False)
    if model.class_of is None:
        return scores, model.log_prior
    return log_sums(scores + model.log_shares, model.class_of), model.class_log_prior


def _block_scores(chunk: Chunk, model: JointModel, *, common: bool) -> FloatArray:
    """Return Σ over blocks of log p(x | c), n×k."""
    total: Array = None
    for block, distributions, rows in model.parts(chunk):
        try:
            with np.errstate(invalid="ignore", over="ignore"):  # the family checks for non-finite results
                scores = distributions.score(rows, common)
        except InvalidCellError as error:
            raise error.named(block.columns, model.schema.column_labels) from None
        total = scores if total is None else total + _in_library_of(scores, total)
    return to_float64(total)


def _in_library_of(scores: Array, total: Array) -> Array:
    """Return the scores in the array library of `total`; blocks may use different ones (codes are integers)."""
    if type(scores) is type(total):
        return scores
    return as_like(to_float64(scores), total)


@dataclass(frozen=True)
class ClassPairs:
    """The two classes to compare in each row."""

    model: JointModel
    target: IntArray
    against: IntArray


def log_odds_terms(chunk: Chunk, pairs: ClassPairs) -> FloatArray:
    """Kernel: the log-odds of each row's two classes, split into a baseline and the columns, n×(1 + d).

    If classes have several components, log p(x, c) = log p(x, m) − log p(m | x, c) for every component m of class c,
    so each pair of a component m of a and a component l of b gives the log-odds. The pairs are averaged with weights
    p(m | x, a) p(l | x, b), and the logarithms of these two shares belong to the baseline.
    """
    model, here = pairs.model, slice(chunk.start, chunk.start + len(chunk))
    a, b = pairs.target[here], pairs.against[here]
    if model.class_of is None:
        return _log_odds_of_pairs(chunk, model, a, b)
    shares = model.given_class(log_joint_scores(chunk, model, common=False))
    split, rows = np.zeros((len(chunk), 1 + model.schema.n_columns)), np.arange(len(chunk))
    first = np.searchsorted(model.class_of, np.arange(model.n_classes))
    size = np.bincount(model.class_of)
    for i, j in np.ndindex(size.max(), size.max()):
        of_a, of_b = (first[c] + np.minimum(place, size[c] - 1) for c, place in ((a, i), (b, j)))
        share_a, share_b = shares[rows, of_a], shares[rows, of_b]
        weight = np.where((i < size[a]) & (j < size[b]), np.exp(share_a + share_b), 0.0)
        if weight.any():
            with np.errstate(invalid="ignore"):
                pair = _log_odds_of_pairs(chunk, model, of_a, of_b)
                pair[:, 0] += share_b - share_a
                split += np.where(weight[:, None] > 0, weight[:, None] * pair, 0.0)
    return split


def _log_odds_of_pairs(chunk: Chunk, model: JointModel, a: IntArray, b: IntArray) -> FloatArray:
    """Return the log-odds of two components of each row, split into a baseline and the columns."""
    split = np.zeros((len(chunk), 1 + model.schema.n_columns))
    split[:, 0] = model.log_prior[a] - model.log_prior[b]
    for block, distributions, rows in model.parts(chunk):
        with np.errstate(invalid="ignore"):
            terms, left = distributions.log_ratio(rows, a, b)
        terms = np.where(np.isnan(terms), 0.0, terms)  # impossible under both: no reason to prefer either
        split[:, [1 + column for column in block.columns]] = terms
        split[:, 0] += left
    return split
