"""Categorical: one of several values, each column with its own."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, beside, namespace, rows_to_columns, to_float64, to_numpy
from suffice.families.base import Distributions, Family
from suffice.families.distribution import Distribution
from suffice.families.products import log_of, require_rows
from suffice.priors import PriorSpec, PseudoCount, resolve_prior
from suffice.statistics.category_counts import CategoryCounts
from suffice.statistics.responsibilities import Labels, Responsibilities
from suffice.tables.factorize import MISSING, factorize, is_missing
from suffice.tables.labels import as_objects_if_mixed, check_weight

UNSEEN = -2


@dataclass(frozen=True)
class Codes:
    """Rows of categorical columns: the number of each cell's value, `MISSING` or `UNSEEN`, and how many values."""

    codes: Array
    sizes: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (int(self.codes.shape[0]), int(self.codes.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> Codes:
        return Codes(self.codes[rows], self.sizes)


class Categorical(Family):
    """p(x = v) = p_v for v among the values of a column.

    φ(x) is the indicator of each value, η = log p, A(η) = log Σ e^η (0 for these η), h(x) = 1. Kernels read
    the numbers of the values (`Codes`); words become numbers in the table's encoder.

    Parameters
    ----------
    unseen : "prior" or "missing"
        What a value that training never saw is worth in prediction: the mass that the prior gives to a known
        value without a row, α / (count + α·values), or nothing, as if the cell were missing. Without a prior it has
        probability 0 in every class, so that it says nothing about the class, with a warning.

    Examples
    --------
    >>> from suffice import Categorical
    >>> colours = Categorical().fit(["red", "red", "blue", "red"])
    >>> float(colours.log_prob(["blue"])[0]) == float(np.log(0.25))
    True
    """

    name: ClassVar[str] = "categorical"

    def __init__(self, unseen: str = "prior") -> None:
        if unseen not in ("prior", "missing"):
            raise ValueError(f"unseen must be 'prior' or 'missing', not {unseen!r}")
        self.unseen = unseen
        self._sizes: IntArray | None = None

    def config(self) -> dict[str, Any]:
        """Return the arguments that make this family again."""
        return {"unseen": self.unseen}

    def encode(self, x: ArrayLike | Codes) -> Codes:
        """Return integers as they are, as numbers of values; -1 is missing."""
        if isinstance(x, Codes):
            return x
        codes = rows_to_columns(np.asarray(x))
        if codes.dtype.kind not in "iu":
            raise TypeError(
                f"a Categorical distribution by itself takes whole numbers from 0 (and -1 for missing), "
                f"not {codes.dtype}; fit it on values to have it number them"
            )
        sizes = codes.max(0, initial=-1) + 1
        if self._sizes is not None and len(self._sizes) == len(sizes):
            sizes = np.maximum(sizes, self._sizes)
        return Codes(codes.astype(np.intp), sizes)

    def fit(self, x: ArrayLike, sample_weight: ArrayLike | None = None, *, prior: PriorSpec = None) -> Distribution:
        """Return the one distribution that fits the rows of `x`, whose cells may be any values; None is missing."""
        values = rows_to_columns(as_objects_if_mixed(x))
        weight = check_weight(sample_weight, len(values))
        coder = OfValues(self, values)
        statistics = coder.statistics(coder.encode(values), Labels(np.zeros(len(values), np.intp), weight, 1))
        return coder.estimate(statistics, prior)[0]

    def decode(self, rows: FloatArray) -> NDArray[Any]:
        """Return the numbers of values as `encode` takes them."""
        return rows.astype(np.intp)

    def with_values_of(self, x: Any) -> Categorical:
        """Return the family with the values of the rows `x`; whole numbers are numbers of values already."""
        if isinstance(x, Codes):
            return self
        columns = rows_to_columns(as_objects_if_mixed(x))
        declared = getattr(getattr(x, "dtype", None), "name", "") == "category"  # pandas: numbers that are names
        return self if columns.dtype.kind in "iu" and not declared else OfValues(self, columns)

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return the indicator of each value, n×p, the columns side by side."""
        rows = self.encode(x)
        return np.concatenate([to_float64(one_hot) for one_hot in _indicators(rows)], axis=1)

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return Σ over the columns of log Σ e^η."""
        return np.sum([logsumexp(eta[..., column], axis=-1) for column in self._columns(eta.shape[-1])], axis=0)

    def _columns(self, width: int) -> list[slice]:
        """Return where each column's values lie among all of them; all are one column's where nothing else is known."""
        sizes = np.array([width]) if self._sizes is None else self._sizes
        return list(CategoryCounts(np.zeros((0, width)), sizes).columns())

    def of_sizes(self, sizes: IntArray) -> Categorical:
        """Return the same family for columns with so many values each."""
        sized = copy.copy(self)
        sized._sizes = np.asarray(sizes)
        return sized

    def log_base_measure(self, x: Codes) -> Array:
        """Return 0 for every row."""
        return np.zeros(len(x))

    def from_natural(self, eta: FloatArray) -> CategoricalDistributions:
        """Return p = softmax(η), column by column."""
        columns = [eta[:, column] for column in self._columns(eta.shape[1])]
        return self.from_moments(np.hstack([np.exp(part - logsumexp(part, axis=1, keepdims=True)) for part in columns]))

    def from_moments(self, moments: FloatArray) -> CategoricalDistributions:
        """Return p = E φ."""
        k, width = moments.shape
        sizes = np.array([column.stop - column.start for column in self._columns(width)])
        return CategoricalDistributions(moments, sizes, np.zeros((k, len(sizes))), self.of_sizes(sizes))

    def statistics(self, x: Codes, responsibilities: Responsibilities) -> CategoryCounts:
        """Return the weight of each value of each column."""
        if isinstance(x.codes, np.ndarray) and isinstance(responsibilities, Labels):
            r = responsibilities
            total = compiled.count_codes(x.codes, x.sizes, r.codes, r.weight, r.n_classes)
            totals = list(_count(x, r)) if total is None else [total]
        else:
            totals = [responsibilities.sums(indicator) for indicator in _indicators(x)]
        return CategoryCounts(np.concatenate(totals, axis=1), x.sizes)

    def empty(self, n_classes: int, n_columns: int) -> CategoryCounts:
        """Return the statistics of no rows: columns without values."""
        return CategoryCounts.empty(n_classes, np.zeros(n_columns, dtype=np.intp))

    def estimate(self, statistics: CategoryCounts, prior: PriorSpec = "auto") -> CategoricalDistributions:
        """Return p_v = (count of v + α) / (count + α·values); α = 0 is maximum likelihood."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        alpha = 0.0 if pseudo is None else pseudo.amount
        probability = np.empty_like(statistics.total)
        unseen_mass = np.zeros((statistics.n_classes, len(statistics.sizes)))
        for j, column in enumerate(statistics.columns()):
            smoothed = statistics.total[:, column] + alpha
            count = smoothed.sum(1, keepdims=True)
            if pseudo is None:
                require_rows(count)
            if column.stop > column.start:  # a column that is missing in every row has no values to estimate
                probability[:, column] = smoothed / count
                if self.unseen == "prior":
                    unseen_mass[:, j] = alpha / count[:, 0]
        sizes = np.asarray(statistics.sizes)
        return CategoricalDistributions(probability, sizes, unseen_mass, self.of_sizes(sizes))

    def with_parameters(self, arrays: Mapping[str, Any]) -> CategoricalDistributions:
        """Return the distributions that are made of these arrays."""
        return CategoricalDistributions(**arrays, family=self.of_sizes(arrays["sizes"]))

    def log_prior(self, distributions: CategoricalDistributions, statistics: CategoryCounts, prior: PriorSpec) -> float:
        """Return α Σ log p: a Dirichlet prior for each column."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        return 0.0 if pseudo is None else pseudo.amount * float(log_of(distributions.probability).sum())

    def comparable(self, other: Family) -> bool:
        """Whether both number the same values alike."""
        mine, theirs = (getattr(family, "_values", None) for family in (self, other))
        return self == other and mine == theirs and self._list_of_sizes() == other._list_of_sizes()  # type: ignore[attr-defined]

    def _list_of_sizes(self) -> list[int] | None:
        return None if self._sizes is None else [int(size) for size in self._sizes]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categorical) and self.unseen == other.unseen

    def __hash__(self) -> int:
        return hash((Categorical, self.unseen))


class OfValues(Categorical):
    """The same family for somebody's own values: it looks their numbers up, and gives values back."""

    def __init__(self, family: Categorical, columns: NDArray[Any]) -> None:
        super().__init__(family.unseen)
        self._values = [factorize(columns[:, j]).values for j in range(columns.shape[1])]

    def with_values_of(self, x: Any) -> OfValues:
        """Return the family with the values of the rows `x` after those that it has."""
        columns = self._require_columns(rows_to_columns(as_objects_if_mixed(x)))
        grown = copy.copy(self)
        pairs = zip(self._values, OfValues(self, columns)._values, strict=True)
        grown._values = [list(dict.fromkeys([*known, *more])) for known, more in pairs]
        return grown

    def _require_columns(self, columns: NDArray[Any]) -> NDArray[Any]:
        if columns.shape[1] != len(self._values):
            raise ValueError(f"the rows must have {len(self._values)} columns, but have {columns.shape[1]}")
        return columns

    def encode(self, x: ArrayLike | Codes) -> Codes:
        """Return the numbers of values, `UNSEEN` for new ones and `MISSING` for None and NaN."""
        columns = self._require_columns(rows_to_columns(as_objects_if_mixed(x)))
        codes = np.empty(columns.shape, dtype=np.intp)
        for j, values in enumerate(self._values):
            numbers = {value: number for number, value in enumerate(values)}
            cells = columns[:, j].tolist()
            codes[:, j] = [MISSING if is_missing(cell) else numbers.get(cell, UNSEEN) for cell in cells]
        return Codes(codes, np.array([len(values) for values in self._values]))

    def decode(self, rows: FloatArray) -> NDArray[Any]:
        """Return the values behind their numbers."""
        known = [np.array([*values, None], dtype=object) for values in self._values]
        return np.stack([values[rows[:, j].astype(int)] for j, values in enumerate(known)], axis=1)

    def __repr__(self) -> str:
        return f"Categorical(unseen={self.unseen!r})"


@dataclass(frozen=True, eq=False)
class CategoricalDistributions(Distributions):
    """Categorical columns with their probabilities, k×p, the columns side by side."""

    probability: FloatArray
    sizes: IntArray
    unseen_mass: FloatArray
    family: Categorical

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
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

    def variances(self) -> FloatArray:
        """Return the indicators' variances, p(1 − p), k×p."""
        return self.probability * (1.0 - self.probability)

    def covariances(self) -> FloatArray:
        """Return the indicators' covariances, diag p − p pᵀ for the values of a column, k×p×p."""
        p, number = self.probability, np.repeat(np.arange(len(self.sizes)), self.sizes)
        together = (number[:, None] == number[None, :]) * p[:, :, None] * p[:, None, :]
        return np.asarray(np.eye(p.shape[1]) * p[:, None, :] - together)

    def statistic_covariance(self) -> FloatArray:
        """Return the indicators' covariances, k×p×p."""
        return self.covariances()

    def shown(self) -> dict[str, Any]:
        """Return the probabilities."""
        return {"probability": self.probability}

    @property
    def n_parameters(self) -> int:
        """The probabilities of a column and class sum to 1."""
        return self.n_classes * int(np.maximum(self.sizes - 1, 0).sum())

    @cached_property
    def _tables(self) -> list[FloatArray]:
        """Return for each column the log-probabilities, values×k, then a row for UNSEEN (-2) and for MISSING (-1)."""
        tables, nothing = [], np.zeros(self.n_classes)
        for j, column in enumerate(self._columns()):
            # a column that training saw no value of says nothing whatever its value
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
        """Both kinds of tables one below the other, as the compiled kernel reads them."""
        joined = compiled.whole_registers(np.concatenate(self._tables))
        same = not any(np.isneginf(table).any() for table in self._tables)
        return joined, joined if same else compiled.whole_registers(np.concatenate(self._decisive_tables))

    @property
    def rules_out(self) -> bool:
        """Whether some value has probability 0 in some class; where unseen values have it, in all of them."""
        return any(np.isneginf(table).any() for table in self._tables)

    def impossible_cells(self, x: Codes) -> FloatArray | float:
        """Return how many values of each row have probability 0 in every class."""
        codes = to_numpy(self._known(x))
        nowhere = [np.asarray(np.isneginf(table).all(1)) for table in self._tables]
        return np.sum([where[codes[:, j]] for j, where in enumerate(nowhere)], axis=0).astype(np.float64)

    def _known(self, x: Codes) -> Array:
        """Return the codes, with those beyond the values that were learned as unseen."""
        if (x.sizes <= self.sizes).all():
            return x.codes
        xp = namespace(x.codes)
        return xp.where(x.codes < beside(self.sizes, x.codes), x.codes, UNSEEN)

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
                terms = xp.take(beside(table, codes), xp.where(at < 0, at + len(table), at), axis=0)
            scores = terms if scores is None else scores + terms
        return scores

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return the numbers of the values drawn, as floats; -1 where a column has no values."""
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
        """Return the numbers of the values, as floats, with the most probable value in missing cells."""
        rows = to_float64(x.codes)
        likeliest = np.full(rows.shape, float(MISSING))
        for j, column in enumerate(self._columns()):
            if column.stop > column.start:
                likeliest[:, j] = np.argmax(shares @ self.probability[:, column], axis=1)
        return np.where(rows == MISSING, likeliest, rows)

    def sampled_rows(self, x: Codes, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return the numbers of the values, as floats, with values drawn for missing cells."""
        rows = to_float64(x.codes)
        return np.where(rows == MISSING, self.sample(classes, rng), rows)

    @property
    def n_columns(self) -> int:
        """How many columns there are, whatever the number of their values."""
        return len(self.sizes)

    def marginal(self, columns: IntArray) -> CategoricalDistributions:
        """Return the distributions of some of the columns."""
        parts = list(self._columns())
        probability = np.concatenate([self.probability[:, parts[j]] for j in columns.tolist()], axis=1)
        sizes = self.sizes[columns]
        return CategoricalDistributions(probability, sizes, self.unseen_mass[:, columns], self.family.of_sizes(sizes))

    def standardised(self, x: Codes) -> FloatArray:
        """Return the indicators of the values, with a variance of 1 in all a column."""
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


def _count(x: Codes, labels: Labels) -> Iterator[FloatArray]:
    """Yield each column's counts, k×values, by counting pairs (class, value)."""
    codes, k = x.codes, labels.n_classes
    for j, size in enumerate(x.sizes.tolist()):
        column = codes[:, j]
        # value -1 (missing) and -2 (unseen) fall into two extra bins at the front, cut off afterwards
        pairs = labels.codes * (size + 2) + column
        counted = np.bincount(pairs + 2, weights=labels.weight, minlength=k * (size + 2))
        yield counted.reshape(k, size + 2)[:, 2:].astype(np.float64)


def _indicators(x: Codes) -> Iterator[Array]:
    xp = namespace(x.codes)
    for j, size in enumerate(x.sizes.tolist()):
        values = beside(np.arange(size), x.codes)
        yield xp.astype(x.codes[:, j][:, None] == values[None, :], xp.float64)


__all__ = ["MISSING", "UNSEEN", "Categorical", "CategoricalDistributions", "Codes"]
