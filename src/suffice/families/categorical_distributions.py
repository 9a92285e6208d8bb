"""Categorical distributions of all classes: log-probabilities of values, explanations and samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, namespace, on_device_of, to_float64, to_numpy
from suffice.families.base import Distributions
from suffice.families.codes import UNSEEN, Codes
from suffice.families.products import log_of
from suffice.statistics.category_counts import CategoryCounts
from suffice.tables.factorize import MISSING

if TYPE_CHECKING:
    from suffice.families.categorical import Categorical


@dataclass(frozen=True, eq=False)
class CategoricalDistributions(Distributions):
    """Categorical columns with their probabilities, k×p, the columns side by side."""

    probability: FloatArray
    sizes: IntArray
    unseen_mass: FloatArray
    family: Categorical

    @classmethod
    def of_weights(
        cls, family: Categorical, sizes: IntArray, weights: FloatArray, without_rows: FloatArray | float
    ) -> CategoricalDistributions:
        """Return p_v = w_v / Σ w of each column, with the rule for a value that training never saw.

        If ``family.unseen`` is "prior", such a value has the probability w₀ / Σ w of a known one without rows; it is 0
        if w₀ is not the same for all values. If "missing", the value is treated as a missing cell.

        Parameters
        ----------
        weights : array of shape (k, p)
            The weight of each value: rows and prior together. Values of equal probability if all are 0.
        without_rows : float, or array of shape (k, p)
            w₀, the weight that each value has without rows.
        """
        prior = np.broadcast_to(without_rows, weights.shape)
        probability, unseen_mass = np.empty(weights.shape), np.zeros((len(weights), len(sizes)))
        for j, column in enumerate(CategoryCounts(weights, sizes).columns()):
            if column.stop == column.start:  # a column that is missing in every row has no values to estimate
                continue
            whole, own = weights[:, column].sum(1, keepdims=True), prior[:, column]
            equal = np.full(own.shape, 1.0 / own.shape[1])
            probability[:, column] = np.divide(weights[:, column], whole, out=equal, where=whole > 0)
            if family.unseen == "prior" and (own == own[:, :1]).all():
                np.divide(own[:, 0], whole[:, 0], out=unseen_mass[:, j], where=whole[:, 0] > 0)
        sizes = np.asarray(sizes)
        return cls(probability, sizes, unseen_mass, family.of_sizes(sizes))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.probability)

    def _columns(self) -> Iterator[slice]:
        return CategoryCounts(self.probability, self.sizes).columns()

    def natural_parameters(self) -> FloatArray:
        """Return log p, k×p."""
        return log_of(self.probability)

    def moment_parameters(self) -> FloatArray:
        """Return p, k×p."""
        return self.probability

    def mean(self) -> FloatArray:
        """Return the indicators' mean, which is p."""
        return self.probability

    def variance(self) -> FloatArray:
        """Return the indicators' variances, p(1 − p), k×p."""
        return self.probability * (1.0 - self.probability)

    def covariance(self) -> FloatArray:
        """Return the indicators' covariances, diag p − p pᵀ for the values of a column, k×p×p."""
        p, number = self.probability, np.repeat(np.arange(len(self.sizes)), self.sizes)
        together = (number[:, None] == number[None, :]) * p[:, :, None] * p[:, None, :]
        return np.asarray(np.eye(p.shape[1]) * p[:, None, :] - together)

    def statistic_covariance(self) -> FloatArray:
        """Return the indicators' covariances, k×p×p."""
        return self.covariance()

    def shown(self) -> dict[str, Any]:
        """Return the probabilities."""
        return {"probability": self.probability}

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: the probabilities of a column and class sum to 1."""
        return self.n_classes * int(np.maximum(self.sizes - 1, 0).sum())

    @cached_property
    def _tables(self) -> list[FloatArray]:
        """One table per column: log-probabilities, values×k, then a row for UNSEEN (-2) and one for MISSING (-1)."""
        tables, nothing = [], np.zeros(self.n_classes)
        for j, column in enumerate(self._columns()):
            # a column without any value in training says nothing about the class
            read = self.family.unseen == "prior" and column.stop > column.start
            log_unseen = log_of(self.unseen_mass[:, j]) if read else nothing
            tables.append(np.vstack([log_of(self.probability[:, column].T), log_unseen, nothing]))
        return tables

    @cached_property
    def _decisive_tables(self) -> list[FloatArray]:
        """The same tables with 0 for values that have probability 0 in every class."""
        return [np.where(np.isneginf(table).all(1, keepdims=True), 0.0, table) for table in self._tables]

    @cached_property
    def _joined_tables(self) -> tuple[FloatArray, FloatArray]:
        """Both kinds of tables, concatenated as the compiled kernel reads them."""
        joined = compiled.whole_registers(np.concatenate(self._tables))
        same = not any(np.isneginf(table).any() for table in self._tables)
        return joined, joined if same else compiled.whole_registers(np.concatenate(self._decisive_tables))

    @property
    def rules_out(self) -> bool:
        """Whether some value has probability 0 in some class; unseen values may have it in all classes."""
        return any(np.isneginf(table).any() for table in self._tables)

    def impossible_cells(self, x: Codes) -> FloatArray | float:
        """Return the number of values per row that have probability 0 in every class."""
        codes = to_numpy(self._known(x))
        nowhere = [np.asarray(np.isneginf(table).all(1)) for table in self._tables]
        return np.sum([where[codes[:, j]] for j, where in enumerate(nowhere)], axis=0).astype(np.float64)

    def _known(self, x: Codes) -> Array:
        """Return the codes, with UNSEEN for those beyond the learned values."""
        if (x.sizes <= self.sizes).all():
            return x.codes
        xp = namespace(x.codes)
        return xp.where(x.codes < on_device_of(self.sizes, x.codes), x.codes, UNSEEN)

    def score(self, x: Codes, common: bool = True) -> Array:
        """Return Σ_j log p of the cell's value."""
        codes = self._known(x)
        xp = namespace(codes)
        scores: Array = None
        if compiled.library is not None:
            joined = self._joined_tables[0 if common else 1]
            scores = compiled.score_codes(codes, self.sizes, joined, self.n_classes)
        if scores is not None:
            return scores
        for j, table in enumerate(self._tables if common else self._decisive_tables):
            if xp is np:
                terms = table.take(codes[:, j], axis=0, mode="wrap")
            else:
                at = codes[:, j]
                terms = xp.take(on_device_of(table, codes), xp.where(at < 0, at + len(table), at), axis=0)
            scores = terms if scores is None else scores + terms
        return scores

    @property
    def by_column(self) -> bool:
        """True: columns are independent given the class."""
        return True

    def cell_scores(self, x: Codes, classes: IntArray | slice) -> FloatArray:
        """Return log p of the value of each cell under one class per row."""
        codes = to_numpy(self._known(x))
        of = np.arange(len(codes)) if isinstance(classes, slice) else classes
        return np.stack([table[codes[:, j], of] for j, table in enumerate(self._tables)], axis=1)

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return the codes of the drawn values, as floats; -1 if a column has no values."""
        rows = np.empty((len(classes), len(self.sizes)))
        for j, column in enumerate(self._columns()):
            if column.stop == column.start:
                rows[:, j] = MISSING
                continue
            cumulated = np.cumsum(self.probability[:, column], axis=1)
            drawn = rng.random(len(classes))[:, None] * cumulated[classes, -1:]
            rows[:, j] = (drawn >= cumulated[classes]).sum(1)
        return rows

    def expected_rows(self, x: Codes, shares: FloatArray) -> FloatArray:
        """Return the codes of the values, as floats, with the most probable value in missing cells."""
        rows = to_float64(x.codes)
        likeliest = np.full(rows.shape, float(MISSING))
        for j, column in enumerate(self._columns()):
            if column.stop > column.start:
                likeliest[:, j] = np.argmax(shares @ self.probability[:, column], axis=1)
        return np.where(rows == MISSING, likeliest, rows)

    def sampled_rows(self, x: Codes, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return the codes of the values, as floats, with values drawn for missing cells."""
        rows = to_float64(x.codes)
        return np.where(rows == MISSING, self.sample(classes, rng), rows)

    @property
    def n_columns(self) -> int:
        """The number of columns (not of their values)."""
        return len(self.sizes)

    def marginal(self, columns: IntArray) -> CategoricalDistributions:
        """Return the distributions of some of the columns."""
        parts = list(self._columns())
        probability = np.concatenate([self.probability[:, parts[j]] for j in columns.tolist()], axis=1)
        sizes = self.sizes[columns]
        return CategoricalDistributions(probability, sizes, self.unseen_mass[:, columns], self.family.of_sizes(sizes))

    def standardised(self, x: Codes) -> FloatArray:
        """Return the centred indicators of the values, scaled so that the variances of a column sum to 1."""
        codes = to_numpy(self._known(x))
        rows = np.zeros((len(codes), int(self.sizes.sum())))
        for j, column in enumerate(self._columns()):
            p = self.probability[0, column]
            there = np.flatnonzero(codes[:, j] >= 0)
            rows[:, column] = np.where((codes[:, j] >= 0)[:, None], -p, 0.0)
            rows[there, column.start + codes[there, j]] += 1.0
            rows[:, column] /= np.sqrt(max(float((p * (1.0 - p)).sum()), np.finfo(float).tiny))
        return rows

    def log_ratio(self, x: Codes, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the log-ratio of the probabilities of each cell's value."""
        codes = to_numpy(self._known(x))
        terms = [table[codes[:, j], a] - table[codes[:, j], b] for j, table in enumerate(self._decisive_tables)]
        return np.stack(terms, axis=1), np.zeros(len(codes))
