"""Families of one column at a time, and Dirichlet: random tables, and sums or integrals that are exact for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from suffice import Beta, Dirichlet, Exponential, Gamma, Geometric, InverseGaussian, LogNormal, NegativeBinomial
from suffice.families.dirichlet import DirichletDistributions

from .case import Case

Grid = tuple[np.ndarray, np.ndarray]


def counted(most: int) -> Grid:
    """Return the counts below `most`, each with a measure of 1."""
    return np.arange(float(most)), np.ones(most)


def positive(low: float, high: float, step: float) -> Grid:
    """Return nodes of the trapezoidal rule in log x, which converges faster than any power of the step."""
    u = np.arange(low, high, step)
    return np.exp(u), step * np.exp(u)


def unit_interval(width: float = 24.0, step: float = 0.4) -> Grid:
    """Return nodes of the trapezoidal rule in the log-odds of x."""
    u = np.arange(-width, width, step)
    x = 1.0 / (1.0 + np.exp(-u))
    return x, step * x / (1.0 + np.exp(u))


class Reference:
    """A distribution of SciPy with its parameters. SciPy's own frozen ones take a millisecond each to be made."""

    def __init__(self, distribution: Any, *args: Any, **kwargs: Any) -> None:
        self.distribution, self._args, self._kwargs = distribution, args, kwargs

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.distribution, name)
        return lambda *first, **more: method(*first, *self._args, **self._kwargs, **more)

    @property
    def is_discrete(self) -> bool:
        """Whether it has probabilities, and no density."""
        return hasattr(self.distribution, "pmf")


@dataclass(frozen=True, eq=False)
class ColumnwiseCase(Case):
    """Columns that are independent given the class, with SciPy's distribution of the same parameters."""

    #: random parameters, each k×d
    draw: Callable[[np.random.Generator, tuple[int, int]], dict[str, np.ndarray]] = None
    #: SciPy's distribution of the library's
    scipy: Callable[[Any], Reference] = None
    grid: Grid = None

    def rows(self, rng: np.random.Generator, classes: np.ndarray, d: int) -> np.ndarray:
        truth = self.random(rng, int(classes.max()) + 1, d)
        arrays = {name: values[classes] for name, values in truth.parameters().items()}
        reference = self.scipy(self.family.with_parameters(arrays))
        return np.asarray(reference.rvs(size=None, random_state=rng), dtype=np.float64)

    def random(self, rng: np.random.Generator, k: int, d: int) -> Any:
        return self.family.with_parameters(self.draw(rng, (k, d)))

    def quadrature(self, distributions: Any) -> tuple[np.ndarray, np.ndarray]:
        nodes, measure = self.grid
        d = distributions.n_columns
        rows = np.array(list(product(nodes, repeat=d)))
        weights = self.density(distributions, rows) * np.array(list(product(measure, repeat=d)))
        return rows, weights.prod(1)

    def density(self, distributions: Any, rows: np.ndarray) -> np.ndarray:
        """Return SciPy's density of each cell under the first class."""
        first = self.family.with_parameters({name: v[:1] for name, v in distributions.parameters().items()})
        reference = self.scipy(first)
        return reference.pmf(rows) if reference.is_discrete else reference.pdf(rows)

    def perturbed(self, distributions: Any, rng: np.random.Generator, size: float) -> Any:
        arrays = distributions.parameters()
        moved = {name: v * np.exp(size * rng.normal(size=v.shape)) for name, v in arrays.items()}
        return self.family.with_parameters(moved)


class DirichletCase(Case):
    """Parts of a whole."""

    def rows(self, rng: np.random.Generator, classes: np.ndarray, d: int) -> np.ndarray:
        alpha = rng.uniform(1.0, 8.0, size=(int(classes.max()) + 1, d))
        parts = rng.standard_gamma(alpha[classes])
        return parts / parts.sum(1, keepdims=True)

    def random(self, rng: np.random.Generator, k: int, d: int) -> DirichletDistributions:
        return DirichletDistributions(self.family, rng.uniform(1.5, 6.0, size=(k, d)))

    def quadrature(self, distributions: DirichletDistributions) -> tuple[np.ndarray, np.ndarray]:
        # the first part is Beta, then the second as a share of what is left, and so on
        alpha = distributions.alpha[0]
        nodes, measure = unit_interval()
        left = alpha[::-1].cumsum()[::-1]
        shares = np.array(list(product(nodes, repeat=len(alpha) - 1)))
        tables = [stats.beta.pdf(nodes, a, rest) * measure for a, rest in zip(alpha, left[1:], strict=False)]
        weights = np.array(list(product(*tables))).prod(1)
        remaining = np.hstack([np.ones((len(shares), 1)), np.cumprod(1.0 - shares, axis=1)])
        return remaining * np.hstack([shares, np.ones((len(shares), 1))]), weights

    def perturbed(
        self, distributions: DirichletDistributions, rng: np.random.Generator, size: float
    ) -> DirichletDistributions:
        alpha = distributions.alpha
        return DirichletDistributions(self.family, alpha * np.exp(size * rng.normal(size=alpha.shape)))


EXPONENTIAL = ColumnwiseCase(
    "exponential",
    Exponential(),
    draw=lambda rng, shape: {"rate": rng.uniform(0.3, 3.0, size=shape)},
    scipy=lambda found: Reference(stats.expon, scale=1.0 / found.rate),
    grid=positive(-27.0, 5.0, 0.2),
)
GAMMA = ColumnwiseCase(
    "gamma",
    Gamma(),
    takes_zero=False,
    draw=lambda rng, shape: {"shape": rng.uniform(2.0, 6.0, size=shape), "rate": rng.uniform(0.5, 3.0, size=shape)},
    scipy=lambda found: Reference(stats.gamma, found.shape, scale=1.0 / found.rate),
    grid=positive(-18.0, 5.0, 0.2),
)
INVERSE_GAUSSIAN = ColumnwiseCase(
    "inverse_gaussian",
    InverseGaussian(),
    takes_zero=False,
    draw=lambda rng, shape: {"location": rng.uniform(0.5, 2.0, shape), "shape": rng.uniform(1.0, 5.0, shape)},
    scipy=lambda found: Reference(stats.invgauss, found.location / found.shape, scale=found.shape),
    grid=positive(-6.0, 6.0, 0.2),
)
LOG_NORMAL = ColumnwiseCase(
    "lognormal",
    LogNormal(),
    takes_zero=False,
    draw=lambda rng, shape: {"means": rng.normal(size=shape), "compact": rng.uniform(0.2, 1.0, shape)},
    scipy=lambda found: Reference(stats.lognorm, found.scale, scale=np.exp(found.location)),
    grid=positive(-12.0, 12.0, 0.2),
)
NEGATIVE_BINOMIAL = ColumnwiseCase(
    "negative_binomial",
    NegativeBinomial(shape=2.5),
    draw=lambda rng, shape: {"odds": rng.uniform(0.1, 0.8, size=shape)},
    scipy=lambda found: Reference(stats.nbinom, found.family.shape, found.probability),
    grid=counted(60),
)
GEOMETRIC = ColumnwiseCase(
    "geometric",
    Geometric(),
    draw=lambda rng, shape: {"odds": rng.uniform(0.1, 0.8, size=shape)},
    scipy=lambda found: Reference(stats.geom, found.probability, loc=-1),
    grid=counted(50),
)
BETA = ColumnwiseCase(
    "beta",
    Beta(),
    takes_zero=False,
    draw=lambda rng, shape: {"a": rng.uniform(1.5, 6.0, size=shape), "b": rng.uniform(1.5, 6.0, size=shape)},
    scipy=lambda found: Reference(stats.beta, found.a, found.b),
    grid=unit_interval(),
)
DIRICHLET = DirichletCase("dirichlet", Dirichlet(), learns_missing=False, scores_missing=False, takes_zero=False)
