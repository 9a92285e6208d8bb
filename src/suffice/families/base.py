"""The interface of every family of distributions, and the mathematics that all of them share.

A family is log p(x | η) = ⟨η, φ(x)⟩ − A(η) + log h(x) over a block of columns. It works on all classes at once:
parameters have one row per class, `score` gives one column per class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
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
from suffice.families.cells import dense_rows, other_columns
from suffice.families.distribution import Distribution
from suffice.families.products import inner
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


class Distributions(ABC):
    """A family with its parameters: one distribution per class."""

    family: Family

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameter arrays of these distributions; see the family's `with_parameters`."""
        made_of = [field.name for field in fields(self) if field.init and field.name != "family"]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in made_of}

    @abstractmethod
    def natural_parameters(self) -> FloatArray:
        """Return η, k×p."""

    @abstractmethod
    def moment_parameters(self) -> FloatArray:
        """Return the mean parameters E φ(x), k×p."""

    @abstractmethod
    def mean(self) -> FloatArray:
        """Return E x, k×d."""

    # -- what follows from the log-normaliser -----------------------------------------------------------------

    @abstractmethod
    def variance(self) -> FloatArray:
        """Return Var x of each column, k×d."""

    def covariance(self) -> FloatArray:
        """Return Cov x, k×d×d; here columns are independent given the class."""
        variance = self.variance()
        return np.where(np.eye(variance.shape[1], dtype=bool), variance[:, None, :], 0.0)

    @abstractmethod
    def statistic_covariance(self) -> FloatArray:
        """Return Cov φ(x), k×p×p."""

    def expected_log_base(self) -> FloatArray:
        """Return E log h(x), (k,)."""
        return np.zeros(self.n_classes)

    def entropy(self) -> FloatArray:
        """Return −E log p(x) = A(η) − ⟨η, ∇A(η)⟩ − E log h(x), (k,)."""
        eta = self.natural_parameters()
        return self.family.log_normalizer(eta) - inner(eta, self.moment_parameters()) - self.expected_log_base()

    def variances(self) -> FloatArray:
        """Return `variance()`: its earlier name, which the next release removes."""
        return self.variance()

    def covariances(self) -> FloatArray:
        """Return `covariance()`: its earlier name, which the next release removes."""
        return self.covariance()

    def entropies(self) -> FloatArray:
        """Return `entropy()`: its earlier name, which the next release removes."""
        return self.entropy()

    def divergence(self, c: int, other: Any, against: int) -> float:
        """Return KL(p ‖ q) = ⟨η_p − η_q, ∇A(η_p)⟩ − A(η_p) + A(η_q), p class `c` and q class `against` of `other`."""
        mine, theirs = self.natural_parameters()[[c]], other.natural_parameters()[[against]]
        with np.errstate(invalid="ignore"):  # −∞ − (−∞) does not matter where the moment is 0
            along = inner(mine - theirs, self.moment_parameters()[[c]])
        between = along - self.family.log_normalizer(mine) + self.family.log_normalizer(theirs)
        return max(float(between[0]), 0.0)

    @property
    def title(self) -> str:
        """The name of one of the distributions."""
        return repr(self.family) if self.family.config() else type(self.family).__name__

    def shown(self) -> dict[str, Any]:
        """Return the parameters to show, each with one row per class."""
        return self.parameters()

    @abstractmethod
    def score(self, x: Array, common: bool = True) -> Array:
        """Return log p(x | c), n×k.

        ``common=False`` may leave out terms that are the same for every class, and leaves out cells with probability 0
        in all of them, whose logarithm is −∞ otherwise.
        """

    @property
    def by_column(self) -> bool:
        """Whether each cell of a row has a log-density of its own, and these add up to that of the row."""
        return False

    def cell_scores(self, x: Array, classes: IntArray | slice) -> FloatArray:
        """Return log p of each cell under one class per row, n×d; that of the whole row, n×1, unless `by_column`.

        A missing cell has 0. The slice of all classes pairs row i with class i.
        """
        scores = to_float64(self.score(x))
        rows = np.arange(len(scores))
        return np.asarray(scores[rows, rows if isinstance(classes, slice) else classes])[:, None]

    def evidence(self, x: Array) -> FloatArray:
        """Return log p(x_j | c) of each cell under each class, n×d×k; of the whole row, n×1×k, unless `by_column`."""
        if not self.by_column:
            return to_float64(self.score(x))[:, None, :]
        every = np.zeros(x.shape[0], dtype=np.intp)
        return np.stack([self.cell_scores(x, every + c) for c in range(self.n_classes)], axis=2)

    @property
    def rules_out(self) -> bool:
        """Whether some values have probability 0 in some classes, as maximum likelihood allows."""
        return False

    def impossible_cells(self, x: Array) -> FloatArray | float:
        """Return a number per row, (n,): positive if some cell has probability 0 in every class, else 0.

        Such a cell says nothing about the class: ``score(x, common=False)`` leaves it out.
        """
        return 0.0

    def log_prob(self, x: ArrayLike) -> FloatArray:
        """Return log p(x | c) of rows in the user's own form, n×k."""
        rows = self.family.encode(x)
        if rows.shape[1] != self.n_columns:
            raise ValueError(
                f"{self.family!r} was fitted to {self.n_columns} columns, but the rows have {rows.shape[1]}; give it "
                f"rows of the same columns"
            )
        return to_float64(self.score(rows))

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """The number of free parameters."""

    def expected_statistics(self, x: Array, responsibilities: Responsibilities) -> Any:
        """Return the statistics of rows, with expectations under these distributions in place of missing values.

        If columns are independent given the class, a missing cell adds nothing.
        """
        return self.family.statistics(x, responsibilities)

    def mixture_pass(
        self, x: Any, weight: FloatArray | None, log_shares: FloatArray
    ) -> tuple[FloatArray, Any, float] | None:
        """Return one EM iteration over rows of this block alone, if that is faster than scoring and then learning.

        It is the weight of each class, the statistics, and the log-likelihood; None if there is no such method.
        """
        return None

    @abstractmethod
    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one row per entry of `classes`, drawn from that class."""

    # -- missing cells given the observed ones ----------------------------------------------------------------

    def expected_rows(self, x: Any, shares: FloatArray) -> FloatArray:
        """Return rows with missing cells filled in over the classes, weighted by `shares`, n×k.

        Numbers get their mean, categorical cells their most probable value. Here columns are independent given the
        class, so the other cells of the block add nothing to what is in the shares.
        """
        rows = dense_rows(x)
        return np.where(np.isnan(rows), shares @ self.mean(), rows)

    def sampled_rows(self, x: Any, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rows with missing cells drawn from the given classes, given the observed cells."""
        rows = dense_rows(x)
        return np.where(np.isnan(rows), self.sample(classes, rng), rows)

    @abstractmethod
    def marginal(self, columns: IntArray) -> Distributions:
        """Return the distributions of some of the columns, in the order given."""

    def conditioned(self, columns: IntArray, cells: Any) -> Distributions:
        """Return the distributions of the other columns, in their order, given the cells of `columns` in one row.

        Here columns are independent given the class, so the others stay as they are.
        """
        return self.marginal(other_columns(columns, self.n_columns))

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.mean().shape[1]

    # -- for initialisation and explanations --------------------------------------------------------------------

    @abstractmethod
    def standardised(self, x: Any) -> Any:
        """Return rows scaled so that all columns of the first class count equally in distances, n×p.

        A missing cell is placed at the mean; sparse rows stay sparse.
        """

    @abstractmethod
    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what each column adds to log p(x | a) / p(x | b), n×d, and the rest that belongs to no column, (n,).

        `a` and `b` are the two classes to compare for each row.
        """

    def __getitem__(self, c: int) -> Distribution:
        return Distribution(self, range(self.n_classes)[c])
