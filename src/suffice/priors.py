"""What is believed before the data. A prior enters `estimate` and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike


class Prior:
    """Base of all priors."""


@dataclass(frozen=True)
class PseudoCount(Prior):
    """So many extra observations of every value, before any was seen; 1 is Laplace's rule.

    For Bernoulli, Categorical and Multinomial columns each value gets `amount` observations in every class: a
    Dirichlet prior, estimated by its posterior mean. Poisson, NegativeBinomial, Geometric and Exponential columns get
    `amount` rows that hold a mean of all classes; Gamma, InverseGaussian, Beta and Dirichlet ones get `amount` rows
    that lie where their class lies and vary as classes do. Given as `class_prior`, each class gets `amount` rows.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import Bernoulli, PseudoCount
    >>> coin = np.array([[1.0], [1.0], [0.0]])
    >>> Bernoulli().fit(coin, prior=PseudoCount(1)).probability.round(3)  # (2 + 1) / (3 + 2)
    array([0.6])
    """

    amount: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.amount) and self.amount > 0):
            raise ValueError(
                f"a pseudo-count must be a positive number, not {self.amount!r}; "
                f"pass prior=None for maximum likelihood without smoothing"
            )


@dataclass(frozen=True)
class NormalInverseWishart(Prior):
    """So many extra rows of a prior mean and a prior covariance, for a Gaussian.

    The covariance is estimated by its posterior mean with the class mean integrated out,
    Σ = (a·V + S) / (a + n − 1), with S the scatter about the class mean and a = `scatter_count`. So
    ``NormalInverseWishart(0)`` gives the unbiased covariances of textbooks and of R's `lda` and `qda`. Structures
    without such a formula, like "VVE", have the largest likelihood with a·V and a rows added to every class.

    Parameters
    ----------
    scatter_count : float or "auto"
        How many rows the prior covariance V is worth. "auto" is 1 for diagonal and spherical structures and the
        number of columns for full and tied ones.
    scatter : array of shape (d,) or (d, d), or None
        The prior covariance V of a row. None scales it to the data: the variances within the classes with
        a thousandth of a row of the overall variance; a tied covariance shrinks towards these variances, and
        the covariance of one class towards the tied one.
    mean_count : float
        How many rows the prior mean is worth.
    mean : array of shape (d,) or None
        The prior mean of a class; None is the mean of all rows.
    freedom : float
        The rows that estimating the mean costs: 1 gives the posterior mean with the class mean integrated out,
        0 the posterior mode, Σ = (a·V + S) / (a + n).
    """

    scatter_count: float | str = "auto"
    scatter: ArrayLike | None = None
    mean_count: float = 0.0
    mean: ArrayLike | None = None
    freedom: float = 1.0

    def __post_init__(self) -> None:
        count = self.scatter_count
        if isinstance(count, str):
            if count != "auto":
                raise ValueError(f"scatter_count must be a number or 'auto', not {count!r}")
        elif not (np.isfinite(count) and count >= 0):
            raise ValueError(f"scatter_count must not be negative, but is {count!r}")
        if not (np.isfinite(self.mean_count) and self.mean_count >= 0):
            raise ValueError(f"mean_count must not be negative, but is {self.mean_count!r}")
        if not (np.isfinite(self.freedom) and self.freedom >= 0):
            raise ValueError(f"freedom must not be negative, but is {self.freedom!r}")


P = TypeVar("P", bound=Prior)

#: what users may pass as `prior`
PriorSpec = Any


def check_prior(spec: PriorSpec) -> None:
    """Say what a prior may be if `spec` is none of it."""
    _as_sequence(spec)


def resolve_prior(spec: PriorSpec, kind: type[P], default: P) -> P | None:
    """Return the prior that `spec` gives to a family whose priors are of that kind; None is maximum likelihood."""
    if spec is None:
        return None
    return next((prior for prior in _as_sequence(spec) if isinstance(prior, kind)), default)


def _as_sequence(spec: PriorSpec) -> Sequence[Prior]:
    if spec is None or (isinstance(spec, str) and spec == "auto"):
        return ()
    if isinstance(spec, Prior):
        return (spec,)
    if isinstance(spec, (int, float)) and not isinstance(spec, bool):
        return (PseudoCount(float(spec)),)
    if isinstance(spec, (list, tuple)) and all(isinstance(prior, Prior) for prior in spec):
        return tuple(spec)
    raise ValueError(
        f"prior must be 'auto', None (maximum likelihood), a pseudo-count, a Prior or a list of Priors, not {spec!r}"
    )
