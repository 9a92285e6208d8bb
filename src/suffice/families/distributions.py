"""The distributions of a family with its parameters: one per class, scored and drawn from together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import Array, FloatArray, IntArray, to_float64
from suffice.families.cells import dense_rows, other_columns
from suffice.families.distribution import Distribution
from suffice.families.products import inner
from suffice.statistics.responsibilities import Responsibilities

if TYPE_CHECKING:
    from suffice.families.base import Family


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
