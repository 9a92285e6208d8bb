"""One distribution: a family with its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import (
    FloatArray,
)

if TYPE_CHECKING:
    from suffice.families.base import Distributions, Family


class Distribution:
    """One distribution: a family with its parameters.

    Parameters
    ----------
    together : Distributions
        The distributions of all classes.
    c : int
        The number of the class.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import Poisson
    >>> calls = Poisson().fit(np.array([2.0, 3.0, 1.0, 2.0]))
    >>> calls.mean()
    array([2.])
    >>> calls.log_prob(np.array([2.0])).round(4)
    array([-1.3069])
    >>> calls, calls.variance(), round(calls.entropy(), 4)
    (<Poisson with rate 2>, array([2.]), 1.7049)
    """

    def __init__(self, together: Distributions, c: int) -> None:
        self._together = together
        self._c = c

    @property
    def family(self) -> Family:
        """The family of the distribution."""
        return self._together.family

    def log_prob(self, x: ArrayLike) -> FloatArray:
        """Return log p(x) of each row, (n,).

        Parameters
        ----------
        x : array of shape (n,) or (n, d)
            The rows, in the form that `fit` takes.
        """
        return self._together.log_prob(x)[:, self._c]

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> Any:
        """Return `n` rows drawn at random, n×d.

        Parameters
        ----------
        n : int
            The number of rows.
        random_state : int, Generator or None, default None
            The seed.
        """
        rng = np.random.default_rng(random_state)
        return self.family.decode(self._together.sample(np.full(n, self._c), rng))

    def mean(self) -> FloatArray:
        """Return E x, (d,)."""
        return np.asarray(self._together.mean()[self._c])

    @property
    def n_parameters(self) -> int:
        """The number of free parameters of this distribution by itself."""
        alone = self._together.n_classes == 1
        return (self._together if alone else self.family.from_natural(self.natural_parameters()[None])).n_parameters

    def variance(self) -> FloatArray:
        """Return Var x of each column, (d,); for a Multinomial that of a bag of the mean size."""
        return np.asarray(self._together.variance()[self._c])

    def covariance(self) -> FloatArray:
        """Return Cov x, d×d; for a Multinomial that of a bag of the mean size."""
        return np.asarray(self._together.covariance()[self._c])

    def entropy(self) -> float:
        """Return −E log p(x), in nats; for a Multinomial that of one draw."""
        return float(self._together.entropy()[self._c])

    def kl_divergence(self, other: Distribution) -> float:
        """Return KL(p ‖ q) = E_p log p(x)/q(x), in nats, to another distribution of the same family.

        For a Multinomial it is that of one draw.

        Parameters
        ----------
        other : Distribution
            The distribution q, of the same family and columns.

        Examples
        --------
        >>> from suffice import Poisson
        >>> round(Poisson().fit([2.0]).kl_divergence(Poisson().fit([3.0])), 4)   # 2 log 2/3 + 1
        0.1891
        """
        if not isinstance(other, Distribution):
            raise TypeError(f"the divergence is to another distribution, but other is {type(other).__name__}")
        mine, theirs = self._together, other._together
        widths = {part.natural_parameters().shape[1] for part in (mine, theirs)}
        if not mine.family.comparable(theirs.family) or len(widths) > 1:
            raise ValueError(
                f"the divergence has a closed form between distributions of one family over the same columns, but "
                f"these are {self!r} and {other!r}; average log_prob over a sample to compare others"
            )
        return mine.divergence(self._c, theirs, other._c)

    def mahalanobis(self, x: ArrayLike) -> FloatArray:
        """Return the Mahalanobis distance √((x − μ)ᵀ Σ⁻¹ (x − μ)) of each row, (n,), if the distribution is Gaussian.

        Parameters
        ----------
        x : array of shape (n,) or (n, d)
            The rows; the observed cells of a row count.
        """
        squared = getattr(self._together, "mahalanobis", None)
        if squared is None:
            raise TypeError(f"only a Gaussian distribution has a Mahalanobis distance, and this is {self!r}")
        return np.asarray(np.sqrt(squared(self.family.encode(x))[:, self._c]))

    def natural_parameters(self) -> FloatArray:
        """Return η, (p,)."""
        return np.asarray(self._together.natural_parameters()[self._c])

    def moment_parameters(self) -> FloatArray:
        """Return E φ(x), (p,)."""
        return np.asarray(self._together.moment_parameters()[self._c])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        values = getattr(self._together, name)
        if isinstance(values, np.ndarray):
            return values[self._c if len(values) == self._together.n_classes else 0]
        raise AttributeError(f"{type(self).__name__} of {self.family!r} has no attribute {name!r}")

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {_shown(values[self._c])}" for name, values in self._together.shown().items())
        return f"<{self._together.title} with {shown}>"


def _shown(values: Any) -> str:
    """Return the parameters in a short form."""
    row = np.asarray(values)
    if row.size == 1:
        return f"{row.item():.4g}"
    return " ".join(np.array2string(row, precision=4, threshold=8).split())
