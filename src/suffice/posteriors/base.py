"""The interface of every posterior of parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import FloatArray
from suffice.families.base import Distributions, Family
from suffice.families.distribution import Distribution
from suffice.families.left_out import LeftOut, Refitted
from suffice.priors import Prior, PriorSpec
from suffice.statistics.base import Statistics
from suffice.statistics.responsibilities import Labels
from suffice.tables.labels import check_weight
from suffice.tables.results import result_frame


class Interval(NamedTuple):
    """The lower and upper ends of intervals, each in the shape of the parameters."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Posterior(ABC):
    """p(θ | statistics) for the parameters of one block of columns, one row per class.

    It is a function of the statistics and the prior, so that ``posterior + more`` is the posterior of all the rows.
    A prior that is scaled to the data, such as "auto", is scaled again to all of them.
    """

    family: Family
    statistics: Any
    prior: PriorSpec

    #: the kinds of prior that it takes
    priors: ClassVar[tuple[type[Prior], ...]] = ()
    #: the name of its parameter, in frames
    parameter: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        self._require_prior()

    @abstractmethod
    def _require_prior(self) -> None:
        """Raise unless there is a prior of the right kind and size."""

    def update(self, statistics: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Return the posterior after more rows, given by their statistics, or as rows if there is one class."""
        family, more = as_statistics(self.family, statistics, sample_weight)
        return type(self)(family, self.statistics + more, self.prior)

    def __add__(self, statistics: Any) -> Self:
        return self.update(statistics)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.statistics.n_classes)

    @abstractmethod
    def mean(self) -> Any:
        """Return the posterior mean of the parameters."""

    @abstractmethod
    def map(self) -> Distributions:
        """Return the distributions at the mode of the posterior density."""

    @abstractmethod
    def interval(self, level: float = 0.95) -> Any:
        """Return equal-tailed intervals that contain each parameter with probability `level`."""

    def to_frame(self, level: float = 0.95, library: str | None = None) -> Any:
        """Return a data frame with the posterior mean and the interval of every parameter.

        Its columns are "class" and "column" (positions), "parameter", "of" (the category of a probability), "mean",
        "low" and "high".

        Parameters
        ----------
        level : float, default 0.95
            The probability of the equal-tailed intervals.
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default one that is installed.

        Examples
        --------
        >>> from suffice import Categorical, DirichletPrior
        >>> sky = Categorical().posterior(["sun", "rain", "sun"], DirichletPrior(1.0))
        >>> sky.to_frame(0.9, "pandas").round(2)
           class  column    parameter    of  mean   low  high
        0      0       0  probability  rain   0.4  0.10  0.75
        1      0       0  probability   sun   0.6  0.25  0.90
        """
        estimates = self._estimates(level)
        labels = self._labels(estimates[0][1].shape[1])
        columns: dict[str, list[Any]] = {
            name: [] for name in ("class", "column", "parameter", "of", "mean", "low", "high")
        }
        for name, mean, interval in estimates:
            shape = (self.n_classes, len(labels))
            columns["class"] += np.repeat(np.arange(shape[0]), shape[1]).tolist()
            columns["column"] += [column for column, _ in labels] * shape[0]
            columns["of"] += [value for _, value in labels] * shape[0]
            columns["parameter"] += [name] * (shape[0] * shape[1])
            for end, values in (("mean", mean), ("low", interval.low), ("high", interval.high)):
                columns[end] += np.broadcast_to(values, shape).ravel().tolist()
        return result_frame(columns, library)

    def _labels(self, n_parameters: int) -> list[tuple[int, Any]]:
        """Return the column of each parameter of a class, and the category that it is the probability of, or None."""
        return [(column, None) for column in range(n_parameters)]

    def _estimates(self, level: float) -> list[tuple[str, FloatArray, Interval]]:
        """Return the name, the mean and the interval of each kind of parameter, broadcast to k×p."""
        return [(self.parameter, self.mean(), self.interval(level))]

    @abstractmethod
    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> Any:
        """Return `n` draws of the parameters, n×k×…."""

    @abstractmethod
    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return log p(rows) with the parameters integrated out, (k,).

        Parameters
        ----------
        x : array, optional
            The rows themselves, if there is one class. Only Poisson and Multinomial need them, for Σ log h(x), which
            the statistics do not contain: without `x` it is left out. It is the same for every prior.
        """

    @abstractmethod
    def predictives(self) -> Distributions:
        """Return the predictive p(x | statistics) of one more row, with the parameters integrated out, per class."""

    def left_out(self, predictives: Any) -> LeftOut:
        """Return the scores of rows by the predictives without each of them, given those of all rows.

        What the prior takes from the data stays as it is for all rows.
        """
        return Refitted(
            self.family,
            self.statistics,
            predictives,
            lambda left: type(self)(self.family, left, self.prior).predictives(),
        )

    def predictive(self) -> Distribution:
        """Return the predictive p(x | statistics) of one more row, if there is one class."""
        return self._only(self.predictives())

    def _only(self, predictives: Distributions) -> Distribution:
        if self.n_classes != 1:
            raise ValueError(
                f"one predictive belongs to one class, but there are {self.n_classes}; predictives() has all of them, "
                f"and predictives()[0] is that of the first"
            )
        return predictives[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.family!r}, {self.n_classes} classes>"


def as_statistics(family: Family, rows: Any, sample_weight: ArrayLike | None = None) -> tuple[Family, Any]:
    """Return statistics unchanged, or rows as the statistics of one class, with the family that reads them."""
    if isinstance(rows, Statistics):
        if sample_weight is not None:
            raise ValueError("statistics hold the weights of their rows already; pass sample_weight beside rows only")
        return family, rows
    family = family.with_values_of(rows)
    values = family.encode(rows)
    n = values.shape[0]
    return family, family.statistics(values, Labels(np.zeros(n, dtype=np.intp), check_weight(sample_weight, n), 1))


def of_shape(values: ArrayLike, shape: tuple[int, ...], what: str) -> FloatArray:
    """Return the parameters of a prior broadcast to a shape; raise ValueError if they do not fit."""
    given = np.asarray(values, dtype=np.float64)
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(
            f"{what} must be a number or broadcast to the shape {shape} of the parameters, but is of shape "
            f"{given.shape}"
        ) from None


def tails(level: float) -> tuple[float, float]:
    """Return the lower and the upper probability of an equal-tailed interval."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"the level of an interval must be between 0 and 1, such as 0.95, but is {level!r}")
    return 0.5 * (1.0 - level), 0.5 * (1.0 + level)


def base_measure(family: Family, x: ArrayLike | None, n_classes: int) -> float:
    """Return Σ log h(x) over the rows, 0 without rows."""
    if x is None:
        return 0.0
    if n_classes != 1:
        raise ValueError(f"the rows can be given where there is one class, but there are {n_classes}; leave out x")
    return float(np.sum(family.log_base_measure(family.encode(x))))
