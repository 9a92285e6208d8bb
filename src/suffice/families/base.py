"""What every family of distributions offers, and the mathematics that is the same for all of them.

A family is log p(x | η) = ⟨η, φ(x)⟩ − A(η) + log h(x) over a block of columns. It works on all classes at once:
parameters have one row a class, `score` gives one column a class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from suffice import compiled
from suffice._arrays import (
    Array,
    FloatArray,
    IntArray,
    as_like,
    is_float,
    issparse,
    namespace,
    plain_csr,
    rows_to_columns,
    to_float64,
)
from suffice.errors import EstimateError, InvalidCellError
from suffice.priors import PriorSpec
from suffice.statistics.responsibilities import Labels, Responsibilities
from suffice.tables.labels import check_weight

if TYPE_CHECKING:
    from suffice.posteriors import Posterior
    from suffice.statistics.sums import Statistics

#: rows of a chunk that are looked at for holes before all are
_FIRST_ROWS = 32


class Family(ABC):
    """A kind of distribution for a block of columns."""

    name: ClassVar[str]

    @property
    def columnwise(self) -> bool:
        """Whether the columns are independent given the class, so that a missing cell just drops out."""
        return True

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

    def row_order(self, x: Any) -> IntArray | None:
        """Return an order of rows in which many passes over them are faster; None where they are best as they are."""
        return None

    @abstractmethod
    def empty(self, n_classes: int, n_columns: int) -> Statistics:
        """Return the statistics of no rows."""

    @abstractmethod
    def estimate(self, statistics: Any, prior: PriorSpec = "auto") -> Distributions:
        """Return the distributions that the sums and the prior give; ``prior=None`` is maximum likelihood."""

    @abstractmethod
    def with_parameters(self, arrays: Mapping[str, Any]) -> Distributions:
        """Return the distributions that are made of these arrays."""

    # -- what EM needs beside --------------------------------------------------------------------------------

    def fixed_prior(self, statistics: Any, prior: PriorSpec, everything: Any = None) -> PriorSpec:
        """Return the prior with what it takes from the data set to what these statistics say, once and for all.

        Where they are those of labelled rows, `everything` may be the statistics of all rows as one class.
        """
        return prior

    def prior_of_components(self, overall: Any, prior: PriorSpec, k: int) -> PriorSpec:
        """Return the prior of k components of a mixture, given the statistics of all rows as one class."""
        return prior

    def of_all_rows(self, statistics: Any) -> Distributions:
        """Return the distribution of all rows, given their statistics as one class: it has the units of the columns."""
        return self.estimate(statistics, "auto")

    def prior_within_classes(self, statistics: Any, prior: PriorSpec, k: float, everything: Any = None) -> PriorSpec:
        """Return the prior of the components of classes that have k of them on average, given those of the classes."""
        return prior

    def improve(self, statistics: Any, prior: PriorSpec, start: Any) -> Distributions:
        """Return distributions at least as good as `start`; what has a closed form needs no start."""
        return self.estimate(statistics, prior)

    @abstractmethod
    def log_prior(self, distributions: Any, statistics: Any, prior: PriorSpec) -> float:
        """Return the log-density, less constants, of the prior whose mode `estimate` finds; 0 without a prior."""

    def posterior(
        self, statistics: Any, prior: PriorSpec = "auto", sample_weight: ArrayLike | None = None
    ) -> Posterior:
        """Return what is known of the parameters: the conjugate posterior of each class.

        Parameters
        ----------
        statistics : Statistics, or rows of one class
        prior : "auto", a number or a Prior
            See `suffice.posteriors`. A list may hold priors of other families beside.
        sample_weight : array of shape (n,), optional
            The weights of rows; statistics have theirs already.
        """
        from suffice.posteriors import posterior_of

        return posterior_of(self, statistics, prior, sample_weight)

    def fit(self, x: ArrayLike, sample_weight: ArrayLike | None = None, *, prior: PriorSpec = None) -> Distribution:
        """Return the one distribution that fits the rows of `x`, by maximum likelihood unless a prior is given."""
        values = self.encode(x)
        weight = check_weight(sample_weight, values.shape[0])
        one_class = Labels(np.zeros(values.shape[0], dtype=np.intp), weight, 1)
        return self.estimate(self.statistics(values, one_class), prior)[0]

    def encode(self, x: ArrayLike) -> Any:
        """Return rows as the family's kernels read them: n×d, a 1-D array being one column."""
        if issparse(x):
            return plain_csr(x)
        return rows_to_columns(to_float64(x))

    def with_values_of(self, x: Any) -> Family:
        """Return the family that reads such rows: itself, but that categories learn the values of `x` first."""
        return self

    def decode(self, rows: FloatArray) -> Any:
        """Return rows that `Distributions.sample` drew as the user's own values."""
        return rows

    def comparable(self, other: Family) -> bool:
        """Whether natural parameters of both mean the same."""
        return self == other

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *sorted(self.__dict__.items())))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.config().items())
        return f"{type(self).__name__}({arguments})"

    def config(self) -> dict[str, Any]:
        """Return the arguments that make this family again, as plain values."""
        return {}


class Distributions(ABC):
    """A family with its parameters: one distribution a class, all together."""

    family: Family

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """How many classes there are."""

    def parameters(self) -> dict[str, Any]:
        """Return the plain arrays that these distributions are made of; see the family's `with_parameters`."""
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
    def variances(self) -> FloatArray:
        """Return Var x of each column, k×d."""

    def covariances(self) -> FloatArray:
        """Return Cov x, k×d×d; here columns are independent given the class."""
        variances = self.variances()
        return np.eye(variances.shape[1]) * variances[:, None, :]

    @abstractmethod
    def statistic_covariance(self) -> FloatArray:
        """Return Cov φ(x), k×p×p."""

    def expected_log_base(self) -> FloatArray:
        """Return E log h(x), (k,)."""
        return np.zeros(self.n_classes)

    def entropies(self) -> FloatArray:
        """Return −E log p(x) = A(η) − ⟨η, ∇A(η)⟩ − E log h(x), (k,)."""
        eta = self.natural_parameters()
        return self.family.log_normalizer(eta) - inner(eta, self.moment_parameters()) - self.expected_log_base()

    def divergence(self, c: int, other: Any, against: int) -> float:
        """Return KL(p ‖ q) = ⟨η_p − η_q, ∇A(η_p)⟩ − A(η_p) + A(η_q), p class `c` and q class `against` of `other`."""
        mine, theirs = self.natural_parameters()[[c]], other.natural_parameters()[[against]]
        with np.errstate(invalid="ignore"):  # −∞ less −∞ is of no account where the moment is 0
            along = inner(mine - theirs, self.moment_parameters()[[c]])
        between = along - self.family.log_normalizer(mine) + self.family.log_normalizer(theirs)
        return max(float(between[0]), 0.0)

    @property
    def title(self) -> str:
        """What one of them is called."""
        return repr(self.family) if self.family.config() else type(self.family).__name__

    def shown(self) -> dict[str, Any]:
        """Return the parameters to show, each with one row a class."""
        return self.parameters()

    @abstractmethod
    def score(self, x: Array, common: bool = True) -> Array:
        """Return log p(x | c), n×k.

        ``common=False`` may leave out what is the same for every class, and leaves out cells that have probability 0 in
        all of them, which is the logarithm −∞ otherwise.
        """

    @property
    def rules_out(self) -> bool:
        """Whether some values have probability 0 in some classes, as maximum likelihood has it."""
        return False

    def impossible_cells(self, x: Array) -> FloatArray | float:
        """Return for each row whether a cell has probability 0 in every class (more than 0) or not (0), (n,).

        Such a cell says nothing about the class: ``score(x, common=False)`` leaves it out.
        """
        return 0.0

    def log_prob(self, x: ArrayLike) -> FloatArray:
        """Return log p(x | c) of rows as a user has them, n×k."""
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
        """How many numbers are free."""

    def expected_statistics(self, x: Array, responsibilities: Responsibilities) -> Any:
        """Return the statistics of rows, with the expectation under these distributions for what is missing.

        Where columns are independent given the class, a missing cell adds nothing.
        """
        return self.family.statistics(x, responsibilities)

    def mixture_pass(
        self, x: Any, weight: FloatArray | None, log_shares: FloatArray
    ) -> tuple[FloatArray, Any, float] | None:
        """Return one round of EM over rows of this block alone, where that is faster than scoring and then learning.

        It is the weight of each class, the statistics, and the log-likelihood; None where there is no such way.
        """
        return None

    @abstractmethod
    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one row drawn from each of the given classes."""

    # -- what is missing, given what is there -----------------------------------------------------------------

    def expected_rows(self, x: Any, shares: FloatArray) -> FloatArray:
        """Return rows with their missing cells filled in, over the classes by their shares, n×k.

        Numbers get their mean, values the most probable one. Here columns are independent given the class, so that the
        other cells of the block say nothing beyond what is in the shares.
        """
        rows = dense_rows(x)
        return np.where(np.isnan(rows), shares @ self.mean(), rows)

    def sampled_rows(self, x: Any, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rows with their missing cells drawn from the given classes, given the cells that are there."""
        rows = dense_rows(x)
        return np.where(np.isnan(rows), self.sample(classes, rng), rows)

    @abstractmethod
    def marginal(self, columns: IntArray) -> Distributions:
        """Return the distributions of some of the columns, in the order given."""

    def conditioned(self, columns: IntArray, cells: Any) -> Distributions:
        """Return the distributions of the other columns, in their order, given the cells of some in one row.

        Here columns are independent given the class, so that the others stay as they are.
        """
        return self.marginal(other_columns(columns, self.n_columns))

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return self.mean().shape[1]

    # -- what starts and explanations need ----------------------------------------------------------------------

    @abstractmethod
    def standardised(self, x: Any) -> Any:
        """Return rows in units in which all columns of the first class count alike, n×p, for distances between them.

        A missing cell is at the mean; sparse rows stay sparse.
        """

    @abstractmethod
    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what each column adds to log p(x | a) / p(x | b), n×d, and what no column can claim, (n,).

        `a` and `b` are the two classes to compare for each row.
        """

    def __getitem__(self, c: int) -> Distribution:
        return Distribution(self, range(self.n_classes)[c])


class Distribution:
    """One distribution: a family with its parameters.

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
        """The family that it belongs to."""
        return self._together.family

    def log_prob(self, x: ArrayLike) -> FloatArray:
        """Return log p(x) of each row, (n,)."""
        return self._together.log_prob(x)[:, self._c]

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> Any:
        """Return `n` rows drawn at random, n×d."""
        rng = np.random.default_rng(random_state)
        return self.family.decode(self._together.sample(np.full(n, self._c), rng))

    def mean(self) -> FloatArray:
        """Return E x, (d,)."""
        return np.asarray(self._together.mean()[self._c])

    @property
    def n_parameters(self) -> int:
        """How many numbers are free in it, taken by itself."""
        alone = self._together.n_classes == 1
        return (self._together if alone else self.family.from_natural(self.natural_parameters()[None])).n_parameters

    def variance(self) -> FloatArray:
        """Return Var x of each column, (d,); for a Multinomial that of a bag of the mean size."""
        return np.asarray(self._together.variances()[self._c])

    def covariance(self) -> FloatArray:
        """Return Cov x, d×d; for a Multinomial that of a bag of the mean size."""
        return np.asarray(self._together.covariances()[self._c])

    def entropy(self) -> float:
        """Return −E log p(x), in nats; for a Multinomial that of one draw."""
        return float(self._together.entropies()[self._c])

    def kl_divergence(self, other: Distribution) -> float:
        """Return KL(p ‖ q) = E_p log p(x)/q(x), in nats, to another distribution of the same family.

        For a Multinomial it is that of one draw.

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
    """Return parameters in few characters."""
    row = np.asarray(values)
    if row.size == 1:
        return f"{row.item():.4g}"
    return " ".join(np.array2string(row, precision=4, threshold=8).split())


# -- what the families share ------------------------------------------------------------------------------------


def observed_cells(x: Array, *, what: str = "numbers") -> Array | None:
    """Return which cells are there, None if all are; infinite ones are an error that says where."""
    if issparse(x):
        flags = compiled.inspect(x.data)
        if not np.isfinite(x.data).all() if flags is None else flags & compiled.NOT_FINITE:
            coordinates = x.tocoo()
            first = int(np.flatnonzero(~np.isfinite(coordinates.data))[0])
            raise InvalidCellError(
                "a sparse table must hold finite numbers (no NaN, no inf)",
                found=coordinates.data[first],
                row=int(coordinates.row[first]),
                column=int(coordinates.col[first]),
                remedy="clean that cell, or pass a dense table, in which NaN marks a missing cell",
            )
        return None
    xp = namespace(x)
    if xp is np and np.isfinite(x).all():
        return None
    infinite = xp.isinf(x)
    if bool(xp.any(infinite)):
        raise invalid_cell(x, infinite, f"{what} must be finite", "clean that cell, or write NaN for a missing one")
    observed = ~xp.isnan(x)
    return None if bool(xp.all(observed)) else observed


def shows_holes(x: Array) -> bool:
    """Whether there are holes in the first or last rows of a dense NumPy chunk: a quick sign that others have some."""
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        return False
    return bool(np.isnan(x[:_FIRST_ROWS]).any() or np.isnan(x[-1:]).any())


def invalid_cell(x: Array, bad: Array, requirement: str, remedy: str) -> InvalidCellError:
    """Return the error that points at the first bad cell of a dense chunk."""
    row, column = (int(i) for i in np.argwhere(to_float64(bad) > 0)[0])
    return InvalidCellError(requirement, found=float(x[row, column]), row=row, column=column, remedy=remedy)


def require_not_negative(x: Array, requirement: str) -> None:
    """Raise if any cell is negative."""
    values = x.data if issparse(x) else x
    flags = compiled.inspect(values) if issparse(x) else None
    if bool(namespace(values).any(values < 0)) if flags is None else flags & compiled.NEGATIVE:
        dense = x.toarray() if issparse(x) else x
        raise invalid_cell(
            dense,
            dense < 0,
            requirement,
            "clean that cell, or choose a family that takes negative numbers, such as Gaussian",
        )


def in_double(x: Array) -> Array:
    """Return a chunk of counts in float64: their sums are compared with counts of rows, so they must be exact."""
    if issparse(x) or is_float(x, "float64"):
        return x
    xp = namespace(x)
    return xp.astype(x, xp.float64)


def weighted_counts(x: Array, observed: Array | None, responsibilities: Responsibilities) -> FloatArray:
    """Return the weight of the observed cells, k×d."""
    if observed is None:
        totals = responsibilities.totals()
        return np.broadcast_to(totals[:, None], (len(totals), x.shape[1]))
    return responsibilities.sums(namespace(x).astype(observed, x.dtype))


def without_duplicates(x: Array) -> Array:
    """Return a sparse chunk with every cell once: SciPy lets cells be written in parts, whose squares do not add up."""
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    return x


def without_holes(x: Array, observed: Array | None) -> Array:
    """Return `x` with 0 in the missing cells."""
    if observed is None:
        return x
    xp = namespace(x)
    return xp.where(observed, x, xp.zeros_like(x))


def dense_rows(x: Array) -> FloatArray:
    """Return rows of any library, dense or sparse, as a NumPy array."""
    return to_float64(x.toarray() if issparse(x) else x)


def other_columns(columns: IntArray, n_columns: int) -> IntArray:
    """Return the columns that are not among the given ones, in order."""
    return np.setdiff1d(np.arange(n_columns), columns)


def scaled_rows(x: Array, mean: FloatArray, deviation: FloatArray) -> Array:
    """Return (x − mean) / deviation with 0 for missing cells; sparse rows are only divided, and stay sparse."""
    divisor = np.where(deviation > 0, deviation, 1.0)
    if issparse(x):
        return x.multiply(1.0 / divisor).tocsr()
    rows = (to_float64(x) - mean) / divisor
    return np.where(np.isnan(rows), 0.0, rows)


def log_product(x: Array, logs: LogParameters, common: bool = True) -> Array:
    """Return x · logsᵀ, n×k, for x ≥ 0, with 0 · (−∞) = 0 as in p⁰ = 1.

    Without what is `common` to all classes, a column that is −∞ in every class adds nothing.
    """
    scores = product(x, logs.finite)
    impossible = logs.impossible if common else logs.decisive
    if impossible is None:
        return scores
    xp = namespace(scores)
    return xp.where(product(x, impossible) > 0, -xp.inf, scores)


@dataclass(frozen=True, eq=False)
class LogParameters:
    """Logarithms of parameters, k×d, ready for products: −∞ set apart."""

    finite: Factor
    #: 1 where a logarithm is −∞; None if it is nowhere
    impossible: Factor | None = None
    #: the same without the columns where it is −∞ in every class
    decisive: Factor | None = None
    #: 1 for these columns, 1×d; None if there are none
    nowhere: Factor | None = None

    @classmethod
    def of(cls, parameters: FloatArray) -> LogParameters:
        """Take the logarithms."""
        return cls.of_logs(log_of(parameters))

    @classmethod
    def of_logs(cls, logs: FloatArray) -> LogParameters:
        """Set apart what is −∞."""
        impossible = np.isneginf(logs)
        if not impossible.any():
            return cls(Factor(np.ascontiguousarray(logs)))
        nowhere = np.asarray(impossible.all(0))
        decisive = impossible & ~nowhere
        return cls(
            Factor(np.where(impossible, 0.0, logs)),
            Factor(impossible.astype(np.float64)),
            Factor(decisive.astype(np.float64)) if decisive.any() else None,
            Factor(nowhere[None].astype(np.float64)) if nowhere.any() else None,
        )

    def n_nowhere(self, x: Array) -> FloatArray | float:
        """Return what each row of x ≥ 0 has in columns that are −∞ in every class, (n,); 0 if there are none."""
        return 0.0 if self.nowhere is None else to_float64(product(x, self.nowhere))[:, 0]


@dataclass(frozen=True, eq=False)
class Factor:
    """The parameters of a product x @ parametersᵀ, k×d; for sparse rows also with a column's classes side by side."""

    parameters: FloatArray

    @cached_property
    def side_by_side(self) -> FloatArray:
        """The transpose as the compiled kernel reads it, d×k and some columns of zeros."""
        return compiled.whole_registers(self.parameters.T)


def product(x: Array, factor: Factor, constant: FloatArray | None = None) -> Array:
    """Return x @ parametersᵀ + constant, n×k, for dense and sparse rows."""
    if issparse(x) and compiled.library is not None:
        scores = compiled.sparse_scores(x, factor.side_by_side, len(factor.parameters), constant)
        if scores is not None:
            return scores
    scores = x @ as_like(factor.parameters, x).T
    return scores if constant is None else scores + as_like(constant, scores)


def inner(eta: FloatArray, moments: FloatArray) -> FloatArray:
    """Return ⟨η, E φ⟩, (k,), with 0 · (−∞) = 0."""
    with np.errstate(invalid="ignore"):
        return np.where(moments == 0.0, 0.0, eta * moments).sum(-1)


def log_of(p: FloatArray) -> FloatArray:
    """Return log p with log 0 = −∞ and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def require_rows(count: FloatArray) -> None:
    """Raise if maximum likelihood has nothing to go by in some class; `count` is k×d, or k×1 for all columns."""
    if (count <= 0).any():
        c, column = (int(i) for i in np.argwhere(count <= 0)[0])
        raise EstimateError(
            "maximum likelihood needs at least one observed cell a column in every class, but class {of_class} has "
            "none; use prior='auto'",
            c=c,
            column=column if count.shape[1] > 1 else None,
        )
