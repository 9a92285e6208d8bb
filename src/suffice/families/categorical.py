"""Categorical: each column holds one of several values of its own."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, namespace, on_device_of, rows_to_columns, to_float64
from suffice.families.base import Family
from suffice.families.categorical_distributions import CategoricalDistributions
from suffice.families.categorical_left_out import CategoricalLeftOut
from suffice.families.codes import UNSEEN, Codes
from suffice.families.distribution import Distribution
from suffice.families.products import log_of, require_rows
from suffice.families.usual import SHARE, Domain, as_mapping, as_row, require_names, require_sum_of_1
from suffice.priors import CountAtMode, PriorSpec, PseudoCount, resolve_prior
from suffice.statistics.category_counts import CategoryCounts
from suffice.statistics.responsibilities import Labels, Responsibilities
from suffice.tables.factorize import MISSING, factorize, is_missing
from suffice.tables.labels import as_objects_if_mixed, check_weight


class Categorical(Family):
    """p(x = v) = p_v for v among the values of a column.

    φ(x) is the indicator of each value, η = log p, A(η) = log Σ e^η (0 for these η), h(x) = 1. Kernels read integer
    codes of the values (`Codes`); the table's encoder turns values into codes.

    Parameters
    ----------
    unseen : "prior" or "missing"
        The probability of a value that training never saw: that of a known value without a row under the prior,
        α / (count + α·values), or none, as if the cell were missing. Without a prior it is 0 in every class, so that
        the value says nothing about the class, with a warning.

    Examples
    --------
    >>> from suffice import Categorical
    >>> colours = Categorical().fit(["red", "red", "blue", "red"])
    >>> float(colours.log_prob(["blue"])[0]) == float(np.log(0.25))
    True
    """

    name: ClassVar[str] = "categorical"
    usual: ClassVar[Mapping[str, Domain]] = {"probability": SHARE}

    def __init__(self, unseen: str = "prior") -> None:
        if unseen not in ("prior", "missing"):
            raise ValueError(f"unseen must be 'prior' or 'missing', not {unseen!r}")
        self.unseen = unseen
        self._sizes: IntArray | None = None

    def config(self) -> dict[str, Any]:
        """Return the constructor arguments of this family."""
        return {"unseen": self.unseen}

    def encode(self, x: ArrayLike | Codes) -> Codes:
        """Return integers unchanged as codes of values; -1 is missing."""
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
        coder = _ValuedCategorical(self, values)
        statistics = coder.statistics(coder.encode(values), Labels(np.zeros(len(values), np.intp), weight, 1))
        return coder.estimate(statistics, prior)[0]

    def decode(self, rows: FloatArray) -> NDArray[Any]:
        """Return the codes as integers, as `encode` takes them."""
        return rows.astype(np.intp)

    def with_values_of(self, x: Any) -> Categorical:
        """Return the family that knows the values of the rows `x`; integers are taken as codes already."""
        if isinstance(x, Codes):
            return self
        columns = rows_to_columns(as_objects_if_mixed(x))
        declared = getattr(getattr(x, "dtype", None), "name", "") == "category"  # pandas: integers that are labels
        return self if columns.dtype.kind in "iu" and not declared else _ValuedCategorical(self, columns)

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return the indicator of each value, n×p, the columns side by side."""
        rows = self.encode(x)
        return np.concatenate([to_float64(one_hot) for one_hot in _indicators(rows)], axis=1)

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return Σ over the columns of log Σ e^η."""
        return np.sum([logsumexp(eta[..., column], axis=-1) for column in self._columns(eta.shape[-1])], axis=0)

    def _columns(self, width: int) -> list[slice]:
        """Return the slice of each column's values among all values; one column has them all if sizes are unknown."""
        sizes = np.array([width]) if self._sizes is None else self._sizes
        return list(CategoryCounts(np.zeros((0, width)), sizes).columns())

    def of_sizes(self, sizes: IntArray) -> Categorical:
        """Return the same family for columns with these numbers of values."""
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
        if pseudo is None:
            for column in statistics.columns():
                require_rows(statistics.total[:, column].sum(1, keepdims=True))
        return CategoricalDistributions.of_weights(self, statistics.sizes, statistics.total + alpha, alpha)

    def left_out(
        self, statistics: CategoryCounts, prior: PriorSpec, distributions: CategoricalDistributions
    ) -> CategoricalLeftOut:
        """Return the scores of rows by the estimates without each of them; the values stay those of all rows."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        before = np.full(statistics.total.shape, 0.0 if pseudo is None else pseudo.amount)
        return CategoricalLeftOut(statistics, distributions, before)

    def with_parameters(self, arrays: Mapping[str, Any]) -> CategoricalDistributions:
        """Return the distributions with these parameter arrays."""
        return CategoricalDistributions(**arrays, family=self.of_sizes(arrays["sizes"]))

    @classmethod
    def _of_usual(cls, given: dict[str, Any]) -> CategoricalDistributions:
        require_names("Categorical", given, ["probability"], ["unseen"])
        listed = given["probability"]
        if as_mapping(listed) is not None or not isinstance(listed, Iterable):
            listed = [listed]
        tables = []
        for each in listed:
            table = as_mapping(each)
            if not table:
                raise ValueError(
                    f"the probability of a Categorical must be a mapping of values to probabilities, or one per "
                    f"column, but is {each!r}"
                )
            if any(is_missing(value) for value in table):
                raise ValueError(f"None and NaN are missing cells, which have no probability, but {each!r} has one")
            tables.append(table)
        shares = [as_row("Categorical", "probability", list(table.values()), SHARE) for table in tables]
        for own in shares:
            require_sum_of_1(own, "the probabilities of a Categorical")
        family = Categorical.of_values([list(table) for table in tables], given.get("unseen", "prior"))
        sizes = np.array([len(own) for own in shares], dtype=np.intp)
        return CategoricalDistributions(
            np.concatenate(shares)[None], sizes, np.zeros((1, len(sizes))), family.of_sizes(sizes)
        )

    @staticmethod
    def of_values(values: list[list[Any]], unseen: str = "prior") -> _ValuedCategorical:
        """Return the family that knows these values of each column.

        Parameters
        ----------
        values : list of lists
            The values of each column.
        unseen : "prior" or "missing", default "prior"
            How other values count.
        """
        family = _ValuedCategorical(Categorical(unseen), np.empty((0, 0), dtype=object))
        family._values = values
        return family

    @property
    def values(self) -> list[list[Any]] | None:
        """The values of each column in the order of their codes, if the family knows them."""
        return None

    def log_prior(self, distributions: CategoricalDistributions, statistics: CategoryCounts, prior: PriorSpec) -> float:
        """Return α Σ log p: a Dirichlet prior for each column."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        if pseudo is None or pseudo.amount == 0.0:
            return 0.0
        return pseudo.amount * float(log_of(distributions.probability).sum())

    def mode_prior(self, statistics: CategoryCounts, prior: PriorSpec) -> PriorSpec:
        """Return one observation less of every value; raise ValueError if the pseudo-count is less than 1."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        return None if pseudo is None else CountAtMode(pseudo.amount - 1.0)

    def comparable(self, other: Family) -> bool:
        """Return whether both give the same codes to the same values."""
        mine, theirs = (getattr(family, "_values", None) for family in (self, other))
        return self == other and mine == theirs and self._list_of_sizes() == other._list_of_sizes()  # type: ignore[attr-defined]

    def _list_of_sizes(self) -> list[int] | None:
        return None if self._sizes is None else [int(size) for size in self._sizes]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categorical) and self.unseen == other.unseen

    def __hash__(self) -> int:
        return hash((Categorical, self.unseen))


class _ValuedCategorical(Categorical):
    """A categorical family that maps the values of the user to codes and back."""

    def __init__(self, family: Categorical, columns: NDArray[Any]) -> None:
        super().__init__(family.unseen)
        self._values = [factorize(columns[:, j]).values for j in range(columns.shape[1])]

    @property
    def values(self) -> list[list[Any]]:
        """The values of each column in the order of their codes."""
        return self._values

    def with_values_of(self, x: Any) -> _ValuedCategorical:
        """Return the family with the values of the rows `x` added after those that it has."""
        columns = self._require_columns(rows_to_columns(as_objects_if_mixed(x)))
        grown = copy.copy(self)
        pairs = zip(self._values, _ValuedCategorical(self, columns)._values, strict=True)
        grown._values = [list(dict.fromkeys([*known, *more])) for known, more in pairs]
        return grown

    def _require_columns(self, columns: NDArray[Any]) -> NDArray[Any]:
        if columns.shape[1] != len(self._values):
            raise ValueError(f"the rows must have {len(self._values)} columns, but have {columns.shape[1]}")
        return columns

    def encode(self, x: ArrayLike | Codes) -> Codes:
        """Return the codes of the values, `UNSEEN` for new ones and `MISSING` for None and NaN."""
        columns = self._require_columns(rows_to_columns(as_objects_if_mixed(x)))
        codes = np.empty(columns.shape, dtype=np.intp)
        for j, values in enumerate(self._values):
            numbers = {value: number for number, value in enumerate(values)}
            cells = columns[:, j].tolist()
            codes[:, j] = [MISSING if is_missing(cell) else numbers.get(cell, UNSEEN) for cell in cells]
        return Codes(codes, np.array([len(values) for values in self._values]))

    def decode(self, rows: FloatArray) -> NDArray[Any]:
        """Return the values that belong to the codes."""
        known = [np.array([*values, None], dtype=object) for values in self._values]
        return np.stack([values[rows[:, j].astype(int)] for j, values in enumerate(known)], axis=1)

    def __repr__(self) -> str:
        return f"Categorical(unseen={self.unseen!r})"


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
        values = on_device_of(np.arange(size), x.codes)
        yield xp.astype(x.codes[:, j][:, None] == values[None, :], xp.float64)
