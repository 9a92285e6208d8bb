"""Responsibilities R: which row belongs to which class, and with what weight.

A statistic only needs a few products with R, so hard labels never become an n×k matrix that outlives a chunk, and
rows are grouped by class where that is faster than multiplying by zeros.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from suffice import compiled
from suffice._arrays import (
    Array,
    FloatArray,
    IntArray,
    as_like,
    is_float,
    issparse,
    namespace,
    on_device_of,
    to_float64,
)


class Responsibilities(ABC):
    """An n×k matrix of weights, defined by its operations."""

    n_classes: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: slice | NDArray[np.bool_] | IntArray) -> Responsibilities: ...

    @abstractmethod
    def matrix(self, like: Array) -> Array:
        """Return R itself, n×k, in the library and float type of `like`."""

    @abstractmethod
    def row_weight(self, like: Array) -> Array | None:
        """Return Σ_c r_ic for each row; None if all are 1."""

    @abstractmethod
    def totals(self) -> FloatArray:
        """Return Σ_i r_ic, the weight of each class."""

    @abstractmethod
    def rows_of(self, centers: FloatArray, x: Array) -> Array | None:
        """Return the centre of the class of each row of `x`; None if a row may have several classes."""

    @abstractmethod
    def groups(self, x: Array) -> Iterator[tuple[int, Array, Array | None]]:
        """Yield the number of each class with any weight, its rows of `x` and their weights."""

    def sums(self, x: Array) -> FloatArray:
        """Return Rᵀ x, k×p, in float64."""
        if issparse(x):
            return np.asarray((x.T @ self.matrix(x)).T, dtype=np.float64)
        return to_float64(self.matrix(x).T @ x)


@dataclass
class Labels(Responsibilities):
    """One class per row: ``codes[i]`` is its number, ``weight[i]`` the weight of the row."""

    codes: IntArray
    weight: FloatArray | None
    n_classes: int
    _matrix: Array | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | NDArray[np.bool_] | IntArray) -> Labels:
        return Labels(self.codes[rows], None if self.weight is None else self.weight[rows], self.n_classes)

    def matrix(self, like: Array) -> Array:
        """Return R itself, n×k, which is cached because all blocks of a chunk use it."""
        if self._matrix is None or self._matrix.dtype != like.dtype:
            dtype = np.float32 if is_float(like, "float32") else np.float64
            one_hot = np.zeros((len(self), self.n_classes), dtype=dtype)
            one_hot[np.arange(len(self)), self.codes] = 1.0 if self.weight is None else self.weight
            self._matrix = one_hot if issparse(like) else as_like(one_hot, like)
        return self._matrix

    def row_weight(self, like: Array) -> Array | None:
        """Return the weight of each row."""
        return None if self.weight is None else as_like(self.weight, like)

    def sums(self, x: Array) -> FloatArray:
        """Return Rᵀ x, k×p, in float64."""
        if issparse(x):
            total = compiled.sparse_sums(x, self.codes, self.weight, self.n_classes)
            if total is not None:
                return total
        return super().sums(x)

    def totals(self) -> FloatArray:
        """Return the weight of each class."""
        return np.bincount(self.codes, weights=self.weight, minlength=self.n_classes).astype(np.float64)

    def rows_of(self, centers: FloatArray, x: Array) -> Array:
        """Return ``centers[codes]``."""
        return as_like(np.take(centers, self.codes, axis=0), x)

    def groups(self, x: Array) -> Iterator[tuple[int, Array, Array | None]]:
        """Yield each class with its rows of `x`: one stable sort, then slices."""
        order = np.argsort(self.codes, kind="stable")
        bounds = np.searchsorted(self.codes[order], np.arange(self.n_classes + 1))
        ordered = x[order] if isinstance(x, np.ndarray) else namespace(x).take(x, on_device_of(order, x), axis=0)
        weight = None if self.weight is None else as_like(self.weight[order], x)
        for c in np.flatnonzero(np.diff(bounds)):
            rows = slice(int(bounds[c]), int(bounds[c + 1]))
            yield int(c), ordered[rows], None if weight is None else weight[rows]

    @classmethod
    def joined(cls, parts: Sequence[Labels]) -> Labels:
        """Return the labels of several parts, one after the other; later parts may have more classes."""
        codes = np.concatenate([part.codes for part in parts])
        return cls(codes, _joined_weights(parts), max(part.n_classes for part in parts))


@dataclass
class EachRow(Responsibilities):
    """Every row is a class of its own: R is the diagonal matrix of the weights, so that the sums are those of one row.

    Parameters
    ----------
    weight : array of shape (n,)
        The weight of each row.
    """

    weight: FloatArray

    def __post_init__(self) -> None:
        self.n_classes = len(self.weight)

    def __len__(self) -> int:
        return len(self.weight)

    def __getitem__(self, rows: slice | NDArray[np.bool_] | IntArray) -> EachRow:
        return EachRow(self.weight[rows])

    def matrix(self, like: Array) -> Array:
        """Return R itself, n×n."""
        return as_like(np.diag(self.weight), like)

    def row_weight(self, like: Array) -> Array:
        """Return the weight of each row."""
        return as_like(self.weight, like)

    def totals(self) -> FloatArray:
        """Return the weight of each row."""
        return self.weight

    def rows_of(self, centers: FloatArray, x: Array) -> Array:
        """Return the centres, of which each row has one."""
        return as_like(centers, x)

    def groups(self, x: Array) -> Iterator[tuple[int, Array, Array | None]]:
        """Yield each row with its weight."""
        weight = self.row_weight(x)
        for row in range(len(self)):
            yield row, x[row : row + 1], weight[row : row + 1]

    def sums(self, x: Array) -> FloatArray:
        """Return the rows times their weights, n×p, in float64."""
        return to_float64(x.toarray() if issparse(x) else x) * self.weight[:, None]


@dataclass
class SoftLabels(Responsibilities):
    """A weight per row and class: given probabilities, or the posterior of the last EM iteration."""

    weights: FloatArray

    def __post_init__(self) -> None:
        self.n_classes = self.weights.shape[1]

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: slice | NDArray[np.bool_] | IntArray) -> SoftLabels:
        return SoftLabels(self.weights[rows])

    def matrix(self, like: Array) -> Array:
        """Return R itself, n×k."""
        return self.weights if issparse(like) else as_like(self.weights, like)

    def row_weight(self, like: Array) -> Array:
        """Return the weight of each row over all classes."""
        return as_like(self.weights.sum(1), like)

    @classmethod
    def joined(cls, parts: Sequence[SoftLabels]) -> SoftLabels:
        """Return the weights of several parts, one after the other; later parts may have more classes."""
        k = max(part.n_classes for part in parts)
        return cls(np.concatenate([np.pad(part.weights, ((0, 0), (0, k - part.n_classes))) for part in parts]))

    def totals(self) -> FloatArray:
        """Return the weight of each class."""
        return np.asarray(self.weights.sum(0), dtype=np.float64)

    def rows_of(self, centers: FloatArray, x: Array) -> None:
        """Return None: a row may belong to several classes."""
        return

    def groups(self, x: Array) -> Iterator[tuple[int, Array, Array | None]]:
        """Yield each class with all rows of `x` and their weights for it."""
        matrix = self.matrix(x)
        for c in range(self.n_classes):
            yield c, x, matrix[:, c]


@dataclass
class PartialLabels:
    """The known classes of some rows: ``codes[i]`` is the class of row i, −1 if it is missing.

    Given the scores of a model it becomes R: the posterior if the class is missing, else the class itself.

    Parameters
    ----------
    codes : array of shape (n,), or None if no class is known
    weight : array of shape (n,), or None if every row counts once
    n_classes, n_rows : int
    given : array of shape (n, k), optional
        Class probabilities in place of `codes`; a row of NaN is missing.
    """

    codes: IntArray | None
    weight: FloatArray | None
    n_classes: int
    n_rows: int
    given: FloatArray | None = None

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: slice | IntArray) -> PartialLabels:
        codes = None if self.codes is None else self.codes[rows]
        weight = None if self.weight is None else self.weight[rows]
        n_rows = len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows)
        return PartialLabels(codes, weight, self.n_classes, n_rows, None if self.given is None else self.given[rows])

    @classmethod
    def joined(cls, parts: Sequence[PartialLabels]) -> PartialLabels:
        """Return the known classes of several parts, one after the other."""
        codes, given = (
            None if getattr(parts[0], name) is None else np.concatenate([getattr(part, name) for part in parts])
            for name in ("codes", "given")
        )
        return cls(codes, _joined_weights(parts), parts[0].n_classes, sum(map(len, parts)), given)

    @property
    def unknown(self) -> bool:
        """Whether no class is known."""
        return self.codes is None and self.given is None

    def most_probable(self) -> IntArray:
        """Return the most probable known class of each row, (n,), −1 if nothing is known."""
        if self.given is not None:
            return np.where(np.isnan(self.given[:, 0]), -1, np.argmax(self.given, axis=1))
        return np.full(self.n_rows, -1) if self.codes is None else self.codes

    def shares(self) -> FloatArray:
        """Return the known weight of each row in each class, n×k; 0 in all if nothing is known."""
        if self.given is not None:
            shares = np.nan_to_num(self.given)
        else:
            shares = np.zeros((self.n_rows, self.n_classes))
            known = np.flatnonzero(self.most_probable() >= 0)
            shares[known, self.most_probable()[known]] = 1.0
        return shares if self.weight is None else shares * self.weight[:, None]

    def expect(self, log_joint: FloatArray) -> tuple[SoftLabels, float]:
        """Return R given log p(x, c), n×k, and the log-likelihood: Σ log p(x), or log p(x, y) if y is known."""
        joint = np.array(log_joint.T, order="C")
        known = np.flatnonzero(self.codes >= 0) if self.codes is not None else np.zeros(0, dtype=np.intp)
        classes = known if self.codes is None else self.codes[known]
        own = joint[classes, known]
        joint[:, known] = -np.inf
        joint[classes, known] = own
        largest = joint.max(axis=0)
        lost = np.isneginf(largest)
        joint -= np.where(lost, 0.0, largest)
        np.exp(joint, out=joint)
        if lost.any():  # impossible under every class: the row says nothing about them
            joint[:, lost] = 1.0
            joint[:, known[lost[known]]] = 0.0
            joint[classes, known] = 1.0
        total = joint.sum(axis=0)
        evidence = np.where(lost, -np.inf, largest + np.log(total))
        joint /= total
        if self.given is not None:
            known = np.flatnonzero(~np.isnan(self.given[:, 0]))
            joint[:, known] = self.given[known].T
            terms = np.where(self.given[known] > 0, self.given[known] * log_joint[known], 0.0)
            evidence[known] = terms.sum(1)
        if self.weight is not None:
            joint *= self.weight
            evidence = np.multiply(evidence, self.weight, out=np.zeros(len(evidence)), where=self.weight > 0)
        return SoftLabels(joint.T), float(evidence.sum())


def _joined_weights(parts: Sequence[Labels | PartialLabels]) -> FloatArray | None:
    """Return the weights of several parts, one after the other; None if every row counts once."""
    if all(part.weight is None for part in parts):
        return None
    return np.concatenate([np.ones(len(part)) if part.weight is None else part.weight for part in parts])
