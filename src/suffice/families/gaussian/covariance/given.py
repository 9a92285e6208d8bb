"""Covariances that are given and not estimated: one for all classes, as in soft k-means."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import FloatArray
from suffice.families.gaussian.covariance.structure import Covariance, expected_log_likelihood
from suffice.priors import NormalInverseWishart, require_positive_definite
from suffice.statistics.moments import DiagonalMoments, Moments, TiedMoments


class Given(Covariance):
    """A structure in which all classes have one given covariance; its name holds the numbers, so that it is saved."""

    #: no volume, shape or orientation is free
    code: ClassVar[str] = "III"
    prefix: ClassVar[str]

    def __init__(self, values: ArrayLike) -> None:
        self._values = np.array(values, dtype=np.float64)
        require_positive_definite(np.atleast_1d(self._values), f"the covariance of a {type(self).__name__}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name from which `as_structure` makes this structure again."""
        return f"{self.prefix}{json.dumps(self._values.tolist())}"

    @classmethod
    def named(cls, name: str) -> Self | None:
        """Return the structure with this name; None if it is the name of another kind.

        Parameters
        ----------
        name : str
            The name, which holds the numbers.
        """
        return cls(json.loads(name.removeprefix(cls.prefix))) if name.startswith(cls.prefix) else None

    @abstractmethod
    def compact(self, n_columns: int) -> FloatArray:
        """Return the given variances, (d,), or covariance, (d, d).

        Parameters
        ----------
        n_columns : int
            The number of columns d; ValueError unless the covariance is of as many.
        """

    def estimate(
        self, moments: Moments, prior: NormalInverseWishart | None, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the covariance that was given."""
        return self.compact(moments.n_columns)[None]

    def prior_rows(self, prior: NormalInverseWishart, n_columns: int) -> float:
        """Return 0: a given covariance has no prior."""
        return 0.0

    def _prior_covariance(self, moments: Moments, prior: NormalInverseWishart) -> FloatArray:
        return self.compact(moments.n_columns)

    def log_prior(
        self,
        compact: FloatArray,
        prior: NormalInverseWishart | None,
        k: int,
        d: int,
        means: FloatArray | None = None,
    ) -> float:
        """Return −½κ Σ (μ_c − m)ᵀ Σ⁻¹ (μ_c − m): only the means have a prior."""
        if prior is None or prior.mean_count == 0.0 or means is None:
            return 0.0
        pull = self._pull(means, prior, 1)
        scatter = np.diagonal(pull, axis1=1, axis2=2) if self.diagonal else pull
        return expected_log_likelihood(compact, scatter, np.zeros((1, 1)))

    def _require_columns(self, n_columns: int) -> None:
        if len(self._values) != n_columns:
            raise ValueError(
                f"{type(self).__name__} gives the covariance of {len(self._values)} columns, but there are "
                f"{n_columns} Gaussian ones; give one row and column for each of them"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values.tolist()!r})"


class GivenSphere(Given):
    """One given variance for all columns and classes: Σ = σ²I.

    ``GivenSphere(1.0)`` are the unit spheres of soft k-means. It is a covariance structure:
    ``Gaussian(GivenSphere(1.0))`` is a family, and every estimator with a setting `covariance` takes it.

    Parameters
    ----------
    variance : float
        The variance σ², more than 0.

    Examples
    --------
    >>> from suffice import Gaussian, GivenSphere, Mixture
    >>> Gaussian(GivenSphere(1.0)).fit([[1.0, 2.0], [3.0, 6.0]])
    <Gaussian(covariance=GivenSphere(1.0)) with mean [2. 4.], variance [1. 1.]>
    >>> mixture = Mixture(2, covariance=GivenSphere(1.0), random_state=0).fit([[0.0], [0.2], [5.0]])
    >>> mixture.means_.round(2).ravel().tolist(), mixture.covariances_.ravel().tolist()
    ([0.1, 5.0], [1.0, 1.0])
    """

    prefix: ClassVar[str] = "given-sphere:"
    layout: ClassVar[type[Moments]] = DiagonalMoments

    def __init__(self, variance: float) -> None:
        if np.ndim(variance) != 0:
            raise ValueError(f"a GivenSphere has one variance, not {variance!r}; use GivenDiagonal or GivenCovariance")
        super().__init__(variance)

    @property
    def variance(self) -> float:
        """The variance that was given."""
        return float(self._values)

    def compact(self, n_columns: int) -> FloatArray:
        """Return the variance, once per column."""
        return np.full(n_columns, self.variance)


class GivenDiagonal(Given):
    """A given variance per column, the same in all classes: Σ = diag(σ²).

    Parameters
    ----------
    variances : array of shape (d,)
        The variances, in the order of the Gaussian columns.

    Examples
    --------
    >>> from suffice import Gaussian, GivenDiagonal
    >>> Gaussian(GivenDiagonal([1.0, 4.0])).fit([[1.0, 2.0], [3.0, 6.0]])
    <Gaussian(covariance=GivenDiagonal([1.0, 4.0])) with mean [2. 4.], variance [1. 4.]>
    """

    prefix: ClassVar[str] = "given-diagonal:"
    layout: ClassVar[type[Moments]] = DiagonalMoments
    ordered: ClassVar[bool] = True

    def __init__(self, variances: ArrayLike) -> None:
        if np.ndim(variances) != 1:
            raise ValueError(f"a GivenDiagonal has one variance per column, (d,), but has shape {np.shape(variances)}")
        super().__init__(variances)

    def compact(self, n_columns: int) -> FloatArray:
        """Return the variances."""
        self._require_columns(n_columns)
        return self._values.copy()


class GivenCovariance(Given):
    """A given covariance matrix, the same in all classes.

    Parameters
    ----------
    covariance : array of shape (d, d)
        The covariance, symmetric and positive definite, in the order of the Gaussian columns.

    Examples
    --------
    >>> from suffice import GaussianDiscriminant, GivenCovariance
    >>> lda = GaussianDiscriminant(GivenCovariance([[2.0, 1.0], [1.0, 2.0]]), prior=None)
    >>> lda.fit([[0.0, 0.0], [3.0, 3.0]], ["a", "b"]).coef_.round(6).tolist()  # Σ⁻¹(μ_b − μ_a)
    [[1.0, 1.0]]
    """

    prefix: ClassVar[str] = "given-covariance:"
    layout: ClassVar[type[Moments]] = TiedMoments

    def __init__(self, covariance: ArrayLike) -> None:
        if np.ndim(covariance) != 2:
            raise ValueError(f"a GivenCovariance is a matrix, (d, d), but has shape {np.shape(covariance)}")
        super().__init__(covariance)

    def compact(self, n_columns: int) -> FloatArray:
        """Return the covariance."""
        self._require_columns(n_columns)
        return self._values.copy()


#: the kinds of given covariances
GIVEN: tuple[type[Given], ...] = (GivenSphere, GivenDiagonal, GivenCovariance)
