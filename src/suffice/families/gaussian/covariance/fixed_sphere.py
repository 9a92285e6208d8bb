"""A covariance that is given and not learned: spheres of one size, for soft k-means."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from suffice._arrays import FloatArray
from suffice.families.gaussian.covariance.posterior_means import TiedSpherical
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import Moments


class GivenSphere(TiedSpherical):
    """All classes and columns share one variance, which is given; its name says which, so that it can be saved."""

    PREFIX: ClassVar[str] = "given-sphere:"

    def __init__(self, variance: float) -> None:
        self.variance = float(variance)

    @property
    def name(self) -> str:  # type: ignore[override]
        """What makes this structure again."""
        return f"{self.PREFIX}{self.variance!r}"

    def estimate(
        self, moments: Moments, prior: NormalInverseWishart | None, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the variance that was given."""
        return np.full((1, moments.n_columns), self.variance)

    def prior_rows(self, prior: NormalInverseWishart, n_columns: int) -> float:
        """Return 0: there is nothing to believe."""
        return 0.0

    def n_parameters(self, k: int, d: int) -> int:
        """Return 0: nothing is free."""
        return 0

    def log_prior(self, compact: FloatArray, prior: NormalInverseWishart | None, *_: Any) -> float:
        """Return 0: there is nothing to believe."""
        return 0.0
