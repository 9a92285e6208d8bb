"""The interface of every family of distributions, and the mathematics that all of them share.

A family is log p(x | η) = ⟨η, φ(x)⟩ − A(η) + log h(x) over a block of columns. It works on all classes at once:
parameters have one row per class, `score` gives one column per class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import (
    Array,
    FloatArray,
    IntArray,
    issparse,
    plain_csr,
    rows_to_columns,
    to_float64,
)
from suffice.families.distribution import Distribution
from suffice.families.distributions import Distributions
from suffice.families.usual import Domain, as_rows
from suffice.priors import PriorSpec
from suffice.statistics.responsibilities import Labels, Responsibilities
from suffice.tables.labels import check_weight

if TYPE_CHECKING:
    from suffice.families.left_out import LeftOut
    from suffice.posteriors import Posterior
    from suffice.statistics.base import Statistics


class Family(ABC):
    """A kind of distribution for a block of columns."""

    name: ClassVar[str]
    #: the ends between which cells are drawn in plots
    support: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    #: the parameters that `from_parameters` takes, each with where it lies
    usual: ClassVar[Mapping[str, Domain]] = {}

    @property
    def columnwise(self) -> bool:
        """Whether the columns are independent given the class, so that a missing cell just drops out."""
        return True

    # -- one distribution, from its parameters ------------------------------------------------------------------

    @classmethod
    def from_parameters(cls, **parameters: Any) -> Distribution:
        """Return the distribution with these parameters; a parameter has one number per column, or one for all.

        | family | parameters |
        |---|---|
        | `Gaussian` | `mean`, and `covariance` (d×d), or `variance` for independent columns |
        | `Bernoulli` | `probability` of 1 |
        | `Categorical` | `probability`: a mapping of values to probabilities, or one such mapping per column |
        | `Multinomial` | `probability` of each column, and `mean_size` of a bag (1 if not given) |
        | `Poisson`, `Exponential` | `rate` |
        | `Gamma` | `shape`, `rate` |
        | `InverseGaussian` | `location` (the mean), `shape` |
        | `LogNormal` | `location` and `scale` of log x |
        | `NegativeBinomial` | `shape`, and `probability` of a success |
        | `Geometric` | `probability` of a success |
        | `Beta` | `a`, `b` |
        | `Dirichlet` | `alpha`, one number per column |

        Parameters
        ----------
        **parameters
            The parameters by name, and settings of the family, such as `unseen` of a Categorical.

        Examples
        --------
        >>> from suffice import Gaussian, Poisson
        >>> Poisson.from_parameters(rate=3.0)
        <Poisson with rate 3>
        >>> normal = Gaussian.from_parameters(mean=[0.0, 1.0], covariance=[[1.0, 0.5], [0.5, 1.0]])
        >>> normal.mahalanobis([[1.0, 1.0]]).round(4)   # √(zᵀΣ⁻¹z) with z = (1, 0)
        array([1.1547])
        """
        return cls._of_usual(dict(parameters))[0]

    @classmethod
    def _of_usual(cls, given: dict[str, Any]) -> Distributions:
        """Return the distribution, as that of one class, with parameters as `from_parameters` takes them."""
        whose = cls.__name__
        if not cls.usual:
            raise TypeError(f"{whose} names no parameters in `usual`; use with_parameters, or fit it to rows")
        settings = {name: given.pop(name) for name in signature(cls).parameters if name in given}
        return cls(**settings)._from_rows(as_rows(whose, cls.usual, given))

    def _from_rows(self, rows: dict[str, FloatArray]) -> Distributions:
        """Return the distributions with usual parameters, each k×d."""
        return self.with_parameters(rows)

    # -- the exponential family -----------------------------------------------------------------------------

    @abstractmethod
    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return φ(x), n×p."""

    @abstractmethod
    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return A(η) for each row of natural parameters, (k,)."""

    @abstractmethod
    def log_base_measure(self, x: Array) -> Array:
        """Return log h(x), (n,)."""

    @abstractmethod
    def from_natural(self, eta: FloatArray) -> Distributions:
        """Return the distributions with these natural parameters, k×p."""

    @abstractmethod
    def from_moments(self, moments: FloatArray) -> Distributions:
        """Return the distributions with these mean parameters E φ(x), k×p."""

    def log_normalizer_gradient(self, eta: ArrayLike) -> FloatArray:
        """Return ∇A(η) = E φ(x), of the shape of `eta`: (p,) or k×p."""
        at = np.asarray(eta, dtype=np.float64)
        return self.from_natural(np.atleast_2d(at)).moment_parameters().reshape(at.shape)

    def log_normalizer_hessian(self, eta: ArrayLike) -> FloatArray:
        """Return ∇²A(η) = Cov φ(x), p×p for `eta` of shape (p,), k×p×p for k×p."""
        at = np.asarray(eta, dtype=np.float64)
        return self.from_natural(np.atleast_2d(at)).statistic_covariance().reshape(*at.shape, at.shape[-1])

    # -- learning -------------------------------------------------------------------------------------------

    @abstractmethod
    def statistics(self, x: Array, responsibilities: Responsibilities) -> Statistics:
        """Return S = Rᵀ φ(x), the sums over one chunk of rows."""

    def shares_statistics(self, other: Family) -> bool:
        """Return whether the statistics of this family are those of another one, so that it can be estimated."""
        return type(self) is type(other)

    @property
    def needs_all_rows(self) -> bool:
        """Whether `fixed_prior` needs the statistics of all rows, and not only those of the labelled ones."""
        return False

    def row_order(self, x: Any) -> IntArray | None:
        """Return an order of rows that makes repeated passes over them faster; None if their own order is best."""
        return None

    @abstractmethod
    def empty(self, n_classes: int, n_columns: int) -> Statistics:
        """Return the statistics of zero rows."""

    @abstractmethod
    def estimate(self, statistics: Any, prior: PriorSpec = "auto") -> Distributions:
        """Return the distributions estimated from the sums and the prior; ``prior=None`` is maximum likelihood."""

    @abstractmethod
    def with_parameters(self, arrays: Mapping[str, Any]) -> Distributions:
        """Return the distributions with these parameter arrays."""

    def left_out(self, statistics: Any, prior: PriorSpec, distributions: Any) -> LeftOut:
        """Return the scores of rows by the estimates without each of them, given the estimate from all rows.

        The prior is as for `estimate`; what it takes from the data stays as it is for all rows.
        """
        from suffice.families.left_out import Refitted

        fixed = self.fixed_prior(statistics, prior)
        return Refitted(self, statistics, distributions, lambda left: self.estimate(left, fixed))

    # -- what else EM needs ------------------------------------------------------------------------------------

    def fixed_prior(self, statistics: Any, prior: PriorSpec, everything: Any = None) -> PriorSpec:
        """Return the prior with the parts that it takes from the data fixed to the values of these statistics.

        If `statistics` are those of labelled rows, `everything` may be the statistics of all rows as one class.
        """
        return prior

    def prior_of_components(self, overall: Any, prior: PriorSpec, k: int) -> PriorSpec:
        """Return the prior of k components of a mixture, given the statistics of all rows as one class."""
        return prior

    def of_all_rows(self, statistics: Any) -> Distributions:
        """Return the distribution of all rows, given their statistics as one class; it has the units of the columns."""
        return self.estimate(statistics, "auto")

    def prior_within_classes(self, statistics: Any, prior: PriorSpec, k: float, everything: Any = None) -> PriorSpec:
        """Return the prior of components, k per class on average, given the statistics of the classes."""
        return prior

    def mode_prior(self, statistics: Any, prior: PriorSpec) -> PriorSpec:
        """Return the prior under which `estimate` is the mode of the posterior density of the parameters.

        Without it `estimate` is the posterior mean, if that has a closed form. Families whose estimate is a mode
        already return the prior itself.
        """
        return prior

    def improve(self, statistics: Any, prior: PriorSpec, start: Any) -> Distributions:
        """Return distributions at least as good as `start`; families with a closed form need no start."""
        return self.estimate(statistics, prior)

    @abstractmethod
    def log_prior(self, distributions: Any, statistics: Any, prior: PriorSpec) -> float:
        """Return the log-density of the prior, up to constants, as `estimate` maximises it; 0 without a prior."""

    def posterior(
        self, statistics: Any, prior: PriorSpec = "auto", sample_weight: ArrayLike | None = None
    ) -> Posterior:
        """Return the conjugate posterior of the parameters of each class.

        Parameters
        ----------
        statistics : Statistics, or rows of one class
            What was learned, or the rows to learn it from.
        prior : "auto", a number or a Prior
            See `suffice.posteriors`. A list may also hold priors of other families.
        sample_weight : array of shape (n,), optional
            The weights of the rows; statistics already include theirs.
        """
        from suffice.posteriors import posterior_of

        return posterior_of(self, statistics, prior, sample_weight)

    def fit(self, x: ArrayLike, sample_weight: ArrayLike | None = None, *, prior: PriorSpec = None) -> Distribution:
        """Return the one distribution that fits the rows of `x`, by maximum likelihood unless a prior is given.

        Parameters
        ----------
        x : array of shape (n,) or (n, d)
            The rows; a 1-D array is one column, and NaN marks a missing cell.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        prior : None, "auto", number or Prior, default None
            The prior; None is maximum likelihood.
        """
        values = self.encode(x)
        weight = check_weight(sample_weight, values.shape[0])
        one_class = Labels(np.zeros(values.shape[0], dtype=np.intp), weight, 1)
        return self.estimate(self.statistics(values, one_class), prior)[0]

    def encode(self, x: ArrayLike) -> Any:
        """Return rows in the form that the family's kernels read: n×d, where a 1-D array is one column."""
        if issparse(x):
            return plain_csr(x)
        return rows_to_columns(to_float64(x))

    def with_values_of(self, x: Any) -> Family:
        """Return the family that reads such rows: this one, or for categories one that also knows the values of `x`."""
        return self

    def decode(self, rows: FloatArray) -> Any:
        """Return rows drawn by `Distributions.sample` as the user's own values."""
        return rows

    def comparable(self, other: Family) -> bool:
        """Return whether the natural parameters of both families mean the same."""
        return self == other

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *sorted(self.__dict__.items())))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.config().items())
        return f"{type(self).__name__}({arguments})"

    def config(self) -> dict[str, Any]:
        """Return the constructor arguments of this family, as plain values."""
        return {}


__all__ = ["Distributions", "Family"]
