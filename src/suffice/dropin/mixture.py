"""Gaussian mixtures with scikit-learn's names, parameters, fitted attributes, starts and stopping rule.

A round of EM is one pass over the rows, a chunk at a time: posteriors are summed where they are computed, so no n×k
array outlives a chunk. Moments are taken about points between the components and covariances about the means, so an
offset of the columns costs no digits.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri
from sklearn import mixture as theirs
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._array_api import get_namespace
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice._arrays import Array, FloatArray, IntArray, as_like, to_float64, to_numpy
from suffice.compiled.em_loop import CONTINUES, CONVERGED, NO_ESTIMATE, EMLoop
from suffice.dropin._analysis import Whitened
from suffice.dropin._common import in_kind, in_their_words, log_shares
from suffice.dropin._within import numbers_of, validated_rows
from suffice.engines import MemoryEngine, Rows
from suffice.engines.base import ONE_BLAS_THREAD
from suffice.errors import InvalidCellError
from suffice.families import Gaussian
from suffice.families.gaussian.quadratic import DenseForm, DiagonalForm, QuadraticForm, SharedForm
from suffice.mixtures.compiled_loop import is_small
from suffice.mixtures.kmeans import k_means
from suffice.models.joint import Expectation, JointModel, expect, learn, log_evidence, most_probable, posterior
from suffice.models.schema import Block, Schema
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import Moments, TiedMoments
from suffice.statistics.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels
from suffice.tables.labels import check_weight

#: the pseudo-count that scikit-learn gives each component: one without rows lies at 0, with the weight of rounding
_TRACE = 10.0 * float(np.finfo(np.float64).eps)
#: rows whose random responsibilities are drawn at a time
_DRAWN = 65_536
#: how much larger than its scatter the squares of a column may be
_FAR = 1e10
#: the kinds whose covariances are matrices
_MATRICES = ("full", "tied")
_STRUCTURES = {"full": "full", "tied": "tied", "diag": "diagonal", "spherical": "diagonal"}
#: a component with fewer rows feels the trace
_FEW_ROWS = 1e-3
_CODES = {"full": "VVV", "tied": "EEE", "diag": "VVI", "spherical": "VII"}
_FEWER_CLUSTERS = (
    "Number of distinct clusters ({}) found smaller than n_clusters ({}). Possibly due to duplicate points in X."
)
_ILL_DEFINED = (
    "Fitting the mixture model failed because some components have ill-defined empirical covariance (for instance "
    "caused by singleton or collapsed samples). Try to decrease the number of components, increase reg_covar, or scale "
    "the input data."
)
_IN_DOUBLE = " The numerical accuracy can also be improved by passing float64 data instead of float32."
_NOT_CONVERGED = (
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)
#: whether this scikit-learn wants to know the array library when it checks the parameters
_SAYS_LIBRARY = "xp" in signature(theirs.GaussianMixture._check_parameters).parameters


# -- parameters -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Parameters:
    """What EM estimates, in float64 and in the shapes that scikit-learn has.

    Parameters
    ----------
    kind : str
        "full", "tied", "diag" or "spherical".
    weights, means : arrays of shape (k,) and (k, d)
    covariances : array
        (k, d, d), (d, d), (k, d) or (k,), as the kind has it.
    factors : array
        U with Σ⁻¹ = U Uᵀ, upper triangular; for variances 1/σ. The same shape as `covariances`.
    """

    kind: str
    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    factors: FloatArray

    def copy(self) -> Parameters:
        """Return the same parameters in arrays of their own."""
        return Parameters(
            self.kind, self.weights.copy(), self.means.copy(), self.covariances.copy(), self.factors.copy()
        )

    def same(self, other: Parameters) -> bool:
        """Whether both are equal."""
        return self.kind == other.kind and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("weights", "means", "covariances", "factors")
        )

    def precisions(self) -> FloatArray:
        """Return Σ⁻¹ in the shape of the covariances."""
        if self.kind in _MATRICES:
            return np.asarray(self.factors @ np.swapaxes(self.factors, -1, -2))
        return self.factors**2

    def model(self) -> JointModel:
        """Return the joint model p(x, c), which scores rows and takes their expected statistics."""
        d = self.means.shape[1]
        family = Gaussian(_STRUCTURES[self.kind])
        origin = self.means.mean(0)
        form: QuadraticForm
        if self.kind in _MATRICES:
            compact = self.covariances
            whiteners = np.ascontiguousarray(np.swapaxes(self.factors, -1, -2))
            log_determinants = -2.0 * np.log(np.diagonal(self.factors, axis1=-2, axis2=-1)).sum(-1)
            if self.kind == "full":
                form = DenseForm(self.means, compact, origin, whiteners, log_determinants)
            else:
                form = SharedForm(self.means, compact, origin, whiteners, float(log_determinants))
                compact = compact[None]
        else:
            variance = self.covariances if self.kind == "diag" else self.covariances[:, None]
            compact = np.ascontiguousarray(np.broadcast_to(variance, self.means.shape))
            form = DiagonalForm(self.means, compact, origin)
        distributions = Whitened(family, self.means, compact, given=form)
        return JointModel(_schema(family, d), log_shares(self.weights), (distributions,))


def _schema(family: Gaussian, n_columns: int) -> Schema:
    return Schema(None, n_columns, (Block(family, tuple(range(n_columns))),))


@dataclass(frozen=True)
class Maximisation:
    """How statistics become parameters: scikit-learn's formulas, with `reg_covar` on every diagonal.

    Parameters
    ----------
    kind : str
    reg_covar : float
    trace : float
        The pseudo-count of a component, which keeps one without rows from dividing by 0.
    single : bool
        Whether the rows are float32.
    """

    kind: str
    reg_covar: float
    trace: float
    single: bool

    def moments(self, statistics: JointStatistics) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the counts, means and covariances."""
        (moments,) = statistics.blocks
        assert isinstance(moments, Moments)
        count = statistics.class_count
        padded = count + self.trace
        means = moments.mean * (count / padded)[:, None]
        scatter = moments.scatter
        left = moments.mean * (self.trace / padded)[:, None]  # scatter is about the means as they are returned
        if self.kind == "full":
            scatter = scatter + (count[:, None] * left)[:, :, None] * left[:, None, :]
            covariances = scatter / padded[:, None, None]
        elif self.kind == "tied":
            covariances = (scatter + (count[:, None] * left).T @ left) / padded.sum()
        else:
            covariances = (scatter + count[:, None] * left**2) / padded[:, None]
        if self.kind in _MATRICES:
            places = np.arange(means.shape[1])
            covariances[..., places, places] += self.reg_covar
        else:
            covariances += self.reg_covar
        return padded, means, covariances.mean(1) if self.kind == "spherical" else covariances

    def estimate(self, statistics: JointStatistics) -> Parameters:
        """Return the parameters that the statistics give, or say in scikit-learn's words that they give none."""
        count, means, covariances = self.moments(statistics)
        return Parameters(self.kind, count / count.sum(), means, covariances, self.factors(covariances))

    def factors(self, covariances: FloatArray) -> FloatArray:
        """Return U with Σ⁻¹ = U Uᵀ: the transposed inverses of the Cholesky factors."""
        if not np.isfinite(covariances).all():
            raise ValueError(self._complaint())
        if self.kind not in _MATRICES:
            if not (covariances > 0).all():
                raise ValueError(self._complaint())
            return np.asarray(1.0 / np.sqrt(covariances))
        return np.ascontiguousarray(np.swapaxes(_inverses(self._cholesky(covariances)), -1, -2))

    def from_precisions(self, precisions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the covariances of given precisions, and U."""
        if self.kind not in _MATRICES:
            return 1.0 / precisions, np.sqrt(precisions)
        # the Cholesky factor of the columns in reverse is U in reverse
        factors = self._cholesky(precisions[..., ::-1, ::-1])[..., ::-1, ::-1]
        inverses = _inverses(np.swapaxes(factors, -1, -2))
        return np.asarray(inverses @ np.swapaxes(inverses, -1, -2)), np.ascontiguousarray(factors)

    def _cholesky(self, matrices: FloatArray) -> FloatArray:
        try:
            return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise ValueError(self._complaint()) from None

    def _complaint(self) -> str:
        return _ILL_DEFINED + (_IN_DOUBLE if self.single else "")


def _inverses(lower: FloatArray) -> FloatArray:
    """Return the inverses of lower triangular matrices; LAPACK itself, for SciPy's solver may wait for BLAS threads."""
    stacked = lower.reshape(-1, *lower.shape[-2:])
    return np.stack([dtrtri(factor, lower=1)[0] for factor in stacked]).reshape(lower.shape)


# -- EM ---------------------------------------------------------------------------------------------------------


@dataclass
class Trial:
    """What EM came to from one start."""

    parameters: Parameters
    lower_bounds: list[float]
    converged: bool

    @property
    def lower_bound(self) -> float:
        """The mean log-likelihood at the last expectation step."""
        return self.lower_bounds[-1] if self.lower_bounds else -np.inf


class Training:
    """The rows of a fit, with their weights, and the passes that are made over them."""

    def __init__(self, X: NDArray[Any], weight: FloatArray | None, n_components: int, kind: str) -> None:
        self.X, self.weight, self.k = X, weight, n_components
        self.total = float(len(X)) if weight is None else float(weight.sum())
        self.schema = _schema(Gaussian(_STRUCTURES[kind]), X.shape[1])
        self._engine = MemoryEngine(Rows((X,), PartialLabels(None, weight, n_components, len(X))))

    def expect(self, parameters: Parameters) -> Expectation:
        """Return the expected statistics under these parameters, and their log-likelihood."""
        return self._engine.reduce(expect, parameters.model())

    def begin(self, how: str, rng: Any) -> JointStatistics:
        """Return the statistics of scikit-learn's first guess of who belongs where, drawn as it draws."""
        if how == "kmeans":
            return self.of_clusters(self.clusters(rng))
        if how == "k-means++":
            return self._one_each(kmeans_plusplus(self.X, self.k, sample_weight=self.weight, random_state=rng)[1])
        if how == "random_from_data":
            chances = None if self.weight is None else self.weight / self.total
            return self._one_each(rng.choice(len(self.X), size=self.k, replace=False, p=chances))
        starts = range(0, len(self.X), _DRAWN)
        total = self._at_random(slice(0, _DRAWN), rng)
        for start in starts[1:]:
            total = total + self._at_random(slice(start, start + _DRAWN), rng)
        return total

    def of_clusters(self, labels: IntArray) -> JointStatistics:
        """Return the statistics of rows whose component is given."""
        return self._learn(self.X, Labels(labels, self.weight, self.k))

    def clusters(self, rng: Any) -> IntArray:
        """Return the clusters that scikit-learn's k-means finds, (n,)."""
        if self.X.dtype != np.float64:  # which rounds differently
            found = KMeans(n_clusters=self.k, n_init=1, random_state=rng).fit(self.X, sample_weight=self.weight)
            return found.labels_.astype(np.intp)
        labels = k_means(self.X, self.k, rng, self.weight)
        distinct = np.count_nonzero(np.bincount(labels, minlength=self.k))
        if distinct < self.k:
            warnings.warn(_FEWER_CLUSTERS.format(distinct, self.k), ConvergenceWarning, stacklevel=7)
        return labels

    def has_loop(self, step: Maximisation) -> bool:
        """Return whether the compiled loop of EM applies: to few rows, whose iterations the interpreter would slow."""
        n, d = self.X.shape
        return not step.single and is_small(n, d, self.k, _CODES[step.kind])

    def loop(self, step: Maximisation, start: Parameters | IntArray) -> EMLoop:
        """Return the compiled loop of EM, at parameters or with the clusters of the rows."""
        loop = EMLoop(
            self.X,
            _CODES[step.kind],
            self.k,
            weight=self.weight,
            ridge=step.reg_covar,
            absolute=True,
            least=_FEW_ROWS,
        )
        if isinstance(start, Parameters):
            compact = start.covariances if step.kind != "spherical" else start.covariances[:, None]
            loop.begin_at(log_shares(start.weights), start.means, compact)
        else:
            loop.begin_with_labels(start)
        return loop

    def _one_each(self, chosen: IntArray) -> JointStatistics:
        """Return the statistics of one row a component."""
        weight = None if self.weight is None else self.weight[chosen]
        statistics = self._learn(self.X[chosen], Labels(np.arange(self.k), weight, self.k))
        (moments,) = statistics.blocks
        if isinstance(moments, TiedMoments):
            return JointStatistics(statistics.class_count, (self._spread_of_all(moments),))
        return statistics

    def _spread_of_all(self, chosen: TiedMoments) -> TiedMoments:
        """Return moments with scikit-learn's first tied covariance: Σ x xᵀ of all rows, less that of the chosen ones.

        It depends on where 0 is. Columns so far from it that nothing would be left of their variance are taken about
        their mean.
        """
        (whole,) = self._learn(self.X, Labels(np.zeros(len(self.X), dtype=np.intp), self.weight, 1)).blocks
        assert isinstance(whole, TiedMoments)
        mean, scatter = whole.mean[0], whole.scatter
        spread = np.diagonal(scatter)
        lost = (spread > 0) & (self.total * mean**2 > _FAR * spread)
        origin = np.where(lost, mean, 0.0)
        own = chosen.mean - origin
        second = scatter + self.total * np.outer(mean - origin, mean - origin) - (chosen.count * own).T @ own
        return TiedMoments(chosen.count, chosen.mean, np.zeros_like(own), second)

    def _at_random(self, here: slice, rng: Any) -> JointStatistics:
        """Draw some rows' responsibilities: a generator gives the same numbers whether drawn together or in turn."""
        rows = self.X[here]
        shares = rng.uniform(size=(len(rows), self.k)).astype(self.X.dtype, copy=False)
        shares /= shares.sum(axis=1)[:, None]
        shares = shares.astype(np.float64, copy=False)
        if self.weight is not None:
            shares *= self.weight[here, None]
        return self._learn(rows, SoftLabels(shares))

    def _learn(self, rows: NDArray[Any], members: Responsibilities) -> JointStatistics:
        return MemoryEngine(Rows((rows,), members)).reduce(learn, self.schema)


# -- the estimator ----------------------------------------------------------------------------------------------


class GaussianMixture(theirs.GaussianMixture):  # type: ignore[misc]
    """scikit-learn's `GaussianMixture`: the same starts, the same rounds of EM and the same answers.

    Beyond it: `sample_weight`, fits that keep no n×k array, and covariances that an offset of the columns does not
    disturb. A fit that fails leaves the parameters as they were.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.dropin import GaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> mixture = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> mixture.means_[:, 0].round(6).tolist(), mixture.predict([[0, 0], [12, 3]]).tolist()
    ([10.0, 1.0], [1, 0])
    """

    weights_: Array
    means_: Array
    covariances_: Array
    precisions_: Array
    precisions_cholesky_: Array

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the components by EM, from `n_init` starts of which the best is kept.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
            A weight of 2 is the row twice, of 0 the row left out.
        """
        self._learn(X, sample_weight)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn the components and return the most probable one of each row, (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
        """
        X = self._learn(X, sample_weight)
        return self._answer(most_probable, X)

    # learning

    def _learn(self, X: Any, sample_weight: Any) -> Array:
        """Learn from the rows, and return them as validated."""
        self._validate_params()
        xp, _ = get_namespace(X)
        X = validate_data(self, X, dtype=[xp.float64, xp.float32], ensure_min_samples=2)
        rows = to_numpy(X)
        weight = check_weight(sample_weight, len(rows))
        if weight is not None and not weight.all():
            there = weight > 0
            rows, weight = rows[there], weight[there]
            if len(rows) == 0:
                raise ValueError("at least one row must have a positive weight, but all weights are zero")
        if len(rows) < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, "
                f"n_samples = {len(rows)}"
            )
        if _SAYS_LIBRARY:
            self._check_parameters(X, xp=xp)
        else:
            self._check_parameters(X)
        training = Training(rows, weight, int(self.n_components), self.covariance_type)
        trace = _TRACE * training.total / len(rows)
        step = Maximisation(self.covariance_type, float(self.reg_covar), trace, rows.dtype == np.float32)
        with ONE_BLAS_THREAD:  # threads that wait for each other cost more than products of this size gain
            best = self._best(training, step)
        self.converged_ = best.converged
        if not best.converged and self.max_iter > 0:
            warnings.warn(_NOT_CONVERGED, ConvergenceWarning, stacklevel=3)
        self._adopt(best.parameters, X)
        self.n_iter_ = len(best.lower_bounds)
        self.lower_bound_ = best.lower_bound
        self.lower_bounds_ = best.lower_bounds
        return X

    def _best(self, training: Training, step: Maximisation) -> Trial:
        """Return the best of some trials; the only one of a warm start."""
        rng = check_random_state(self.random_state)
        if self.warm_start and hasattr(self, "converged_"):
            known = self._parameters()
            if known.means.shape != (training.k, training.X.shape[1]):
                raise ValueError(
                    f"warm_start goes on from {known.means.shape[0]} components of {known.means.shape[1]} features, "
                    f"but {training.k} of {training.X.shape[1]} were asked for; fit a clone"
                )
            self._print_verbose_msg_init_beg(0)
            return self._trial(training, step, known, self.lower_bound_)
        best: Trial | None = None
        for number in range(self.n_init):
            self._print_verbose_msg_init_beg(number)
            trial = self._trial(training, step, self._start(training, step, rng), -np.inf)
            if best is None or best.lower_bound == -np.inf or trial.lower_bound > best.lower_bound:
                best = trial
        assert best is not None, "n_init is at least 1"
        return best

    def _start(self, training: Training, step: Maximisation, rng: Any) -> Parameters | IntArray:
        """Return what was given to begin with, and for the rest what the first guess gives.

        Clusters are returned as they are where the compiled loop begins with them.
        """
        given = self.weights_init, self.means_init, self.precisions_init
        if self.init_params == "kmeans" and all(array is None for array in given) and training.has_loop(step):
            return training.clusters(rng)
        weights, means, precisions = (None if array is None else to_float64(array) for array in given)
        covariances = factors = None
        if precisions is not None:
            covariances, factors = step.from_precisions(precisions)
        if weights is None or means is None or factors is None:
            count, centers, spread = step.moments(training.begin(self.init_params, rng))
            weights = count / training.total if weights is None else weights
            means = centers if means is None else means
            if factors is None:
                covariances, factors = spread, step.factors(spread)
        assert covariances is not None
        return Parameters(self.covariance_type, weights, means, covariances, factors)

    def _trial(self, training: Training, step: Maximisation, start: Parameters | IntArray, bound: float) -> Trial:
        """Improve parameters until the mean log-likelihood changes by less than `tol`."""
        trial = None
        if bound == -np.inf and training.has_loop(step):
            trial = self._climb(training, step, training.loop(step, start))
        if trial is None:
            known = start if isinstance(start, Parameters) else step.estimate(training.of_clusters(start))
            trial = Trial(known, [], False)
        else:
            bound = trial.lower_bound
        for number in range(len(trial.lower_bounds) + 1, (0 if trial.converged else self.max_iter) + 1):
            expected = training.expect(trial.parameters)
            trial.parameters = step.estimate(expected.statistics)
            change = expected.log_likelihood / training.total - bound
            bound = expected.log_likelihood / training.total
            trial.lower_bounds.append(bound)
            self._print_verbose_msg_iter_end(number, change)
            if abs(change) < self.tol:
                trial.converged = True
                break
        if self.max_iter > 0:
            self._print_verbose_msg_init_end(bound, trial.converged)
        return trial

    def _climb(self, training: Training, step: Maximisation, loop: EMLoop) -> Trial | None:
        """Return where the iterations lead that the compiled loop can make; None where it can make none."""
        bounds: list[float] = []
        while loop.status == CONTINUES and len(loop.bounds) < self.max_iter:
            done = len(loop.bounds)
            loop.advance(self.max_iter - done, self.tol * training.total)
            for bound in loop.bounds[done:]:
                bounds.append(bound / training.total)
                before = bounds[-2] if len(bounds) > 1 else -np.inf
                self._print_verbose_msg_iter_end(len(bounds), bounds[-1] - before)
        if loop.status == NO_ESTIMATE:  # that iteration has to be made again
            bounds = bounds[:-1]
        if not bounds:
            return None
        covariances = loop.covariance
        if step.kind == "tied":
            covariances = covariances[0]
        elif step.kind == "spherical":
            covariances = covariances[:, 0].copy()
        factors, weights = step.factors(covariances), np.exp(loop.log_shares)
        found = Parameters(step.kind, weights, loop.means, covariances, factors)
        return Trial(found, bounds, loop.status == CONVERGED)

    def _adopt(self, found: Parameters, X: Array) -> None:
        """Set scikit-learn's attributes, in the library and float type of the rows."""
        self.weights_ = as_like(found.weights, X)
        self.means_ = as_like(found.means, X)
        self.covariances_ = as_like(found.covariances, X)
        self.precisions_cholesky_ = as_like(found.factors, X)
        self.precisions_ = as_like(found.precisions(), X)
        self._keep_model()

    def _keep_model(self) -> None:
        """Keep the model that scores rows: making it takes longer than scoring a few."""
        parameters = self._parameters().copy()
        self._kept = parameters, parameters.model()

    def _model(self) -> JointModel:
        """Return the model of the parameters that the attributes hold now."""
        parameters, kept = self._parameters(), getattr(self, "_kept", None)
        return kept[1] if kept is not None and parameters.same(kept[0]) else parameters.model()

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_kept", None)  # which the attributes give
        return state

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if hasattr(self, "precisions_cholesky_"):
            self._keep_model()

    def _parameters(self) -> Parameters:
        """Return the parameters that the attributes hold, whoever set them."""
        factors = to_float64(self.precisions_cholesky_)
        if self.covariance_type in ("diag", "spherical"):
            covariances = factors**-2.0
        else:  # as in scikit-learn, rows are scored by the factors; who sets these need not set covariances
            covariances = to_float64(getattr(self, "covariances_", factors))
        return Parameters(
            self.covariance_type, to_float64(self.weights_), to_float64(self.means_), covariances, factors
        )

    # prediction

    def predict(self, X: Any) -> Any:
        """Return the most probable component of each row, (n,)."""
        return self._answer(most_probable, self._rows(X))

    def predict_proba(self, X: Any) -> Any:
        """Return the posteriors of the components, n×k."""
        return self._answer(posterior, self._rows(X))

    def score_samples(self, X: Any) -> Any:
        """Return log p(x) of each row, (n,)."""
        return self._answer(log_evidence, self._rows(X))

    def _rows(self, X: Any) -> Array:
        """Return rows to predict for, as validated; the kernels look into the cells."""
        check_is_fitted(self)
        if isinstance(X, np.ndarray) and hasattr(self, "n_features_in_"):
            return validated_rows(self, X)
        return validate_data(self, X, reset=False)

    def _answer(self, kernel: Any, X: Array) -> Any:
        """Return a kernel's answer for validated rows, in the library that they are in.

        It is float32 where both the rows and the parameters are.
        """
        model = self._model()
        try:
            values = MemoryEngine(Rows((numbers_of(to_numpy(X)),))).map(kernel, model)
        except InvalidCellError as error:
            raise in_their_words(error, type(self).__name__) from None
        mixed = isinstance(X, np.ndarray) and X.dtype == np.float32 and self.means_.dtype != np.float32
        return values if mixed else in_kind(values, X)
