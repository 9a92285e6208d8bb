"""Distributions by name, and the ranking of families that fit a column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.errors import EstimateError
from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Distribution,
    Exponential,
    Family,
    Gamma,
    Gaussian,
    Geometric,
    InverseGaussian,
    LogNormal,
    NegativeBinomial,
    Poisson,
    as_family,
    plain_name,
)
from suffice.families.names import did_you_mean
from suffice.tables.factorize import NestedCellError, is_missing, is_nested
from suffice.tables.labels import as_objects_if_mixed, check_weight
from suffice.tables.results import library_of, result_frame

#: integers with at least this standard deviation are also compared with densities
SMOOTH_DEVIATION = 10.0
#: integers are compared with a Categorical distribution if there are at most this many values, with at least this many
#: rows per value
_MOST_VALUES = 20
_LEAST_ROWS = 5
#: squares of cells larger than this may overflow
_LARGE = 1e150


def distribution(name: str | Family, **parameters: Any) -> Family:
    """Return the family with the given name; its `fit` returns a `Distribution`.

    Parameters
    ----------
    name : str or Family
        The name of the family; upper case, spaces and hyphens are accepted.
    **parameters
        The parameters of the family, such as ``shape`` of the negative binomial.

    Examples
    --------
    >>> import suffice
    >>> rain = suffice.distribution("gamma").fit([1.0, 2.0, 4.0, 5.0])
    >>> rain
    <Gamma with shape 2.991, rate 0.997>
    >>> rain.shape.round(3)
    array([2.991])
    >>> suffice.distribution("negative_binomial", shape=3.0)
    NegativeBinomial(shape=3.0)
    """
    family = as_family(name)
    return type(family)(**parameters) if parameters else family


class FamilyScore(NamedTuple):
    """The fit of one family: the smaller its BIC, the better."""

    family: str
    bic: float
    aic: float
    log_likelihood: float
    n_parameters: int
    distribution: Distribution


@dataclass(frozen=True)
class FamilyRanking:
    """The families fitted to a column, in the order of their BIC, the best first.

    Attributes
    ----------
    table : list of FamilyScore
        The name, BIC, AIC, log-likelihood, number of parameters and fitted distribution of each family.
    skipped : dict
        The families that could not be fitted, with the reasons.
    values, weight : arrays of shape (n,)
        The observed cells, and their weights.
    library : str or None
        The data-frame library of the column.
    """

    table: list[FamilyScore]
    skipped: dict[str, str]
    values: NDArray[Any] = field(repr=False)
    weight: FloatArray = field(repr=False)
    library: str | None = None

    @property
    def best(self) -> Distribution:
        """The distribution with the smallest BIC."""
        return self.table[0].distribution

    def __iter__(self) -> Iterator[FamilyScore]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, family: str | int) -> FamilyScore:
        if isinstance(family, int):
            return self.table[family]
        for row in self.table:
            if plain_name(row.family) == plain_name(family):
                return row
        names = [row.family for row in self.table]
        raise KeyError(f"{family!r} is not among the families that were ranked: {names}{did_you_mean(family, names)}")

    def __repr__(self) -> str:
        head = f"{'family':<18} {'BIC':>12} {'AIC':>12} {'log-likelihood':>15} {'parameters':>10}"
        lines = [
            f"{row.family:<18} {_short(row.bic):>12} {_short(row.aic):>12} {_short(row.log_likelihood):>15} "
            f"{row.n_parameters:>10d}"
            for row in self.table
        ]
        return "\n".join([head, *lines, *(f"{name}: left out, {why}" for name, why in self.skipped.items())])

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with one row per family, the best first, without those that were left out.

        Its columns are "family", "bic", "aic", "log_likelihood" and "n_parameters".

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the column, or one that is installed.
        """
        names = FamilyScore._fields[:-1]
        columns = {name: [getattr(row, name) for row in self.table] for name in names}
        return result_frame(columns, library, known=self.library)

    def plot(self, ax: Any = None, *, most: int = 3) -> Any:
        """Plot the column with its best distributions, and return the axes; needs Matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to plot on; by default new ones.
        most : int, default 3
            The maximum number of families to plot, at least 1.
        """
        from suffice.plot.ranking import draw

        return draw(self, ax, most)


def best_family(x: Any, sample_weight: Any = None) -> FamilyRanking:
    """Fit every family whose support allows the cells of one column, and rank them by BIC.

    BIC = p log n − 2 log-likelihood, with n the total weight and p the number of parameters; fits are by maximum
    likelihood, and missing cells are left out. The families that are compared:

    - text: Categorical; booleans: Bernoulli;
    - non-negative integers: Poisson, Geometric, NegativeBinomial (its shape is fitted too, and counts as a parameter),
      Bernoulli for zeros and ones, Categorical if there are few values;
    - other numbers: Gaussian, and if all cells are in their support Exponential, Gamma, InverseGaussian,
      LogNormal and Beta.

    In general a density and a probability cannot be compared, because a density depends on the unit of measurement. For
    integers they can, because a density is approximately the probability of the unit interval around a number if it
    hardly changes over that interval. So integers are also compared with densities if their standard deviation is 10
    or more; non-negative integers with a smaller one are compared with probabilities only.

    Parameters
    ----------
    x : array of shape (n,), a column of a data frame, or a table with one column
        The cells of the column.
    sample_weight : array of shape (n,), optional
        The weight of each cell.

    Returns
    -------
    FamilyRanking
        The families in the order of their BIC, the best first.

    Examples
    --------
    >>> import numpy as np, suffice
    >>> waits = np.random.default_rng(0).gamma(3.0, 2.0, size=500)
    >>> ranking = suffice.best_family(waits)
    >>> ranking.best.family
    Gamma()
    >>> [row.family for row in ranking]
    ['gamma', 'lognormal', 'inverse_gaussian', 'gaussian', 'exponential']
    """
    values, weight = _column(x, sample_weight)
    rows: list[FamilyScore] = []
    skipped: dict[str, str] = {}
    too_large = _too_large(values)
    for family, more in _candidates(values, weight):
        try:
            with np.errstate(all="ignore"):
                found = family.fit(values, weight)
                logs = found.log_prob(values)
            log_likelihood = float(weight @ logs)
        except (ValueError, ArithmeticError) as error:  # LinAlgError is a ValueError
            skipped[family.name] = too_large or (error.problem if isinstance(error, EstimateError) else str(error))
            continue
        if not np.isfinite(log_likelihood):
            skipped[family.name] = too_large or "its likelihood has no maximum here"
            continue
        n_parameters = found.n_parameters + more
        bic = n_parameters * float(np.log(weight.sum())) - 2.0 * log_likelihood
        aic = 2.0 * n_parameters - 2.0 * log_likelihood
        rows.append(FamilyScore(family.name, bic, aic, log_likelihood, n_parameters, found))
    if not rows:
        raise ValueError(
            f"no family fits this column: {skipped}"
            + ("" if too_large else "; a column that never varies has no distribution to find")
        )
    return FamilyRanking(sorted(rows, key=lambda row: row.bic), skipped, values, weight, library_of(x))


def _short(number: float) -> str:
    return f"{number:.2f}" if abs(number) < 1e9 else f"{number:.3e}"


def _too_large(values: NDArray[Any]) -> str | None:
    """Return the reason for skipping a family if squares of the cells may overflow; None if they cannot."""
    size = float(np.abs(values).max()) if values.dtype.kind in "iuf" else 0.0
    if size <= _LARGE:
        return None
    return f"its sums overflow for cells of size {size:.0e}, so divide the column by a constant"


def _column(x: Any, sample_weight: Any) -> tuple[NDArray[Any], FloatArray]:
    """Return the observed cells with positive weight, and their weights."""
    array = as_objects_if_mixed(_as_array(x))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"best_family takes one column, but x has shape {array.shape}; pass one column at a time")
    weight = check_weight(sample_weight, len(array))
    weight = np.ones(len(array)) if weight is None else weight
    if array.dtype.kind == "O":
        nested = next((row for row, cell in enumerate(array.tolist()) if is_nested(cell)), None)
        if nested is not None:
            raise NestedCellError(nested, array[nested])
        there = np.array([not is_missing(cell) for cell in array.tolist()], dtype=bool)
        kept = array[there].tolist()
        numbers = all(isinstance(cell, (Real, Decimal, np.number)) for cell in kept)
        if kept and numbers and not all(isinstance(cell, bool) for cell in kept):
            array = np.array([float(cell) if here else np.nan for cell, here in zip(array, there, strict=True)])
        elif kept and all(isinstance(cell, bool) for cell in kept):
            array, weight = np.array(kept, dtype=bool), weight[there]
            there = np.ones(len(array), dtype=bool)
    if array.dtype.kind == "f":
        there = ~np.isnan(array)
        infinite = np.flatnonzero(np.isinf(array))
        if len(infinite):
            raise ValueError(f"cells must be finite, but row {infinite[0]} holds {array[infinite[0]]}; clean that cell")
    elif array.dtype.kind != "O":
        there = np.ones(len(array), dtype=bool)
    there &= weight > 0
    if not there.any():
        raise ValueError("best_family needs at least one cell, but all are missing or without weight")
    return array[there], weight[there]


def _as_array(x: Any) -> Any:
    """Return a column of a data-frame library as a NumPy array, with nulls as NaN or None."""
    if not hasattr(x, "to_numpy"):
        return x
    # an Arrow array with nulls cannot be converted without a copy, which has to be allowed explicitly
    return x.to_numpy(zero_copy_only=False) if type(x).__module__.startswith("pyarrow") else x.to_numpy()


def _candidates(values: NDArray[Any], weight: FloatArray) -> Iterator[tuple[Family, int]]:
    """Yield the families whose support contains the values, each with its number of parameters not counted by `fit`."""
    if values.dtype.kind not in "biuf":
        yield Categorical(), 0
        return
    if values.dtype.kind == "b":
        yield Bernoulli(), 0
        return
    numbers = values.astype(np.float64)
    lowest = numbers.min()
    whole = bool((numbers == np.floor(numbers)).all())
    mean = float(np.average(numbers, weights=weight))
    with np.errstate(over="ignore"):
        variance = float(np.average((numbers - mean) ** 2, weights=weight))
    if whole and lowest >= 0:
        yield from _of_counts(numbers, weight, mean, variance)
        if variance < SMOOTH_DEVIATION**2:
            return
    yield Gaussian(), 0
    if lowest >= 0:
        yield Exponential(), 0
    if lowest > 0:
        yield Gamma(), 0
        yield InverseGaussian(), 0
        yield LogNormal(), 0
        if numbers.max() < 1:
            yield Beta(), 0


def _of_counts(numbers: FloatArray, weight: FloatArray, mean: float, variance: float) -> Iterator[tuple[Family, int]]:
    yield Poisson(), 0
    yield Geometric(), 0
    if np.inf > variance > mean > 0:  # otherwise the best shape is infinite, which is Poisson
        yield NegativeBinomial(_best_shape(numbers, weight, mean, variance)), 1
    if numbers.max() <= 1:
        yield Bernoulli(), 0
    if len(np.unique(numbers)) <= min(_MOST_VALUES, weight.sum() / _LEAST_ROWS):
        yield Categorical(), 0


def _best_shape(numbers: FloatArray, weight: FloatArray, mean: float, variance: float) -> float:
    """Return the maximum likelihood shape of a negative binomial with the mean of the counts."""
    from scipy.optimize import minimize_scalar

    counts, number = np.unique(numbers, return_inverse=True)
    totals = np.bincount(number, weights=weight)

    def loss(log_shape: float) -> float:
        family = NegativeBinomial(float(np.exp(log_shape)))
        return -float(totals @ family.from_moments(np.array([[mean]])).score(counts[:, None])[:, 0])

    start = float(np.log(mean**2 / (variance - mean)))  # from the variance, mean + mean²/r
    found = minimize_scalar(loss, bounds=(start - 6.0, start + 6.0), method="bounded", options={"xatol": 1e-8})
    return float(np.exp(found.x))
