"""Kernels of leave-one-out: each row is scored by the model that was fitted to all rows but this one.

Sums subtract, so the model without row i is estimated from S − w_i φ(x_i), class probabilities included. Its families
say how (`Family.left_out`). What they take from all rows besides the sums of the classes stays: the data-scaled parts
of priors, the values of categories and words, and which columns are constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, issparse, to_float64, to_numpy
from suffice.engines.base import Chunk
from suffice.errors import InvalidCellError
from suffice.families.codes import Codes
from suffice.families.left_out import LeftOut, Own
from suffice.models.schema import Block, Schema
from suffice.statistics.base import NotContainedError
from suffice.statistics.responsibilities import PartialLabels
from suffice.tables.words import Bags


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What is needed to score rows by the model without each of them.

    Parameters
    ----------
    schema : Schema
    class_count : array of shape (k,)
        The weight of the classes.
    log_prior : callable
        Returns log p(c), n×k, from weights of the classes, n×k.
    parts : tuple of LeftOut
        One per block.
    """

    schema: Schema
    class_count: FloatArray
    log_prior: Callable[[FloatArray], FloatArray]
    parts: tuple[LeftOut, ...]

    def columns(self) -> list[tuple[int, ...]]:
        """Return the columns of each entry of the evidence, in its order."""
        found: list[tuple[int, ...]] = []
        for block, part in zip(self.schema.blocks, self.parts, strict=True):
            found += [(column,) for column in block.columns] if part.by_column else [block.columns]
        return found

    def of(self, chunk: Chunk) -> Iterator[tuple[Block, LeftOut, Any]]:
        """Yield each block with its part and its rows, as NumPy or SciPy arrays."""
        for block, part, rows in zip(self.schema.blocks, self.parts, chunk.blocks, strict=True):
            yield block, part, _local(rows)

    def own(self, chunk: Chunk) -> Own:
        """Return the class of each row, with the weight that leaves the sums; 0 for rows without a label."""
        known = chunk.responsibilities
        assert isinstance(known, PartialLabels)
        codes = known.most_probable()
        weight = np.ones(len(chunk)) if known.weight is None else known.weight
        return Own(np.where(codes < 0, 0, codes), np.where(codes < 0, 0.0, weight))

    def class_prior(self, own: Own) -> FloatArray:
        """Return log p(c) without each row, k×n."""
        k = len(self.class_count)
        if (own.weight == own.weight[0]).all():  # one answer per class
            every = Own(np.arange(k), own.weight[:1].repeat(k))
            met = np.bincount(own.codes, minlength=k) > 0
            every.weight[~met] = 0.0
            return np.take(self._class_prior(every, own), own.codes, axis=1)
        return self._class_prior(own, own)

    def _class_prior(self, left_out: Own, own: Own) -> FloatArray:
        """Return log p(c) without a row of each class and weight of `left_out`, k×m; `own` are the rows themselves."""
        count = np.repeat(self.class_count[None], len(left_out), axis=0)
        places = np.arange(len(left_out))
        before = count[places, left_out.codes]
        left = before - left_out.weight
        bad = left < -1e-9 * (before + left_out.weight)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            row = first if left_out is own else int(np.flatnonzero(own.codes == left_out.codes[first])[0])
            raise NotContainedError(row, float(left[first]))
        count[places, left_out.codes] = np.where(left > 1e-9 * before, left, 0.0)
        if (count.sum(1) <= 0).any():
            raise ValueError(
                "leave-one-out needs at least two rows with a positive weight, but one row has all of it; there is no "
                "model without it"
            )
        return self.log_prior(count).T


def loo_log_posterior(chunk: Chunk, model: LeaveOneOut) -> FloatArray:
    """Kernel: log p(c | x_i) by the model without row i, n×k.

    A cell that has probability 0 in every class is ignored; if the other cells together rule out every class, the
    posterior is the class prior.
    """
    own = model.own(chunk)
    with _Naming(chunk, model):
        prior = model.class_prior(own)
    total: FloatArray | None = None
    for block, part, rows in model.of(chunk):
        with _Naming(chunk, model, block):
            scores = part.scores(rows, own)
        total = scores if total is None else total + scores
    assert total is not None
    # k×n: reductions over few classes are faster than along short rows
    joint = np.asarray(total.T + prior)
    largest = joint.max(axis=0)
    if not np.isfinite(largest).all():
        joint = np.where(np.isneginf(largest), prior, joint)
        largest = joint.max(axis=0)
    joint -= largest
    joint -= np.log(np.exp(joint).sum(axis=0))
    return joint.T


def loo_evidence(chunk: Chunk, model: LeaveOneOut) -> FloatArray:
    """Kernel: log p(x_i | c) of each column or block by the model without row i, n×b×k."""
    own = model.own(chunk)
    with _Naming(chunk, model):
        model.class_prior(own)
    parts = []
    for block, part, rows in model.of(chunk):
        with _Naming(chunk, model, block):
            parts.append(part.cells(rows, own))
    return np.concatenate(parts, axis=1)


def _local(rows: Any) -> Any:
    """Return the rows of a block as NumPy or SciPy arrays, whatever library they are of."""
    if isinstance(rows, Codes):
        return Codes(to_numpy(rows.codes), rows.sizes)
    return rows if isinstance(rows, Bags) or issparse(rows) else to_float64(rows)


class _Naming:
    """A context in which errors about a row or a cell get the number of the row and the name of the column."""

    def __init__(self, chunk: Chunk, model: LeaveOneOut, block: Block | None = None) -> None:
        self._start = chunk.start
        self._schema = model.schema
        self._block = block
        self._quiet = np.errstate(invalid="ignore", over="ignore")

    def __enter__(self) -> None:
        self._quiet.__enter__()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._quiet.__exit__(kind, error, traceback)
        if isinstance(error, InvalidCellError) and self._block is not None:
            raise error.named(self._block.columns, self._schema.column_labels) from None
        if isinstance(error, NotContainedError):
            raise ValueError(
                f"leave-one-out takes each row out of the sums that it was learned in, but row {self._start + error.c} "
                f"is not in those of its class; pass the rows that the model was fitted to, with their labels and "
                f"weights, and score other rows by predict_log_proba"
            ) from None
