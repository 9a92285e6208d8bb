"""Complete runs of EM for mixtures of Gaussians: many iterations per call, without the cost of the interpreter."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray
from suffice.compiled import signatures
from suffice.compiled.boundary import aligned
from suffice.compiled.signatures import CONSTANTS

#: the covariance structures that the loop supports, and spheres of one given variance, as in soft k-means
STRUCTURES, GIVEN_SPHERE = signatures.STRUCTURES[:-1], signatures.STRUCTURES[-1]
_SHARED = ("EII", "EEI", "EEE", GIVEN_SPHERE)
_DIAGONAL = (*STRUCTURES[:6], GIVEN_SPHERE)
#: the status at the end of a call of the kernel
CONTINUES, CONVERGED, NO_ESTIMATE, NOT_FINITE, CONSTANT_COLUMN = (
    CONSTANTS[f"EM_{name}"] for name in ("CONTINUES", "CONVERGED", "NO_ESTIMATE", "NOT_FINITE", "CONSTANT")
)
_AT_MODEL, _WITH_LABELS, _WITH_SHARES = (
    CONSTANTS[f"BEGIN_{name}"] for name in ("AT_MODEL", "WITH_LABELS", "WITH_SHARES")
)
_NO_EXTRAPOLATION, _EXTRAPOLATION_BEGINS, _EXTRAPOLATION_CONTINUES = (
    CONSTANTS[name] for name in ("NO_EXTRAPOLATION", "EXTRAPOLATION_BEGINS", "EXTRAPOLATION_CONTINUES")
)
#: with more columns than this LAPACK is faster; for structures with eigenvectors the limit is lower
_MOST_COLUMNS, _MOST_ROTATED = 64, 32
_ROTATED = ("EVE", "VVE", "EEV", "VEV")
_ITERATED = (*_ROTATED, "VEI", "VEE")
MOST_STARTS = CONSTANTS["MOST_STARTS"]
#: seconds after which a call should return, so that Ctrl-C and progress reports work
_SECONDS_PER_CALL = 0.03
#: multiplications per second of a slow processor, from which the iterations of the first call are chosen
_SLOW = 3e8


def knows(structure: str, n_columns: int) -> bool:
    """Return whether the loop supports the structure and this number of columns."""
    most = _MOST_ROTATED if structure in _ROTATED else _MOST_COLUMNS
    return structure in signatures.STRUCTURES and 0 < n_columns <= most


def available(structure: str, n_columns: int) -> bool:
    """Return whether the loop is compiled, and supports the structure and this number of columns."""
    return compiled.library is not None and knows(structure, n_columns)


@lru_cache(maxsize=256)
def _workspace_size(level: str, n: int, d: int, k: int, structure: int) -> int:
    assert compiled.library is not None
    return compiled.library("em_workspace_size", "double", n, d, k, structure)


class EMLoop:
    """EM for a mixture of k Gaussians over rows in memory, without missing values.

    Parameters
    ----------
    x : array of shape (n, d)
        Finite numbers; float32 is converted to float64.
    structure : str
        A code such as "VVV", or GIVEN_SPHERE.
    k : int
        The number of components.
    weight : array of shape (n,) or None
    strength, prior_covariance : float, array of shape (d,) or (d, d)
        The prior: `strength` rows with covariance `prior_covariance` per component; 0 and None are maximum likelihood.
    variance : float
        The variance of each column, if `structure` is GIVEN_SPHERE.
    equal_shares : bool
        Whether all components have the same share.
    ridge : float
        A number that is added to every variance; only for "EEE", "VVV", "VVI" and "VII" without a prior.
    absolute : bool
        Whether `tol` is an absolute rather than a relative tolerance for the change of the bound.
    least : float
        Without a prior, a component must have more rows than this; with fewer there is no estimate.
    offset : float
        A number that is added to every bound.

    Attributes
    ----------
    log_shares, means, covariance : arrays of shape (k,), (k, d), …
        The parameters; covariances in the form of `suffice.families.gaussian.covariance`.
    count, center, first, second : arrays
        The moments from which they were estimated, as in `suffice.statistics.moments`.
    bounds : list of float
        The bound of each iteration.
    status : int
        How the last call ended.
    """

    def __init__(
        self,
        x: Array,
        structure: str,
        k: int,
        *,
        weight: FloatArray | None = None,
        strength: float = 0.0,
        prior_covariance: FloatArray | None = None,
        variance: float = 0.0,
        equal_shares: bool = False,
        ridge: float = 0.0,
        absolute: bool = False,
        least: float = 0.0,
        offset: float = 0.0,
    ) -> None:
        found = compiled._rows(np.asarray(x, dtype=np.float64))
        assert found is not None, "the kernels are there"
        self._x = found[0]
        n, d = self._x.shape
        self._k = k
        self._weight = compiled._reals_or_none(weight)
        if self._weight is not None and self._weight.shape != (n,):
            raise ValueError(f"weight must be of shape ({n},), not {self._weight.shape}")
        self._structure = CONSTANTS[structure]
        diagonal, shared = structure in _DIAGONAL, structure in _SHARED
        settings = (0.0, strength, variance, -math.inf, equal_shares, ridge, absolute, least, offset, _NO_EXTRAPOLATION)
        self._settings = np.array(settings, dtype=np.float64)
        self._prior_covariance = _as_kept(prior_covariance, d, diagonal) if strength > 0.0 else None
        self.log_shares, self.means = np.empty(k), np.empty((k, d))
        self.covariance = np.empty((1 if shared else k, *((d,) if diagonal else (d, d))))
        self.count, self.center, self.first = np.empty(k), np.empty((k, d)), np.empty((k, d))
        self.second = np.empty((d, d) if structure == "EEE" else (k, d) if diagonal else (k, d, d))
        assert compiled.library is not None
        self._workspace = aligned((_workspace_size(compiled.library.level, n, d, k, self._structure),), np.float64)
        self._done = np.zeros(1, dtype=np.int64)
        self._start: tuple[int, IntArray | None, FloatArray | None] = (_AT_MODEL, None, None)
        self._per_call = max(1, int(_SLOW * _SECONDS_PER_CALL / (k * (n * (20 + d * d) + _sweeps(structure) * d**3))))
        self.bounds: list[float] = []
        self.status = CONTINUES
        #: the log-likelihood of the parameters, if `advance` computed it
        self.log_likelihood = math.nan

    def another(self) -> Self:
        """Return a loop over the same rows that has not started yet.

        The two share their workspace: iterations with extrapolation steps must end before the other loop continues, and
        both must run in the same thread.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._settings, other._done = self._settings.copy(), np.zeros(1, dtype=np.int64)
        for name in ("log_shares", "means", "covariance", "count", "center", "first", "second"):
            setattr(other, name, np.empty(getattr(self, name).shape))
        other._begin(_AT_MODEL)
        return other

    def begin_at(self, log_shares: FloatArray, means: FloatArray, covariance: FloatArray) -> None:
        """Start from these parameters."""
        self.log_shares[:], self.means[:], self.covariance[:] = log_shares, means, covariance
        self._begin(_AT_MODEL)

    def begin_with_labels(self, labels: IntArray) -> None:
        """Start from the estimates of rows whose component is given by its number, (n,)."""
        labels = compiled._integers(labels)
        if labels.shape != (len(self._x),):
            raise ValueError(f"labels must be of shape ({len(self._x)},), not {labels.shape}")
        if labels.min() < 0 or labels.max() >= self._k:
            raise ValueError(f"labels must be between 0 and {self._k - 1}")
        self._begin(_WITH_LABELS, labels)

    def begin_with_shares(self, shares: FloatArray) -> None:
        """Start from the estimates under responsibilities n×k, which include the weights."""
        shares = compiled._reals(shares)
        if shares.shape != (len(self._x), self._k):
            raise ValueError(f"shares must be of shape {(len(self._x), self._k)}, not {shares.shape}")
        self._begin(_WITH_SHARES, None, shares)

    def race(self, labels: IntArray, tol: float, iterations: int, more: int, kept: int) -> bool:
        """Start from the best of several starts, after its first iterations; return whether one has an estimate.

        Parameters
        ----------
        labels : array of shape (starts, n)
            The component of each row, for up to MOST_STARTS starts.
        tol : float
        iterations, more, kept : int
            All starts run `iterations` iterations, and the `kept` best ones `more` further iterations. A start that has
            almost stopped rising at the bound of an earlier one is chosen at once.
        """
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        bounds, ended = np.empty(iterations + more), np.empty(1, dtype=np.int64)
        self._settings[0] = tol
        assert compiled.library is not None
        found = compiled.library(
            "em_race", "double", self._x, *self._x.shape, self._k, self._weight, self._structure, self._settings,
            self._prior_covariance, len(labels), labels, iterations, more, kept, self.log_shares, self.means,
            self.covariance, self.count, self.center, self.first, self.second, bounds, self._done, ended,
            len(self._workspace), self._workspace,
        )  # fmt: skip
        if not found:
            return False
        self._begin(_AT_MODEL)
        self.bounds = bounds[: int(self._done[0])].tolist()
        self._settings[3], self.status = self.bounds[-1], int(ended[0])
        return True

    def _begin(self, how: int, labels: IntArray | None = None, shares: FloatArray | None = None) -> None:
        self._start = how, labels, shares
        self._settings[3], self._settings[9] = -math.inf, _NO_EXTRAPOLATION
        self.bounds, self.status, self.log_likelihood = [], CONTINUES, math.nan

    def accelerate(self) -> None:
        """Use extrapolation steps from now on, as `suffice.optimize.extrapolation.Squarem` does."""
        if self._settings[9] == _NO_EXTRAPOLATION:
            self._settings[9] = _EXTRAPOLATION_BEGINS

    def release(self) -> None:
        """Free the workspace, which grows with the number of rows; no more iterations are possible."""
        self._workspace = aligned((0,), np.float64)
        self._start = (_AT_MODEL, None, None)

    def advance(self, max_iter: int, tol: float, *, rate: bool = False) -> None:
        """Run some of the next `max_iter` iterations, for a few hundredths of a second; an interrupt keeps them.

        If `rate` is true, the log-likelihood of the parameters at the end is computed too.
        """
        assert compiled.library is not None
        iterations = min(max_iter, self._per_call)
        bounds = np.empty(iterations + 1)
        self._settings[0], self._done[0] = tol, 0
        began = time.perf_counter()
        try:
            self.status = compiled.library(
                "em_loop", "double", self._x, *self._x.shape, self._k, self._weight, self._structure,
                self._settings, self._prior_covariance, *self._start, iterations, rate, self.log_shares, self.means,
                self.covariance, self.count, self.center, self.first, self.second, bounds, self._done,
                len(self._workspace), self._workspace,
            )  # fmt: skip
        finally:  # Ctrl-C is raised after the call has returned
            done = int(self._done[0])
            self.bounds += bounds[:done].tolist()
            if done:
                self._start, self._settings[3] = (_AT_MODEL, None, None), bounds[done - 1]
                if self._settings[9] != _NO_EXTRAPOLATION:
                    self._settings[9] = _EXTRAPOLATION_CONTINUES
        if rate and self.status in (CONTINUES, CONVERGED):
            self.log_likelihood = float(bounds[done])
        if done == self._per_call:
            seconds = max(time.perf_counter() - began, 1e-6)
            self._per_call = max(1, int(self._per_call * min(_SECONDS_PER_CALL / seconds, 16.0)))


def _sweeps(structure: str) -> int:
    """Return roughly how many matrix products a covariance needs; some structures iterate inside."""
    return 200 if structure in _ITERATED else 2


def products(structure: str, n_columns: int) -> int:
    """Return the number of products summed per row and component, to which the cost of an iteration is proportional."""
    if structure in _DIAGONAL:
        return 2 * n_columns + 1
    return n_columns + 1 if structure == "EEE" else (n_columns + 1) * (n_columns + 2) // 2


def _as_kept(prior_covariance: FloatArray | None, d: int, diagonal: bool) -> FloatArray:
    """Return the prior covariance in the layout of the structure, (d,) or (d, d)."""
    given = np.asarray(prior_covariance, dtype=np.float64)
    if given.shape not in ((d,), (d, d)):
        raise ValueError(f"prior_covariance must be of shape ({d},) or ({d}, {d}), not {given.shape}")
    if diagonal:
        return compiled._reals(np.diagonal(given) if given.ndim == 2 else given)
    return compiled._reals(np.diag(given) if given.ndim == 1 else given)


@dataclass(slots=True)
class GaussianMixtureFit:
    """The result of `fit_gaussians`.

    Attributes
    ----------
    status : int
        CONVERGED, CONTINUES (the iterations were used up), NO_ESTIMATE (a covariance is singular), NOT_FINITE or
        CONSTANT_COLUMN; only the first two are a fit.
    log_shares, means, covariance : arrays
        The parameters; covariances in the form of `suffice.families.gaussian.covariance`.
    count : array of shape (k,)
        The weight of each component in the last E-step.
    bounds : list of float
        The bound of each iteration.
    log_likelihood : float
        The log-likelihood of the parameters.
    """

    status: int
    log_shares: FloatArray
    means: FloatArray
    covariance: FloatArray
    count: FloatArray
    bounds: list[float]
    log_likelihood: float

    @property
    def found(self) -> bool:
        """Whether parameters were found."""
        return self.status in (CONTINUES, CONVERGED)

    @property
    def converged(self) -> bool:
        """Whether the bound stopped rising before the iterations were used up."""
        return self.status == CONVERGED


def fit_gaussians(
    x: FloatArray,
    structure: str,
    k: int,
    start: Any,
    *,
    weight: FloatArray | None = None,
    strength: float = 0.0,
    prior_covariance: FloatArray | None = None,
    max_iter: int = 500,
    tol: float = 1e-6,
) -> GaussianMixtureFit | None:
    """Fit a mixture of Gaussians to plain arrays; None if the loop is not compiled or does not support the structure.

    Parameters
    ----------
    x : array of shape (n, d)
        Finite numbers.
    structure : str
        One of `STRUCTURES`.
    k : int
    start : array of shape (n,), array of shape (n, k), or a tuple of log-shares, means and covariances
        Component numbers, responsibilities (without the weights), or parameters.
    weight : array of shape (n,) or None
    strength, prior_covariance : float, array of shape (d,) or (d, d)
        The prior; see `EMLoop`.
    max_iter, tol : int, float

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.compiled.em_loop import fit_gaussians
    >>> x = np.array([[0.0], [0.1], [0.2], [5.0], [5.3], [5.1]])
    >>> fit = fit_gaussians(x, "EII", 2, np.array([0, 0, 0, 1, 1, 1]))
    >>> fit is None or fit.means[:, 0].round(6).tolist() == [0.1, 5.133333]
    True
    """
    if not available(structure, x.shape[1]):
        return None
    loop = EMLoop(x, structure, k, weight=weight, strength=strength, prior_covariance=prior_covariance)
    if isinstance(start, tuple):
        loop.begin_at(*start)
    elif np.ndim(start) == 1:
        loop.begin_with_labels(start)
    else:
        loop.begin_with_shares(start if weight is None else start * np.asarray(weight)[:, None])
    loop.advance(max_iter, tol, rate=True)
    while loop.status == CONTINUES and len(loop.bounds) < max_iter:
        loop.advance(max_iter - len(loop.bounds), tol, rate=True)
    return GaussianMixtureFit(
        loop.status, loop.log_shares, loop.means, loop.covariance, loop.count, loop.bounds, loop.log_likelihood
    )
