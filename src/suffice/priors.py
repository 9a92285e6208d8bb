"""Priors: what is assumed before the data. A prior enters `estimate` and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import FloatArray


class Prior:
    """Base class of all priors."""


@dataclass(frozen=True)
class PseudoCount(Prior):
    """The prior whose posterior mean adds a number of observations of every value to the data; 1 is Laplace's rule.

    For Bernoulli, Categorical and Multinomial columns each value gets `amount` observations in every class: the prior
    is Dirichlet(amount), so that 1 is uniform, and the posterior mode adds ``amount - 1`` observations (0 for 1, which
    is maximum likelihood). Poisson, NegativeBinomial, Geometric and Exponential columns get `amount` rows with a mean m
    taken over all classes: the prior is Gamma(amount · m, amount) for the rate of a Poisson and Gamma(amount,
    amount · m) for that of an Exponential. Gamma, InverseGaussian, Beta and Dirichlet columns get `amount` rows with
    the location of the class and the average spread within the classes. Given as `class_prior`, each class gets
    `amount` rows.

    Parameters
    ----------
    amount : float, default 1.0
        The number of extra observations, more than 0.

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
class CountAtMode(PseudoCount):
    """Observations of every value that the mode under a Dirichlet prior adds: one less than the mean adds; maybe 0."""

    def __post_init__(self) -> None:
        if not self.amount >= 0:
            raise ValueError(
                f"estimate='map' needs a pseudo-count of at least 1 for probabilities, but it is {self.amount + 1:g}: "
                f"the density of a smaller one is largest at probability 0; use estimate='mean'"
            )


@dataclass(frozen=True)
class NormalInverseWishart(Prior):
    """A prior mean and a prior covariance for Gaussian columns, each worth a number of extra rows.

    The covariance is estimated by its posterior mean with the class mean integrated out,
    Σ = (a·V + S) / (a + n − 1), with S the scatter about the class mean and a = `scatter_count`. So
    ``NormalInverseWishart(0)`` gives the unbiased covariances of textbooks and of R's `lda` and `qda`. Structures
    without such a formula, like "VVE", are estimated by maximum likelihood with the scatter a·V of a rows added to
    every class.

    Parameters
    ----------
    scatter_count : float or "auto", default "auto"
        How many rows the prior covariance V is worth. "auto" is 1 for diagonal and spherical structures and the
        number of columns for full and tied ones, not counting constant columns.
    scatter : array of shape (d,) or (d, d), or None, default None
        The prior covariance V of a row. None scales it to the data: the variances within the classes, with
        `overall_count` rows of the overall variance added; a tied covariance shrinks towards these variances, and
        the covariance of one class towards the tied one.
    mean_count : float, default 0.0
        How many rows the prior mean is worth.
    mean : array of shape (d,) or None, default None
        The prior mean of a class; None is the mean of all rows.
    freedom : float, default 1.0
        The degrees of freedom lost by estimating the mean: 1 gives the posterior mean with the class mean integrated
        out, 0 gives Σ = (a·V + S) / (a + n), and negative numbers the mode of the joint density of mean and covariance.
    overall_count : float, default 1e-3
        The weight in rows of the overall variance in the data-scaled V; ignored if `scatter` is given.
    """

    scatter_count: float | str = "auto"
    scatter: ArrayLike | None = None
    mean_count: float = 0.0
    mean: ArrayLike | None = None
    freedom: float = 1.0
    overall_count: float = 1e-3

    def __post_init__(self) -> None:
        count = self.scatter_count
        if isinstance(count, str):
            if count != "auto":
                raise ValueError(f"scatter_count must be a number or 'auto', not {count!r}")
        elif not (np.isfinite(count) and count >= 0):
            raise ValueError(f"scatter_count must not be negative, but is {count!r}")
        if not (np.isfinite(self.mean_count) and self.mean_count >= 0):
            raise ValueError(f"mean_count must not be negative, but is {self.mean_count!r}")
        if not np.isfinite(self.freedom):
            raise ValueError(f"freedom must be a number, but is {self.freedom!r}")
        if not (np.isfinite(self.overall_count) and self.overall_count > 0):
            raise ValueError(f"overall_count must be positive, but is {self.overall_count!r}")

    @classmethod
    def textbook(cls, mean: ArrayLike, mean_count: float, dof: float, scale: ArrayLike) -> NormalInverseWishart:
        """Return the prior Σ ~ InverseWishart(ν, Ψ), μ | Σ ~ N(m, Σ/κ), given by the parameters of textbooks.

        For the diagonal structures σ² ~ InverseGamma(ν/2, Ψ/2), column by column.

        Parameters
        ----------
        mean : array of shape (d,)
            The prior mean m.
        mean_count : float
            κ, the number of rows that the prior mean is worth; more than 0.
        dof : float
            The degrees of freedom ν, more than d − 1 (more than 0 for the diagonal structures).
        scale : array of shape (d,) or (d, d)
            The scale Ψ: positive numbers, or a symmetric positive definite matrix.
        """
        psi = np.asarray(scale, dtype=np.float64)
        if psi.ndim not in (1, 2) or (psi.ndim == 2 and psi.shape[0] != psi.shape[1]):
            raise ValueError(f"scale must be of shape (d,) or (d, d), but is of shape {psi.shape}")
        d = len(psi)
        if np.shape(mean) not in ((), (d,)):
            raise ValueError(
                f"mean and scale must be of the same columns, but mean is of shape {np.shape(mean)} and scale of "
                f"shape {psi.shape}"
            )
        require_positive_definite(psi, "scale")
        least = 0 if psi.ndim == 1 else d - 1
        if not (np.isfinite(dof) and dof > least):
            raise ValueError(f"dof must be more than {least} for a scale of shape {psi.shape}, but is {dof!r}")
        if not (np.isfinite(mean_count) and mean_count > 0):
            raise ValueError(f"mean_count must be more than 0, but is {mean_count!r}")
        return cls(float(dof), psi / dof, mean_count, mean, freedom=0.0)


class Conjugate(Prior):
    """Base class of conjugate priors in textbook parameters, for `Family.posterior` and ``estimate="predictive"``."""


@dataclass(frozen=True)
class BetaPrior(Conjugate):
    """p ~ Beta(a, b), for Bernoulli columns; Beta(1, 1) is uniform, Beta(½, ½) is Jeffreys's.

    Parameters
    ----------
    a, b : positive numbers, or arrays that broadcast to (k, d), default 1.0
        The parameters of the Beta distribution: pseudo-counts of the values 1 and 0.

    Examples
    --------
    >>> from suffice import Bernoulli, BetaPrior
    >>> Bernoulli().posterior([1, 1, 0, 1], BetaPrior(1, 1)).mean().round(4)  # (3 + 1) / (4 + 2)
    array([[0.6667]])
    """

    a: ArrayLike = 1.0
    b: ArrayLike = 1.0

    def __post_init__(self) -> None:
        _require_positive(self, "a", "b")


@dataclass(frozen=True)
class DirichletPrior(Conjugate):
    """p ~ Dirichlet(α), for Categorical columns and Multinomial bags.

    Parameters
    ----------
    alpha : positive number, or array that broadcasts to (k, p), default 1.0
        One number per value (of all columns, side by side), or the same for all.

    Examples
    --------
    >>> from suffice import DirichletPrior, Multinomial
    >>> Multinomial().posterior([[2, 1, 0]], DirichletPrior([1.0, 1.0, 2.0])).mean().round(4)
    array([[0.4286, 0.2857, 0.2857]])
    """

    alpha: ArrayLike = 1.0

    def __post_init__(self) -> None:
        _require_positive(self, "alpha")


@dataclass(frozen=True)
class GammaPrior(Conjugate):
    """λ ~ Gamma(shape, rate), for rates; its density is proportional to λ^(shape − 1) e^(−rate·λ).

    Parameters
    ----------
    shape, rate : positive numbers, or arrays that broadcast to (k, d), default 1.0
        The prior mean is E λ = shape / rate.

    Examples
    --------
    >>> from suffice import GammaPrior, Poisson
    >>> Poisson().posterior([3, 5, 4], GammaPrior(2.0, 1.0)).mean()  # (12 + 2) / (3 + 1)
    array([[3.5]])
    """

    shape: ArrayLike = 1.0
    rate: ArrayLike = 1.0

    def __post_init__(self) -> None:
        _require_positive(self, "shape", "rate")


@dataclass(frozen=True)
class KnownVariance(Conjugate):
    """μ ~ N(m, Σ/κ) for Gaussian columns whose variance is known.

    Parameters
    ----------
    variance : number, array of shape (d,) or (d, d)
        The variance of each column, or the covariance matrix.
    mean : array of shape (d,) or None, default None
        The prior mean m; None is the mean of all rows.
    count : float, default 0.0
        κ, how many rows the prior mean is worth; 0 is a flat prior.

    Examples
    --------
    >>> from suffice import Gaussian, KnownVariance
    >>> posterior = Gaussian().posterior([2.0, 4.0], KnownVariance(variance=1.0, mean=0.0, count=1.0))
    >>> posterior.mean()  # (0 + 2 + 4) / (1 + 2)
    array([[2.]])
    """

    variance: ArrayLike
    mean: ArrayLike | None = None
    count: float = 0.0

    def __post_init__(self) -> None:
        if np.ndim(self.variance) < 2:
            _require_positive(self, "variance")
        else:
            require_positive_definite(np.asarray(self.variance, dtype=np.float64), "the variance of a KnownVariance")
        if not (np.isfinite(self.count) and self.count >= 0):
            raise ValueError(f"count must not be negative, but is {self.count!r}")


@dataclass(frozen=True, eq=False)
class DiscretePrior(Conjugate):
    """Finitely many hypotheses about the parameters, each with a probability: integrals over θ become sums.

    Parameters
    ----------
    values : list
        The parameter of each hypothesis: a number, an array with one number per column (or category), or a
        `Distribution` of the family. Numbers are the probability of a Bernoulli, Geometric or NegativeBinomial, the
        rate of a Poisson or Exponential; arrays of probabilities that sum to 1 are those of a Categorical column or a
        Multinomial.
    weights : list of numbers or None, default None
        The prior probabilities of the hypotheses, or numbers in proportion to them; None makes them equal.

    Examples
    --------
    >>> from suffice import Bernoulli, DiscretePrior
    >>> coin = Bernoulli().posterior([1, 1, 1], DiscretePrior([0.5, 1.0]))  # 0.5³ against 1
    >>> coin.weights.round(4), coin.predictive().mean().round(4)
    (array([[0.1111, 0.8889]]), array([0.9444]))
    """

    values: Sequence[Any]
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        if isinstance(self.values, (str, Mapping)) or not hasattr(self.values, "__len__"):
            raise TypeError(f"values must be a list of hypotheses, and weights another of numbers, not {self.values!r}")
        n = len(self.values)
        if n == 0:
            raise ValueError("a DiscretePrior needs at least one hypothesis, but values is empty")
        shapes = {() if hasattr(value, "log_prob") else np.shape(value) for value in self.values}
        if len(shapes) > 1:
            raise ValueError(f"all hypotheses must be of the same shape, but the shapes are {sorted(shapes)}")
        if self.weights is None:
            return
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (n,) or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
            raise ValueError(
                f"weights must be one number of at least 0 per hypothesis, {n} in total and not all 0, but are "
                f"{weights.tolist()}"
            )

    @property
    def probabilities(self) -> FloatArray:
        """The prior probabilities of the hypotheses, (h,)."""
        weights = np.ones(len(self.values)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        return np.asarray(weights / weights.sum())


def _require_positive(prior: Prior, *names: str) -> None:
    for name in names:
        values = np.asarray(getattr(prior, name), dtype=np.float64)
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"the {name} of a {type(prior).__name__} must be positive, but is {getattr(prior, name)}")


def require_positive_definite(values: FloatArray, what: str) -> None:
    """Raise ValueError unless `values` are positive, (d,), or a symmetric positive definite matrix, (d, d)."""
    if values.ndim == 1:
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"{what} must hold positive numbers, but is {values.tolist()}")
        return
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"{what} must be of shape (d,) or (d, d), but is of shape {values.shape}")
    if not np.isfinite(values).all() or not np.allclose(values, values.T, rtol=1e-8, atol=1e-10 * np.abs(values).max()):
        raise ValueError(f"{what} must be a symmetric matrix of finite numbers, but is {values.tolist()}")
    try:
        np.linalg.cholesky(values)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(values)[0])
        raise ValueError(f"{what} must be positive definite, but its smallest eigenvalue is {least:.3g}") from None


P = TypeVar("P", bound=Prior)

#: the values that users may pass as `prior`
PriorSpec = Any


def check_prior(spec: PriorSpec) -> None:
    """Raise ValueError if `spec` is not a valid prior."""
    _as_sequence(spec)


def resolve_prior(spec: PriorSpec, kind: type[P], default: P) -> P | None:
    """Return the prior of type `kind` in `spec`, or `default` if there is none; None is maximum likelihood."""
    if spec is None:
        return None
    given = _as_sequence(spec)
    textbook = next((prior for prior in given if isinstance(prior, Conjugate)), None)
    if textbook is not None:
        raise ValueError(
            f"{textbook!r} is for Family.posterior and for estimate='predictive'; a point estimate takes a PseudoCount "
            f"or a NormalInverseWishart"
        )
    return next((prior for prior in given if isinstance(prior, kind)), default)


def find_prior(spec: PriorSpec, kinds: tuple[type[Prior], ...], default: Prior) -> Prior:
    """Return the prior of one of the types `kinds` in `spec`, for a posterior, which requires a prior.

    A list may hold priors for other columns. A single prior must be of one of the types, or a PseudoCount, which means
    `default` for families that do not use pseudo-counts.
    """
    if spec is None:
        raise ValueError(
            "a posterior needs a prior, but prior=None says that there is none; give prior='auto', a conjugate prior "
            "such as BetaPrior(1, 1), or take the maximum likelihood with estimate"
        )
    if isinstance(spec, Prior) and not isinstance(spec, (*kinds, PseudoCount)):
        wanted = " or a ".join(dict.fromkeys([*(kind.__name__ for kind in kinds), "PseudoCount"]))
        raise ValueError(f"the conjugate prior of this family is a {wanted}, but prior is {spec!r}")
    return next((prior for prior in _as_sequence(spec) if isinstance(prior, kinds)), default)


def holds_prior(spec: PriorSpec, kinds: tuple[type[Prior], ...]) -> bool:
    """Return whether `spec` contains a prior of one of the types `kinds`."""
    return any(isinstance(prior, kinds) for prior in _as_sequence(spec))


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
