"""Gaussian: numbers, with any covariance structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace, to_float64
from suffice.covariance import Covariance, as_structure, prior_mean
from suffice.families.base import (
    Distributions,
    Family,
    observed_cells,
    require_rows,
    weighted_counts,
    without_holes,
)
from suffice.families.quadratic import DenseForm, DiagonalForm, QuadraticForm, SharedForm
from suffice.priors import NormalInverseWishart, PriorSpec, resolve_prior
from suffice.responsibilities import Labels, Responsibilities
from suffice.statistics import DiagonalMoments, FullMoments, Moments, TiedMoments

_LOG_2PI = float(np.log(2.0 * np.pi))


class Gaussian(Family):
    """p(x | μ, Σ) = exp(−½ (x − μ)ᵀ Σ⁻¹ (x − μ)) / √|2πΣ|.

    φ(x) = (x, x xᵀ), η = (Σ⁻¹μ, −½Σ⁻¹), A(η) = ½ μᵀΣ⁻¹μ + ½ log|Σ|, h(x) = (2π)^(−d/2).

    Parameters
    ----------
    covariance : str
        "full", "tied" (all classes share it), "diagonal", "tied-diagonal", "spherical" or "tied-spherical".

    Examples
    --------
    >>> from suffice import Gaussian
    >>> heights = Gaussian().fit([1.7, 1.8, 1.6, 1.7])
    >>> heights.mean(), heights.variance.round(4)   # maximum likelihood: divided by n
    (array([1.7]), array([0.005]))
    """

    name: ClassVar[str] = "gaussian"

    def __init__(self, covariance: str | Covariance = "diagonal") -> None:
        self.structure = as_structure(covariance)

    def config(self) -> dict[str, Any]:
        """Return the arguments that make this family again."""
        return {"covariance": self.structure.name}

    @property
    def columnwise(self) -> bool:
        """Whether there are no covariances, so that a missing cell just drops out."""
        return self.structure.diagonal

    # -- the exponential family ---------------------------------------------------------------------------------

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return (x, x²) for diagonal structures, else (x, x_i x_j for i ≤ j)."""
        rows = np.asarray(self.encode(x))
        if self.structure.diagonal:
            return np.hstack([rows, rows**2])
        i, j = np.triu_indices(rows.shape[1])
        return np.hstack([rows, rows[:, i] * rows[:, j]])

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return ½ μᵀΣ⁻¹μ + ½ log|Σ|, as a function of the natural parameters."""
        first, precision = self._split(eta)
        if self.structure.diagonal:
            return 0.5 * (first**2 / precision - np.log(precision)).sum(-1)
        solved = np.linalg.solve(precision, first[..., None])[..., 0]
        return 0.5 * ((first * solved).sum(-1) - np.linalg.slogdet(precision)[1])

    def log_base_measure(self, x: Array) -> Array:
        """Return −½ log 2π for every observed cell."""
        observed = namespace(x).astype(~namespace(x).isnan(x), x.dtype)
        return -0.5 * _LOG_2PI * namespace(x).sum(observed, axis=1)

    def _split(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Σ⁻¹μ and Σ⁻¹ (its diagonal, for diagonal structures)."""
        if self.structure.diagonal:
            d = eta.shape[-1] // 2
            return eta[..., :d], -2.0 * eta[..., d:]
        d = int((np.sqrt(9 + 8 * eta.shape[-1]) - 3) / 2)
        precision = np.zeros((*eta.shape[:-1], d, d))
        i, j = np.triu_indices(d)
        precision[..., i, j] = -eta[..., d:]
        precision[..., j, i] = -eta[..., d:]
        precision[..., np.arange(d), np.arange(d)] *= 2.0
        return eta[..., :d], precision

    def from_natural(self, eta: FloatArray) -> GaussianDistributions:
        """Return μ = Σ η₁ and Σ = (−2η₂)⁻¹."""
        first, precision = self._split(eta)
        if self.structure.diagonal:
            return GaussianDistributions(self, first / precision, 1.0 / precision)
        covariance = np.linalg.solve(precision, np.broadcast_to(np.eye(first.shape[-1]), precision.shape))
        mean = np.linalg.solve(precision, first[..., None])[..., 0]
        return GaussianDistributions(self, np.asarray(mean, np.float64), np.asarray(covariance, np.float64))

    def from_moments(self, moments: FloatArray) -> GaussianDistributions:
        """Return μ = E x and Σ = E xxᵀ − μμᵀ."""
        if self.structure.diagonal:
            d = moments.shape[1] // 2
            mean = moments[:, :d]
            return GaussianDistributions(self, mean, moments[:, d:] - mean**2)
        d = int((np.sqrt(9 + 8 * moments.shape[1]) - 3) / 2)
        mean, second = moments[:, :d], np.zeros((len(moments), d, d))
        i, j = np.triu_indices(d)
        second[:, i, j] = second[:, j, i] = moments[:, d:]
        return GaussianDistributions(self, mean, second - mean[:, :, None] * mean[:, None, :])

    # -- learning -----------------------------------------------------------------------------------------------

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Moments:
        """Return the moments of each class about its own mean in this chunk."""
        if self.structure.layout is DiagonalMoments:
            return _diagonal_moments(x, responsibilities)
        if issparse(x):
            x = x.toarray()
        if self.structure.layout is TiedMoments:
            return _tied_moments(x, responsibilities)
        return _full_moments(x, responsibilities)

    def empty(self, n_classes: int, n_columns: int) -> Moments:
        """Return the statistics of no rows."""
        return self.structure.layout.empty(n_classes, n_columns)

    def estimate(self, statistics: Moments, prior: PriorSpec = "auto") -> GaussianDistributions:
        """Return means and covariances: Σ(x)/n and S/n for ``prior=None``, else the posterior means."""
        belief = resolve_prior(prior, NormalInverseWishart, NormalInverseWishart())
        if not np.isfinite(statistics.second).all():
            raise ValueError("the squares of the numbers are too large for float64; rescale the columns")
        mean, count = statistics.mean, statistics.count
        if belief is None:
            require_rows(count)
        else:
            center = prior_mean(statistics, belief)
            kappa = belief.mean_count
            share = np.divide(kappa, kappa + count, out=np.ones_like(count), where=kappa + count > 0)
            mean = mean + share * (center - mean)
        return GaussianDistributions(self, mean, self.structure.estimate(statistics, belief))


@dataclass(frozen=True, eq=False)
class GaussianDistributions(Distributions):
    """Gaussians with their means, k×d, and covariances as their structure keeps them."""

    family: Gaussian
    means: FloatArray
    compact: FloatArray
    form: QuadraticForm = field(init=False, repr=False)

    def __post_init__(self) -> None:
        form: type[QuadraticForm] = DiagonalForm
        if not self.family.structure.diagonal:
            form = SharedForm if len(self.compact) == 1 and len(self.means) > 1 else DenseForm
        object.__setattr__(self, "form", form.of(self.means, self.compact))

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.means)

    @property
    def variance(self) -> FloatArray:
        """The variance of each column, k×d."""
        compact = self.compact if self.family.structure.diagonal else np.diagonal(self.compact, axis1=1, axis2=2)
        return np.broadcast_to(compact, self.means.shape)

    @property
    def covariance(self) -> FloatArray:
        """The covariances, k×d×d."""
        k, d = self.means.shape
        if self.family.structure.diagonal:
            return np.eye(d) * self.variance[:, None, :]
        return np.broadcast_to(self.compact, (k, d, d))

    def mean(self) -> FloatArray:
        """Return μ, k×d."""
        return self.means

    def natural_parameters(self) -> FloatArray:
        """Return (Σ⁻¹μ, −½Σ⁻¹), with −Σ⁻¹ for the pairs i < j, k×p."""
        if self.family.structure.diagonal:
            return np.hstack([self.means / self.variance, -0.5 / self.variance])
        precision = self.form.precision()
        first = np.einsum("kij,kj->ki", np.broadcast_to(precision, self.covariance.shape), self.means)
        i, j = np.triu_indices(self.means.shape[1])
        second = np.broadcast_to(precision, self.covariance.shape)[:, i, j] * np.where(i == j, -0.5, -1.0)
        return np.hstack([first, second])

    def moment_parameters(self) -> FloatArray:
        """Return (E x, E xxᵀ), k×p."""
        if self.family.structure.diagonal:
            return np.hstack([self.means, self.variance + self.means**2])
        i, j = np.triu_indices(self.means.shape[1])
        return np.hstack([self.means, self.covariance[:, i, j] + self.means[:, i] * self.means[:, j]])

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log N(x; μ_c, Σ_c); rows with holes by the marginal of what they have."""
        scores = self.form.score(x, common)
        xp = namespace(scores)
        if bool(xp.all(xp.isfinite(scores))):
            return scores
        observed = observed_cells(x)
        if observed is None:  # so far from every class that the squares overflow
            return xp.where(xp.isnan(scores), -xp.inf, scores)
        if self.family.columnwise:
            return self.form.score_observed(x, observed)
        return self._score_by_pattern(x, observed)

    def _score_by_pattern(self, x: Array, observed: Array) -> Array:
        """Score rows with holes: each pattern of holes by its marginal Gaussian, never an imputed value."""
        rows, there = to_float64(x), to_float64(observed) > 0
        scores = np.zeros((len(rows), self.n_classes))
        for members, columns in _patterns(there):
            scores[members] = self.marginal(columns).form.score(rows[np.ix_(members, columns)], True)
        return as_like(scores, x)

    def marginal(self, columns: IntArray) -> GaussianDistributions:
        """Return the distribution of some of the columns: their means and covariances."""
        if self.family.structure.diagonal:
            return GaussianDistributions(self.family, self.means[:, columns], self.compact[:, columns])
        return GaussianDistributions(
            self.family, self.means[:, columns], self.compact[:, columns[:, None], columns[None, :]]
        )

    def mahalanobis(self, x: Array) -> FloatArray:
        """Return (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c), n×k, over the cells that are there."""
        rows = to_float64(x.toarray() if issparse(x) else x)
        observed = observed_cells(rows)
        if observed is None or self.family.columnwise:
            return self.form.squared_distance(without_holes(rows, observed), observed)
        squared = np.zeros((len(rows), self.n_classes))
        for members, columns in _patterns(to_float64(observed) > 0):
            squared[members] = self.marginal(columns).form.squared_distance(rows[np.ix_(members, columns)], None)
        return squared

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return μ + L z with L the Cholesky factor and z standard normal."""
        z = rng.standard_normal((len(classes), self.means.shape[1]))
        return self.means[classes] + self.form.colour(z, classes)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what each column adds to the log-ratio; see the quadratic form for how it is split."""
        rows = to_float64(x.toarray() if issparse(x) else x)
        observed = observed_cells(rows)
        if observed is None or self.family.columnwise:
            terms, left = self.form.log_ratio(without_holes(rows, observed), a, b)
            return (terms if observed is None else np.where(observed, terms, 0.0)), left
        terms, left = np.zeros_like(rows), np.zeros(len(rows))
        for members, columns in _patterns(to_float64(observed) > 0):
            part = self.marginal(columns).form.log_ratio(rows[np.ix_(members, columns)], a[members], b[members])
            terms[np.ix_(members, columns)], left[members] = part
        return terms, left


def _patterns(observed: NDArray[np.bool_]) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield for each pattern of holes its rows and the columns they have; rows without any cell are left out."""
    patterns, which = np.unique(observed, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        if pattern.any():
            yield np.flatnonzero(which.ravel() == number), np.flatnonzero(pattern)


# -- the learning kernels ---------------------------------------------------------------------------------------


def _means(x: Array, responsibilities: Responsibilities) -> FloatArray | None:
    """Return the mean of each class, None where some cell is not finite (one product finds out both)."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = responsibilities.sums(x)
    if not np.isfinite(sums).all():
        return None
    totals = responsibilities.totals()[:, None]
    return _centers(np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0), x)


def _centers(means: FloatArray, x: Array) -> FloatArray:
    """Return centres that the rows' float type can hold, so that taking them off is exact."""
    return means.astype(np.float32).astype(np.float64) if str(x.dtype).endswith("float32") else means


def _complete_rows(x: Array, responsibilities: Responsibilities) -> tuple[Array, Responsibilities, FloatArray]:
    """Return the rows without holes, with their responsibilities and class means.

    Covariances need both cells of a pair, so a row with a hole adds nothing here; its class count is short by
    it, from which the estimator knows to say so.
    """
    means = _means(x, responsibilities)
    if means is not None:
        return x, responsibilities, means
    observed = observed_cells(x)
    if observed is None:
        raise ValueError("the numbers are too large to be summed in float64; rescale the columns")
    complete = namespace(x).all(observed, axis=1)
    rows, members = x[complete], responsibilities[to_float64(complete) > 0]
    means = _means(rows, members)
    assert means is not None
    return rows, members, means


def _centred(x: Array, centers: FloatArray, responsibilities: Responsibilities) -> tuple[FloatArray, Array]:
    """Return the centres, one a class, and the rows about the centre of their class."""
    of_rows = responsibilities.rows_of(centers, x)
    if of_rows is not None:
        return centers, x - of_rows
    totals = responsibilities.totals()
    common = _centers((totals @ centers) / max(totals.sum(), np.finfo(float).tiny), x)
    return np.repeat(common[None], len(centers), axis=0), x - as_like(common, x)


def _diagonal_moments(x: Array, responsibilities: Responsibilities) -> DiagonalMoments:
    if issparse(x):
        return _sparse_moments(x, responsibilities)
    if isinstance(responsibilities, Labels):
        moments = _compiled_diagonal_moments(x, responsibilities)
        if moments is not None:
            return moments
    observed = None
    means = _means(x, responsibilities)
    if means is None:
        observed = observed_cells(x)
        if observed is None:
            raise ValueError("the numbers are too large to be summed in float64; rescale the columns")
        x = without_holes(x, observed)
    count = weighted_counts(x, observed, responsibilities)
    if means is None:
        sums = responsibilities.sums(x)
        means = _centers(np.divide(sums, count, out=np.zeros_like(sums), where=count > 0), x)
    center, z = _centred(x, means, responsibilities)
    z = without_holes(z, observed)
    first, second = responsibilities.sums(z), responsibilities.sums(z * z)
    moments = DiagonalMoments(count, center, first, second)
    if responsibilities.rows_of(means, x) is None and _cancels(moments):
        return _diagonal_moments_by_class(x, observed, means, count, responsibilities)
    return moments


def _compiled_diagonal_moments(x: Array, labels: Labels) -> DiagonalMoments | None:
    """Return the moments by the compiled kernel; None where it is not there or some cell is not finite."""
    found = compiled.diagonal_moments(x, labels.codes, labels.weight, labels.n_classes)
    if found is None or not np.isfinite(found[3]).all():
        return None
    count, center, first, second = found
    return DiagonalMoments(np.repeat(count[:, None], x.shape[1], axis=1), center, first, second)


def _cancels(moments: DiagonalMoments) -> bool:
    """Whether the common centre is so far from a class that its variance has lost half its digits."""
    return bool((moments.scatter < 1e-7 * moments.second).any())


def _diagonal_moments_by_class(
    x: Array, observed: Array | None, means: FloatArray, count: FloatArray, responsibilities: Responsibilities
) -> DiagonalMoments:
    first, second = np.zeros_like(means), np.zeros_like(means)
    for c, rows, weight in responsibilities.groups(x):
        z = without_holes(rows - as_like(means[c], x), observed)
        first[c] = to_float64(weight @ z)
        second[c] = to_float64(weight @ (z * z))
    return DiagonalMoments(count, means, first, second)


def _sparse_moments(x: Array, responsibilities: Responsibilities) -> DiagonalMoments:
    """Return the moments of a sparse chunk without filling its zeros in.

    About a centre m, the zeros of a column add (weight of all rows − weight of the others) · m² .
    """
    observed_cells(x)
    count = weighted_counts(x, None, responsibilities)
    means = np.divide(responsibilities.sums(x), count, out=np.zeros_like(count), where=count > 0)
    present = x.copy()
    present.data = np.ones_like(x.data)
    absent = count - responsibilities.sums(present)
    first, second = -absent * means, absent * means**2
    k, d = means.shape
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    if isinstance(responsibilities, Labels):
        groups = [
            (responsibilities.codes[rows], None if responsibilities.weight is None else responsibilities.weight[rows])
        ]
    else:
        matrix = responsibilities.matrix(x)
        groups = [(np.full(len(rows), c), matrix[rows, c]) for c in range(k)]
    for classes, weight in groups:
        z = x.data - means[classes, x.indices]
        cells = classes * d + x.indices
        weighted = z if weight is None else weight * z
        first += np.bincount(cells, weights=weighted, minlength=k * d).reshape(k, d)
        second += np.bincount(cells, weights=weighted * z, minlength=k * d).reshape(k, d)
    return DiagonalMoments(count, means, first, second)


def _tied_moments(x: Array, responsibilities: Responsibilities) -> TiedMoments:
    if isinstance(responsibilities, Labels):
        labels = responsibilities
        found = compiled.tied_moments(x, labels.codes, labels.weight, labels.n_classes)
        if found is not None and np.isfinite(found[3]).all():
            count, center, first, second = found
            return TiedMoments(count[:, None], center, first, second)
    x, responsibilities, means = _complete_rows(x, responsibilities)
    of_rows = responsibilities.rows_of(means, x)
    if of_rows is None:
        full = _full_moments(x, responsibilities)
        return full.to_layout(TiedMoments)  # type: ignore[return-value]
    z = x - of_rows
    weight = responsibilities.row_weight(x)
    second = to_float64((z if weight is None else z * weight[:, None]).T @ z)
    return TiedMoments(responsibilities.totals()[:, None], means, responsibilities.sums(z), second)


def _full_moments(x: Array, responsibilities: Responsibilities) -> FullMoments:
    if isinstance(responsibilities, Labels):
        labels = responsibilities
        found = compiled.full_moments(x, labels.codes, labels.weight, labels.n_classes)
        if found is not None and np.isfinite(found[3]).all():
            count, center, first, second = found
            return FullMoments(count[:, None], center, first, second)
    x, responsibilities, means = _complete_rows(x, responsibilities)
    k, d = means.shape
    first, second = np.zeros((k, d)), np.zeros((k, d, d))
    for c, rows, weight in responsibilities.groups(x):
        z = rows - as_like(means[c], x)
        weighted = z if weight is None else z * weight[:, None]
        first[c] = to_float64(namespace(x).sum(weighted, axis=0))
        second[c] = to_float64(weighted.T @ z)
    return FullMoments(responsibilities.totals()[:, None], means, first, second)
