"""What a family needs to be held to the laws: random tables, parameters and perturbations of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from suffice import Family, GenerativeClassifier

#: few examples per law, for there are many laws, and many cases for each; at night more
law = settings(max_examples=6) if settings().derandomize else settings(max_examples=100)


@dataclass(frozen=True)
class Shape:
    """How large a random table is, and the seed of its cells."""

    seed: int
    extra: int
    d: int
    k: int

    @property
    def rng(self) -> np.random.Generator:
        """A fresh generator with this seed."""
        return np.random.default_rng(self.seed)

    def labels(self, rng: np.random.Generator) -> np.ndarray:
        """Return labels in random order, d + 4 rows or more for each class."""
        y = np.concatenate([np.repeat(np.arange(self.k), self.d + 4), rng.integers(0, self.k, self.extra)])
        return rng.permutation(y)


def shapes(max_d: int = 4) -> st.SearchStrategy[Shape]:
    """Return a strategy for shapes of two to four classes."""
    return st.builds(Shape, st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(1, max_d), st.integers(2, 4))


@dataclass(frozen=True)
class Case(ABC):
    """A family, with random tables, parameters and perturbations of its own."""

    name: str
    family: Family
    #: whether rows with missing cells can be learned from, and predicted
    learns_missing: bool = True
    scores_missing: bool = True
    #: whether 0 is a possible cell, so that rows can be sparse
    takes_zero: bool = True

    @abstractmethod
    def rows(self, rng: np.random.Generator, classes: np.ndarray, d: int) -> np.ndarray:
        """Return one random row a label, each class with parameters of its own, without the library's help."""

    @abstractmethod
    def random(self, rng: np.random.Generator, k: int, d: int) -> Any:
        """Return distributions with random parameters."""

    @abstractmethod
    def quadrature(self, distributions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and probability weights that give E φ and Cov φ of the first class exactly."""

    @abstractmethod
    def perturbed(self, distributions: Any, rng: np.random.Generator, size: float) -> Any:
        """Return distributions of the same structure with parameters a little off."""

    def table(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        """Return random rows and their labels."""
        rng = shape.rng
        y = shape.labels(rng)
        return self.rows(rng, y, shape.d), y

    def with_every_value(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and labels with further rows where a model must have seen every value that the case can have."""
        return x, y

    def with_missing_cells(self, x: np.ndarray, rng: np.random.Generator, share: float = 0.2) -> np.ndarray:
        """Return the rows as floats with some cells missing, but none in the first rows."""
        missing = rng.random(x.shape) < share
        missing[: len(x) // 2] = False
        return np.where(missing, np.nan, x.astype(np.float64))

    def encode(self, x: np.ndarray) -> Any:
        """Return rows as the family's kernels read them."""
        return self.family.encode(x)

    def model(self, **params: Any) -> GenerativeClassifier:
        """Return a classifier with this family for all columns."""
        return GenerativeClassifier(families=self.family, **params)
