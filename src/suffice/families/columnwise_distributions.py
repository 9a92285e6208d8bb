"""The distributions of families whose columns are independent given the class; `columnwise.py` has the families."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray, as_like, namespace, to_float64
from suffice.families.base import Distributions
from suffice.families.cells import dense_rows, in_double, scaled_rows
from suffice.families.products import LogParameters, log_product

#: terms above this size have an error of more than 1e-10
LARGE_TERMS = 1e5


@dataclass(frozen=True, eq=False)
class ColumnwiseDistributions(Distributions):
    """Columns with their parameters, each k×d; subclasses name these and give the formulas."""

    family: Any

    @abstractmethod
    def natural_parts(self) -> tuple[FloatArray, ...]:
        """Return the parts of η, each k×d."""

    @abstractmethod
    def moment_parts(self) -> tuple[FloatArray, ...]:
        """Return the parts of E φ, each k×d."""

    @abstractmethod
    def covariance_parts(self) -> Sequence[Sequence[FloatArray]]:
        """Return the covariance of the parts of φ of a cell with each other, parts×parts arrays of k×d."""

    @abstractmethod
    def draw(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one row per entry of `classes`, drawn from that class."""

    @property
    def _arrays(self) -> dict[str, FloatArray]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "family"}

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(next(iter(self._arrays.values())))

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: one per array, column and class."""
        return sum(values.size for values in self._arrays.values())

    def natural_parameters(self) -> FloatArray:
        """Return η, k×p."""
        return np.hstack(self.natural_parts())

    def moment_parameters(self) -> FloatArray:
        """Return E φ, k×p."""
        return np.hstack(self.moment_parts())

    def statistic_covariance(self) -> FloatArray:
        """Return Cov φ, k×p×p: columns are independent."""
        blocks = self.covariance_parts()
        eye = np.eye(blocks[0][0].shape[1])
        return np.block([[eye * part[:, None, :] for part in row] for row in blocks])

    @cached_property
    def _factors(self) -> list[LogParameters]:
        """The parts of η ready for products, with −∞ stored separately (as for a count that was always 0)."""
        return [LogParameters.of_logs(eta) for eta in self.natural_parts()]

    @cached_property
    def _normalizers(self) -> FloatArray:
        return np.asarray(self.family.cell_normalizer(*self.natural_parts()))

    def score(self, x: Array, common: bool = True) -> Array:
        """Return φ(x)·η − A(η) over the observed cells, plus log h(x), which all classes share, if `common`.

        If the terms are so large that rounding error would matter, the density is computed about each class's mean.
        """
        parts, observed = self.family.prepare(x)
        if self.cancels():
            return self._score_centred(x)
        scores = log_product(parts[0], self._factors[0], common)
        for part, factor in zip(parts[1:], self._factors[1:], strict=True):
            scores = scores + log_product(part, factor, common)
        if observed is None:
            scores = scores - as_like(self._normalizers.sum(1), scores)
        else:
            there = namespace(scores).astype(observed, scores.dtype)
            scores = scores - there @ as_like(self._normalizers, scores).T
        if not common:
            return scores
        return scores + as_like(to_float64(self.family.log_base_measure(x)), scores)[:, None]

    @property
    def by_column(self) -> bool:
        """True: columns are independent given the class."""
        return True

    def cell_scores(self, x: Array, classes: IntArray | slice) -> FloatArray:
        """Return φ(x_j)·η_cj − A(η_cj) + log h(x_j) of each cell under one class per row."""
        rows = dense_rows(in_double(x))
        missing = np.isnan(rows)
        filled = np.where(missing, self.family.neutral, rows) if missing.any() else rows
        if self.cancels():
            terms = self.centred(filled, np.arange(len(rows)) if isinstance(classes, slice) else classes)
        else:
            terms = -self._normalizers[classes]
            with np.errstate(invalid="ignore"):
                for part, eta in zip(self.family.phi(filled), self.natural_parts(), strict=True):
                    terms += np.where(part == 0.0, 0.0, part * eta[classes])  # 0 · (−∞) = 0
            base = self.family.cell_base(filled)
            terms = terms if base is None else terms + base
        return np.where(missing, 0.0, terms) if filled is not rows else terms

    @property
    def rules_out(self) -> bool:
        """Whether the cells of some class are always 0 in some column."""
        return any(factor.impossible is not None for factor in self._factors)

    def impossible_cells(self, x: Array) -> FloatArray | float:
        """Return the sum of each row over the columns that are always 0."""
        parts, _ = self.family.prepare(x)
        pairs = zip(parts, self._factors, strict=True)
        return sum((factor.n_nowhere(part) for part, factor in pairs if factor.nowhere is not None), start=0.0)

    def cancels(self) -> bool:
        """Return whether φ(x)·η and A(η) are so large that their difference loses digits, and `centred` is better."""
        return False

    def centred(self, x: FloatArray, c: int | IntArray) -> FloatArray:
        """Return the log-density of each cell in a form that does not cancel, under one class or one class per row."""
        raise TypeError(f"{type(self).__name__} never cancels, so it has no other form")

    def _score_centred(self, x: Array) -> Array:
        rows = dense_rows(x)
        by_class = [np.nansum(self.centred(rows, c), axis=1) for c in range(self.n_classes)]
        return as_like(np.stack(by_class, axis=1), in_double(x))

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return φ(x_j)·(η_aj − η_bj) − (A_aj − A_bj)."""
        rows = dense_rows(x)
        there = ~np.isnan(rows)
        filled = np.where(there, rows, self.family.neutral)
        if self.cancels():
            return np.where(there, self.centred(filled, a) - self.centred(filled, b), 0.0), np.zeros(len(rows))
        terms = -(self._normalizers[a] - self._normalizers[b])
        parts = self.family.phi(filled)
        with np.errstate(invalid="ignore"):
            for part, eta in zip(parts, self.natural_parts(), strict=True):
                terms = terms + np.where(part == 0.0, 0.0, part * (eta[a] - eta[b]))
        return np.where(there, terms, 0.0), np.zeros(len(rows))

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one row per entry of `classes`, drawn from that class."""
        return self.draw(classes, rng)

    def marginal(self, columns: IntArray) -> Self:
        """Return the distributions of some of the columns."""
        return replace(self, **{name: values[:, columns] for name, values in self._arrays.items()})

    def standardised(self, x: Array) -> Array:
        """Return (x − E x) / √Var x."""
        return scaled_rows(x, self.mean()[:1], np.sqrt(self.variance()[:1]))
