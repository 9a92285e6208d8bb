"""Text for the laws: random documents of a small dictionary."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from suffice.families.text import Text, WordDistributions

from .case import Case

WORDS = [f"w{number}" for number in range(5)]


class TextCase(Case):
    """Documents of three to nine words."""

    family: Text

    def rows(self, rng: np.random.Generator, classes: np.ndarray, d: int) -> np.ndarray:
        table = np.empty((len(classes), d), dtype=object)
        for j in range(d):
            p = rng.dirichlet(np.full(len(WORDS), 1.0), size=int(classes.max()) + 1)
            for row, c in enumerate(classes):
                table[row, j] = " ".join(rng.choice(WORDS, rng.integers(3, 10), p=p[c]))
        table[0] = " ".join(WORDS)  # so that dictionaries have this order
        return table

    def with_missing_cells(self, x: np.ndarray, rng: np.random.Generator, share: float = 0.2) -> np.ndarray:
        missing = rng.random(x.shape) < share
        missing[: len(x) // 2] = False
        filled = x.copy()
        filled[missing] = None
        return filled

    def encode(self, x: np.ndarray) -> Any:
        if x.dtype != object:
            return self.family.encode(x)
        if isinstance(x[0, 0], np.ndarray):  # the numbers of the words of drawn documents
            return self.family.encode(np.array([np.bincount(words, minlength=len(WORDS)) for words in x[:, 0]]))
        return self.family.with_values_of([" ".join(WORDS)]).encode(x[:, 0])

    def random(self, rng: np.random.Generator, k: int, d: int) -> WordDistributions:
        if self.family.counts == "bernoulli":
            p = rng.uniform(0.1, 0.9, size=(k, len(WORDS)))
        else:
            p = rng.dirichlet(np.full(len(WORDS), 3.0), size=k)
        weights = {"word_weight": np.ones(len(WORDS)), "mean_size": np.full(k, 6.0)}
        return self.family.with_parameters({"probability": p, **weights})

    def quadrature(self, distributions: WordDistributions) -> tuple[np.ndarray, np.ndarray]:
        p = distributions.probability[0]
        if self.family.counts == "bernoulli":
            rows = np.array(list(product([0.0, 1.0], repeat=len(p))))
            return rows, np.where(rows == 1.0, p, 1.0 - p).prod(1)
        return np.eye(len(p)), p  # one position, of which the log-normaliser is

    def perturbed(self, distributions: WordDistributions, rng: np.random.Generator, size: float) -> WordDistributions:
        p = distributions.probability
        if self.family.counts == "bernoulli":
            yes, no = (part * np.exp(size * rng.normal(size=p.shape)) for part in (p, 1.0 - p))
            p = yes / (yes + no)
        else:
            p = p * np.exp(size * rng.normal(size=p.shape))
            p /= p.sum(1, keepdims=True)
        return self.family.with_parameters({**distributions.parameters(), "probability": p})


TEXT = TextCase("text", Text(), takes_zero=False)
PRESENCE = TextCase("text-bernoulli", Text("bernoulli"), takes_zero=False)
