"""Several models on the same split, and their accuracy, log-loss and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss

from suffice._arrays import FloatArray
from suffice.estimators import GenerativeClassifier

#: the bin edges of the largest probability, which is at least a half for two classes
EDGES = np.linspace(0.5, 1.0, 6)


@dataclass(frozen=True)
class Entry:
    """A model's name, the preprocessing that it needed, and its probabilities for the test rows."""

    name: str
    preparation: str
    probabilities: FloatArray


@dataclass(frozen=True)
class Contest:
    """One split of one table, our model of the training rows, and the probabilities of all models for the test rows.

    Parameters
    ----------
    train, test : Arrow tables
    train_labels, test_labels : arrays of labels
    train_weight, test_weight : arrays of weights
    model : GenerativeClassifier
    entries : tuple of Entry
        Ours first.
    """

    train: Any
    test: Any
    train_labels: NDArray[Any]
    test_labels: NDArray[Any]
    train_weight: FloatArray
    test_weight: FloatArray
    model: GenerativeClassifier
    entries: tuple[Entry, ...]

    def accuracy(self, entry: Entry) -> float:
        """Return the weighted accuracy."""
        predicted = self.model.classes_[entry.probabilities.argmax(axis=1)]
        return float(accuracy_score(self.test_labels, predicted, sample_weight=self.test_weight))

    def log_loss(self, entry: Entry) -> float:
        """Return the weighted mean of −log p(true class)."""
        return float(
            log_loss(
                self.test_labels,
                entry.probabilities,
                sample_weight=self.test_weight,
                labels=self.model.classes_.tolist(),
            )
        )

    def measures(self, entry: Entry) -> tuple[float, float, float]:
        """Return accuracy, log-loss and expected calibration error."""
        return self.accuracy(entry), self.log_loss(entry), self.calibration_error(entry)

    def reliability(self, entry: Entry) -> list[Bin]:
        """Return the mean probability and the accuracy of the predictions, per bin of the largest probability."""
        sure = entry.probabilities.max(axis=1)
        right = self.model.classes_[entry.probabilities.argmax(axis=1)] == self.test_labels
        places = np.clip(np.searchsorted(EDGES, sure, side="right") - 1, 0, len(EDGES) - 2)
        bins = []
        for place in range(len(EDGES) - 1):
            here = places == place
            weight = self.test_weight[here]
            total = float(weight.sum())
            bins.append(
                Bin(
                    int(here.sum()),
                    total,
                    float(weight @ sure[here]) / total if total else np.nan,
                    float(weight @ right[here]) / total if total else np.nan,
                )
            )
        return bins

    def calibration_error(self, entry: Entry) -> float:
        """Return the expected calibration error: the weighted mean of |said − right| over the bins."""
        bins = [one for one in self.reliability(entry) if one.weight]
        return sum(one.weight * abs(one.said - one.right) for one in bins) / sum(one.weight for one in bins)


@dataclass(frozen=True)
class Bin:
    """Rows with similar probabilities: their number and weight, mean probability (`said`) and accuracy (`right`)."""

    rows: int
    weight: float
    said: float
    right: float


def over_splits(contests: Sequence[Contest]) -> list[tuple[FloatArray, FloatArray]]:
    """Return the mean and the standard deviation of each entry's measures over several splits."""
    measured = np.array([[contest.measures(entry) for entry in contest.entries] for contest in contests])
    return list(zip(measured.mean(axis=0), measured.std(axis=0), strict=True))
