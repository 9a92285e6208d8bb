"""Gaussian mixtures with scikit-learn's names, parameters, fitted attributes, start values and stopping rule.

An iteration of EM is one pass over the rows, chunk by chunk: posteriors are summed as they are computed, so no n×k
array is kept beyond a chunk. Moments are centred at points between the components and covariances at the means, so an
offset of the columns loses no precision.
"""

from __future__ import annotations

import warnings
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn import mixture as theirs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._array_api import get_namespace
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice._arrays import Array, IntArray, as_like, to_float64, to_numpy
from suffice.compiled.em_loop import CONTINUES, CONVERGED, NO_ESTIMATE, EMLoop
from suffice.dropin._common import documented, in_kind, in_their_words
from suffice.dropin._mixture_parameters import Maximisation, Parameters
from suffice.dropin._mixture_training import Training, Trial
from suffice.dropin._within import numbers_of, validated_rows
from suffice.engines import MemoryEngine, Rows
from suffice.engines.base import ONE_BLAS_THREAD
from suffice.errors import InvalidCellError
from suffice.models.joint import JointModel, log_evidence, most_probable, posterior
from suffice.tables.labels import check_weight

#: scikit-learn's pseudo-count per component: one without rows has mean 0 and a weight of the size of rounding error
_TRACE = 10.0 * float(np.finfo(np.float64).eps)

_NOT_CONVERGED = (
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)

#: whether `_check_parameters` of the installed scikit-learn takes the array library as an argument
_SAYS_LIBRARY = "xp" in signature(theirs.GaussianMixture._check_parameters).parameters


@documented
class GaussianMixture(theirs.GaussianMixture):  # type: ignore[misc]
    """scikit-learn's `GaussianMixture`: the same start values, the same iterations of EM and the same results.

    Beyond it: `sample_weight`, fits that keep no n×k array, and covariances that stay accurate with an offset of the
    columns. A fit that fails leaves the parameters unchanged.

    Parameters
    ----------
    {parameters}

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
        """Learn the components by EM, keeping the best of `n_init` starts.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows.
        y : ignored
            Accepted for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,), optional
            A row of weight 2 counts as two rows, one of weight 0 is left out.

        Returns
        -------
        self : estimator
            The fitted estimator itself.
        """
        self._learn(X, sample_weight)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn the components and return the most probable one of each row, (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows.
        y : ignored
            Accepted for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,), optional
            The weight of each row.
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
        with ONE_BLAS_THREAD:  # matrices of this size are too small to gain from BLAS threads
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
        """Return the best trial of all starts, or the single trial of a warm start."""
        rng = check_random_state(self.random_state)
        if self.warm_start and hasattr(self, "converged_"):
            known = self._parameters()
            if known.means.shape != (training.k, training.X.shape[1]):
                raise ValueError(
                    f"warm_start continues from {known.means.shape[0]} components of {known.means.shape[1]} features, "
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
        """Return the user's start values; those not given are estimated from scikit-learn's initial responsibilities.

        Clusters are returned as labels if the compiled loop starts from them.
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
        """Run EM until the mean log-likelihood changes by less than `tol`, and return the trial."""
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
        """Return the trial after the iterations that the compiled loop can do; None if it can do none."""
        bounds: list[float] = []
        while loop.status == CONTINUES and len(loop.bounds) < self.max_iter:
            done = len(loop.bounds)
            loop.advance(self.max_iter - done, self.tol * training.total)
            for bound in loop.bounds[done:]:
                bounds.append(bound / training.total)
                before = bounds[-2] if len(bounds) > 1 else -np.inf
                self._print_verbose_msg_iter_end(len(bounds), bounds[-1] - before)
        if loop.status == NO_ESTIMATE:  # that iteration has to be repeated
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
        """Set scikit-learn's attributes, in the array library and float type of the rows."""
        self.weights_ = as_like(found.weights, X)
        self.means_ = as_like(found.means, X)
        self.covariances_ = as_like(found.covariances, X)
        self.precisions_cholesky_ = as_like(found.factors, X)
        self.precisions_ = as_like(found.precisions(), X)
        self._keep_model()

    def _keep_model(self) -> None:
        """Keep the model that scores rows, since building it takes longer than scoring a few rows."""
        parameters = self._parameters().copy()
        self._kept = parameters, parameters.model()

    def _model(self) -> JointModel:
        """Return the model of the current attributes."""
        parameters, kept = self._parameters(), getattr(self, "_kept", None)
        return kept[1] if kept is not None and parameters.same(kept[0]) else parameters.model()

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_kept", None)  # rebuilt from the attributes
        return state

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if hasattr(self, "precisions_cholesky_"):
            self._keep_model()

    def _parameters(self) -> Parameters:
        """Return the parameters from the attributes, which a user may have set."""
        factors = to_float64(self.precisions_cholesky_)
        if self.covariance_type in ("diag", "spherical"):
            covariances = factors**-2.0
        else:  # as in scikit-learn, rows are scored by the factors, and a user who sets those need not set covariances
            covariances = to_float64(getattr(self, "covariances_", factors))
        return Parameters(
            self.covariance_type, to_float64(self.weights_), to_float64(self.means_), covariances, factors
        )

    # prediction

    def predict(self, X: Any) -> Any:
        """Return the most probable component of each row, (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows, with the columns of training.
        """
        return self._answer(most_probable, self._rows(X))

    def predict_proba(self, X: Any) -> Any:
        """Return the posteriors of the components, n×k.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows, with the columns of training.
        """
        return self._answer(posterior, self._rows(X))

    def score_samples(self, X: Any) -> Any:
        """Return log p(x) of each row, (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows, with the columns of training.
        """
        return self._answer(log_evidence, self._rows(X))

    def _rows(self, X: Any) -> Array:
        """Return the validated rows to predict for; the kernels check the cells."""
        check_is_fitted(self)
        if isinstance(X, np.ndarray) and hasattr(self, "n_features_in_"):
            return validated_rows(self, X)
        return validate_data(self, X, reset=False)

    def _answer(self, kernel: Any, X: Array) -> Any:
        """Return a kernel's result for validated rows, in their array library.

        It is float32 if both the rows and the parameters are.
        """
        model = self._model()
        try:
            values = MemoryEngine(Rows((numbers_of(to_numpy(X)),))).map(kernel, model)
        except InvalidCellError as error:
            raise in_their_words(error, type(self).__name__) from None
        mixed = isinstance(X, np.ndarray) and X.dtype == np.float32 and self.means_.dtype != np.float32
        return values if mixed else in_kind(values, X)
