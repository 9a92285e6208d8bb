"""A covariance that is given and not estimated: spheres of one size, for soft k-means."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from suffice._arrays import FloatArray
from suffice.families.gaussian.covariance.posterior_means import TiedSpherical
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import Moments


class GivenSphere(TiedSpherical):
    """One given variance for all classes and columns; its name contains the number, so that it can be saved."""

    PREFIX: ClassVar[str] = "given-sphere:"

    def __init__(self, variance: float) -> None:
        self.variance = float(variance)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name from which `as_structure` makes this structure again."""
        return f"{self.PREFIX}{self.variance!r}"

    def estimate(
        self, moments: Moments, prior: NormalInverseWishart | None, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the variance that was given."""
        return np.full((1, moments.n_columns), self.variance)

    def prior_rows(self, prior: NormalInverseWishart, n_columns: int) -> float:
        """Return 0: a given variance has no prior."""
        return 0.0

    def n_parameters(self, k: int, d: int) -> int:
        """Return 0: no parameter is free."""
        return 0

    def log_prior(self, compact: FloatArray, prior: NormalInverseWishart | None, *_: Any) -> float:
        """Return 0: a given variance has no prior."""
        return 0.0
