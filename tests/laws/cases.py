"""Every family and structure, with random tables for each: the laws run over this list."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from suffice import Bernoulli, Categorical, Gaussian, Multinomial, Poisson, Text
from suffice.families.bernoulli import BernoulliDistributions
from suffice.families.categorical_distributions import CategoricalDistributions
from suffice.families.codes import Codes
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.covariance import STRUCTURES
from suffice.families.gaussian.covariance.posterior_means import PosteriorMean
from suffice.families.multinomial import MultinomialDistributions
from suffice.families.poisson import PoissonDistributions

from .case import Case, Shape, law, shapes
from .columnwise_cases import (
    BETA,
    DIRICHLET,
    EXPONENTIAL,
    GAMMA,
    GEOMETRIC,
    INVERSE_GAUSSIAN,
    LOG_NORMAL,
    NEGATIVE_BINOMIAL,
)
from .text_cases import PRESENCE, TEXT

__all__ = ["Case", "Shape", "law", "shapes"]


class GaussianCase(Case):
    """Correlated columns."""

    def rows(self, rng: np.random.Generator, classes: np.ndarray, d: int) -> np.ndarray:
        k = int(classes.max()) + 1
        means, factors = 2.0 * rng.normal(size=(k, d)), rng.normal(size=(k, d, d)) + np.eye(d)
        z = rng.normal(size=(len(classes), d))
        return means[classes] + np.einsum("nij,nj->ni", factors[classes], z)

    def random(self, rng: np.random.Generator, k: int, d: int) -> GaussianDistributions:
        structure = self.family.structure
        means = rng.normal(size=(k, d))
        shared = 1 if structure.tied else k
        if structure.diagonal:
            width = 1 if "spherical" in structure.name else d
            compact = np.repeat(rng.uniform(0.5, 2.0, size=(shared, width)), d // width, axis=1)
        else:
            factors = 0.6 * rng.normal(size=(shared, d, d))
            compact = factors @ factors.transpose(0, 2, 1) + 0.5 * np.eye(d)
        return GaussianDistributions(self.family, means, compact)

    def quadrature(self, distributions: GaussianDistributions) -> tuple[np.ndarray, np.ndarray]:
        # five Gauss-Hermite nodes are exact for polynomials of degree 9; the covariance of x x' needs degree 4
        nodes, weights = np.polynomial.hermite_e.hermegauss(5)
        d = distributions.means.shape[1]
        z = np.array(list(product(nodes, repeat=d)))
        w = np.array([np.prod(some) for some in product(weights / weights.sum(), repeat=d)])
        return distributions.means[0] + z @ np.linalg.cholesky(distributions.covariance()[0]).T, w

    def perturbed(
        self, distributions: GaussianDistributions, rng: np.random.Generator, size: float
    ) -> GaussianDistributions:
        compact, structure = distributions.compact, self.family.structure
        d = compact.shape[-1]
        if structure.diagonal:
            width = 1 if "spherical" in structure.name else d
            compact = compact * np.exp(size * rng.normal(size=(len(compact), width)))
        else:
            factor = np.eye(d) + size * rng.normal(size=(len(compact), d, d))
            compact = factor @ compact @ factor.transpose(0, 2, 1)
        scale = np.sqrt(distributions.variance())
        means = distributions.means + size * scale * rng.normal(size=distributions.means.shape)
        return GaussianDistributions(self.family, means, compact)


class BernoulliCase(Case):
    """Zeros and ones."""

    def rows(self, rng: np.random.Generator, classes: np.ndarray, d: int) -> np.ndarray:
        p = rng.uniform(0.15, 0.85, size=(int(classes.max()) + 1, d))
        return (rng.random((len(classes), d)) < p[classes]).astype(np.float64)

    def random(self, rng: np.random.Generator, k: int, d: int) -> BernoulliDistributions:
        return BernoulliDistributions(Bernoulli(), rng.uniform(0.1, 0.9, size=(k, d)))

    def quadrature(self, distributions: BernoulliDistributions) -> tuple[np.ndarray, np.ndarray]:
        p = distributions.probability[0]
        rows = np.array(list(product([0.0, 1.0], repeat=len(p))))
        return rows, np.where(rows == 1.0, p, 1.0 - p).prod(1)

    def perturbed(
        self, distributions: BernoulliDistributions, rng: np.random.Generator, size: float
    ) -> BernoulliDistributions:
        p = distributions.probability
        yes, no = (part * np.exp(size * rng.normal(size=p.shape)) for part in (p, 1.0 - p))
        return BernoulliDistributions(Bernoulli(), yes / (yes + no))


class CategoricalCase(Case):
    """Whole numbers that stand for values; column j has 2 + j mod 3 of them."""

    @staticmethod
    def sizes(d: int) -> np.ndarray:
        return 2 + np.arange(d) % 3

    def rows(self, rng: np.random.Generator, classes: np.ndarray, d: int) -> np.ndarray:
        columns = []
        for size in self.sizes(d):
            cumulated = rng.dirichlet(np.full(size, 2.0), size=int(classes.max()) + 1).cumsum(1)
            columns.append((rng.random(len(classes))[:, None] > cumulated[classes, :-1]).sum(1))
        return np.stack(columns, axis=1)

    def with_every_value(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = np.stack([np.arange(4) % size for size in self.sizes(x.shape[1])], axis=1)
        return np.concatenate([x, values]), np.concatenate([y, np.zeros(4, dtype=int)])

    def encode(self, x: np.ndarray) -> Codes:
        return Codes(np.asarray(x, dtype=np.intp), self.sizes(x.shape[1]))

    def random(self, rng: np.random.Generator, k: int, d: int) -> CategoricalDistributions:
        sizes = self.sizes(d)
        p = np.concatenate([rng.dirichlet(np.full(size, 3.0), size=k) for size in sizes], axis=1)
        return CategoricalDistributions(p, sizes, np.zeros((k, d)), self.family)

    def quadrature(self, distributions: CategoricalDistributions) -> tuple[np.ndarray, np.ndarray]:
        bounds = np.cumsum(distributions.sizes)[:-1]
        tables = np.split(distributions.probability[0], bounds)
        rows = np.array(list(product(*(range(len(table)) for table in tables))))
        return rows, np.prod([table[rows[:, j]] for j, table in enumerate(tables)], axis=0)

    def perturbed(
        self, distributions: CategoricalDistributions, rng: np.random.Generator, size: float
    ) -> CategoricalDistributions:
        p = distributions.probability * np.exp(size * rng.normal(size=distributions.probability.shape))
        columns = np.split(p, np.cumsum(distributions.sizes)[:-1], axis=1)
        p = np.concatenate([column / column.sum(1, keepdims=True) for column in columns], axis=1)
        return CategoricalDistributions(p, distributions.sizes, distributions.unseen_mass, self.family)


class MultinomialCase(Case):
    """Bags of three to nine draws."""

    def rows(self, rng: np.random.Generator, classes: np.ndarray, d: int) -> np.ndarray:
        p = rng.dirichlet(np.full(d, 2.0), size=int(classes.max()) + 1)
        return rng.multinomial(rng.integers(3, 10, len(classes)), p[classes]).astype(np.float64)

    def random(self, rng: np.random.Generator, k: int, d: int) -> MultinomialDistributions:
        return MultinomialDistributions(rng.dirichlet(np.full(d, 3.0), size=k), np.full(k, 6.0))

    def quadrature(self, distributions: MultinomialDistributions) -> tuple[np.ndarray, np.ndarray]:
        p = distributions.probability[0]  # one draw: the log-normaliser is that of one draw
        return np.eye(len(p)), p

    def perturbed(
        self, distributions: MultinomialDistributions, rng: np.random.Generator, size: float
    ) -> MultinomialDistributions:
        p = distributions.probability * np.exp(size * rng.normal(size=distributions.probability.shape))
        return MultinomialDistributions(p / p.sum(1, keepdims=True), distributions.mean_size)


class PoissonCase(Case):
    """Counts."""

    def rows(self, rng: np.random.Generator, classes: np.ndarray, d: int) -> np.ndarray:
        rate = rng.uniform(0.5, 6.0, size=(int(classes.max()) + 1, d))
        return rng.poisson(rate[classes]).astype(np.float64)

    def random(self, rng: np.random.Generator, k: int, d: int) -> PoissonDistributions:
        return PoissonDistributions(Poisson(), rng.uniform(0.3, 4.0, size=(k, d)))

    def quadrature(self, distributions: PoissonDistributions) -> tuple[np.ndarray, np.ndarray]:
        rate = distributions.rate[0]
        counts = np.arange(40.0) if len(rate) <= 2 else np.arange(25.0)
        rows = np.array(list(product(counts, repeat=len(rate))))
        return rows, stats.poisson.pmf(rows, rate).prod(1)

    def perturbed(
        self, distributions: PoissonDistributions, rng: np.random.Generator, size: float
    ) -> PoissonDistributions:
        return PoissonDistributions(
            Poisson(), distributions.rate * np.exp(size * rng.normal(size=distributions.rate.shape))
        )


#: the structures that average scatters, and of those that iterate one with each layout of moments;
#: tests/families/gaussian/test_covariance.py has what is true of all fourteen
AVERAGES: list[GaussianCase] = [
    GaussianCase(f"gaussian-{name}", Gaussian(name), learns_missing=structure.diagonal)
    for name, structure in STRUCTURES.items()
    if isinstance(structure, PosteriorMean)
]
ITERATED: list[GaussianCase] = [
    GaussianCase(f"gaussian-{name}", Gaussian(name), learns_missing=STRUCTURES[name].diagonal)
    for name in ("VEI", "VVE")
]
GAUSSIANS: list[GaussianCase] = [*AVERAGES, *ITERATED]
BERNOULLI = BernoulliCase("bernoulli", Bernoulli())
CATEGORICAL = CategoricalCase("categorical", Categorical())
MULTINOMIAL = MultinomialCase("multinomial", Multinomial(), learns_missing=False, scores_missing=False)
POISSON = PoissonCase("poisson", Poisson())
COLUMNWISE = [EXPONENTIAL, GAMMA, INVERSE_GAUSSIAN, LOG_NORMAL, NEGATIVE_BINOMIAL, GEOMETRIC, BETA]
#: the cases whose rows are numbers
ARRAYS: list[Case] = [*GAUSSIANS, BERNOULLI, CATEGORICAL, MULTINOMIAL, POISSON, *COLUMNWISE, DIRICHLET]
CASES: list[Case] = [*ARRAYS, TEXT, PRESENCE]


def each(cases: list[Any]) -> pytest.MarkDecorator:
    """Run a test for each of the cases."""
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


# -- what it means to be the same -------------------------------------------------------------------------------


def figures(statistics: Any) -> dict[str, np.ndarray]:
    """Return what a statistic says, whatever centre it was taken about."""
    if hasattr(statistics, "center"):
        return {"count": statistics.count, "mean": statistics.mean, "scatter": statistics.scatter}
    return statistics.arrays()


def assert_same_statistics(actual: Any, expected: Any, *, rtol: float = 1e-10, scale: float = 1.0) -> None:
    """Check that two statistics say the same; `scale` is how large the sums were on the way."""
    mine, theirs = figures(actual), figures(expected)
    assert mine.keys() == theirs.keys()
    for name in mine:
        np.testing.assert_allclose(mine[name], theirs[name], rtol=rtol, atol=rtol * scale, err_msg=name)


def parameters(distributions: Any) -> list[np.ndarray]:
    """Return the parameters of some distributions."""
    if isinstance(distributions, GaussianDistributions):
        return [distributions.means, distributions.compact]
    return [distributions.moment_parameters()]


def in_order_of_words(model: Any, number: int) -> list[np.ndarray]:
    """Return the parameters of a block; those of words, which are numbered as they come, in alphabetical order."""
    block, found = model.schema_.blocks[number], parameters(model.distributions_[number])
    if not isinstance(block.family, Text):
        return found
    words = model.schema_.categories[block.columns[0]].values
    return [values[:, np.argsort(words)] for values in found]


def assert_same_model(actual: Any, expected: Any, X: Any, *, rtol: float = 1e-9) -> None:
    """Check that two classifiers have the same classes, parameters and posteriors."""
    np.testing.assert_array_equal(actual.classes_, expected.classes_)
    np.testing.assert_allclose(actual.class_log_prior_, expected.class_log_prior_, rtol=rtol, atol=rtol)
    assert len(actual.distributions_) == len(expected.distributions_)
    for number in range(len(actual.distributions_)):
        mine, theirs = (in_order_of_words(model, number) for model in (actual, expected))
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(actual.predict_proba(X), expected.predict_proba(X), rtol=0, atol=rtol)
