"""Runs of EM that a search compares: by the compiled loop where rows are plain numbers, else by whole mixtures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from suffice._arrays import FloatArray
from suffice.compiled import em_loop
from suffice.errors import EstimateError
from suffice.estimators.mixture import Mixture
from suffice.families import Gaussian
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.covariance import Covariance
from suffice.mixtures.compiled_loop import GaussianClimb
from suffice.mixtures.numpy_loop import PlainLoop
from suffice.optimize import em
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import Moments
from suffice.tables.labels import check_weight

_LOG_2PI = float(np.log(2.0 * np.pi))
#: the log-density of the weak prior below which a component may have collapsed
_NARROW = -20.0
#: the variance of the rows of a component that has, in units of the squared range of a column
_COLLAPSED = 1e-14
#: a component with a smaller share than this of all rows is empty
_EMPTY = 1e-12

#: numbers of components, (n,), responsibilities, n×k, or what `Mixture` takes as `init`
Start = Any


class StoppedError(Exception):
    """The search was interrupted while this thread was at work."""


class Trial(Protocol):
    """A run of EM from one start."""

    @property
    def found(self) -> bool:
        """Whether there is an estimate."""

    @property
    def converged(self) -> bool:
        """Whether the bound stopped rising."""

    @property
    def log_likelihood(self) -> float:
        """That of all rows; −∞ where there is no estimate."""

    @property
    def objective(self) -> float:
        """The log-likelihood plus the log-density of a prior.

        That is the prior of the run, or for maximum likelihood the weak prior of `Mixture`, under which a component
        that collapses on a few rows is no gain.
        """

    @property
    def penalised(self) -> bool:
        """Whether the run has a prior."""

    def advance(self, iterations: int, *, leaps: bool = False) -> None:
        """Make so many iterations more, or fewer where the bound stops rising; with leaps where that is quicker."""

    def shares(self) -> FloatArray | None:
        """Return the responsibilities, n×k; None where components were left without rows."""


def beats(new: Trial, old: Trial) -> bool:
    """Return whether a run is to be preferred to another of the same model.

    Under maximum likelihood both the likelihood and the penalised one must be higher: the likelihood alone prefers
    components that collapse on a few rows.
    """
    if not (new.found and old.found):
        return new.found
    return new.objective > old.objective and (new.penalised or new.log_likelihood > old.log_likelihood)


# -- plain numbers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GaussianRows:
    """Rows of finite numbers, with what their priors are made of.

    Attributes
    ----------
    x : array of shape (n, d)
    weight : array of shape (n,) or None
    overall : Moments
        Of all rows as one class, whatever rows these are.
    """

    x: FloatArray
    weight: FloatArray | None
    overall: Moments

    def __len__(self) -> int:
        return len(self.x)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(len(self.x)) if self.weight is None else float(self.weight.sum())

    def taken(self, places: NDArray[Any]) -> GaussianRows:
        """Return some of the rows."""
        return replace(self, x=self.x[places], weight=None if self.weight is None else self.weight[places])


class Penalty:
    """The log-density of a prior at some covariances, −½a Σ (log|Σ| + tr(Σ⁻¹V)) above its largest value, at Σ = V.

    Parameters
    ----------
    prior : NormalInverseWishart
        With numbers for all that it takes from the data, and without a mean.
    """

    def __init__(self, prior: NormalInverseWishart) -> None:
        believed = np.asarray(prior.scatter, dtype=np.float64)
        self._rows = float(prior.scatter_count)
        if self._rows == 0.0:  # no prior at all
            believed = np.ones(len(believed))
        self._variance = np.diagonal(believed) if believed.ndim == 2 else believed
        self._root = np.linalg.cholesky(believed if believed.ndim == 2 else np.diag(believed))
        self._log_volumes = np.log(self._variance).sum(), 2.0 * np.log(np.diagonal(self._root)).sum()

    def __call__(self, covariance: FloatArray) -> float:
        """Return it for variances, (k, d), or covariances, (k, d, d); −∞ where one is singular."""
        return float(self.of_several(covariance[None])[0])

    def of_several(self, covariance: FloatArray) -> FloatArray:
        """Return it for the covariances of several runs, (m, k, d) or (m, k, d, d)."""
        with np.errstate(over="ignore"):
            if covariance.ndim == 3:
                total = (np.log(covariance) + self._variance / covariance).sum((1, 2))
            else:
                try:
                    factor = np.linalg.cholesky(covariance)
                except np.linalg.LinAlgError:  # of one of them
                    alone = len(covariance) == 1
                    return np.array([-np.inf if alone else self(own) for own in covariance])
                white = np.linalg.solve(factor, self._root)
                log_determinant = 2.0 * np.log(np.diagonal(factor, axis1=2, axis2=3)).sum((1, 2))
                total = log_determinant + (white**2).sum((1, 2, 3))
        least = covariance.shape[1] * (self._log_volumes[covariance.ndim - 3] + covariance.shape[2])
        return np.asarray(-0.5 * self._rows * (total - least))


class GaussianTrial:
    """A run of the compiled loop, or of its NumPy fallback; see `Trial`.

    Parameters
    ----------
    rows : GaussianRows
    structure : Covariance
    loop : EMLoop or PlainLoop
        Over these rows, which has yet to begin.
    start : array of shape (n,) or (n, k), or a GaussianTrial of other rows
    penalised : bool
        Whether the loop has a prior; else it is maximum likelihood.
    penalty : Penalty
        That of the prior, or of the weak one where there is none.
    tol : float
    stop : Event
        Says when to give up, by raising `StoppedError`.
    """

    def __init__(
        self,
        rows: GaussianRows,
        structure: Covariance,
        loop: em_loop.EMLoop | PlainLoop,
        start: Any,
        penalised: bool,
        penalty: Penalty,
        tol: float,
        stop: Event,
    ) -> None:
        self.rows, self.structure, self.loop, self.penalised = rows, structure, loop, penalised
        self._penalty, self._tol, self._stop = penalty, tol, stop
        self._judged: tuple[bool, float] | None = (False, -np.inf)
        if isinstance(start, GaussianTrial):
            loop.begin_at(start.loop.log_shares, start.loop.means, start.loop.covariance)
        elif np.ndim(start) == 1:
            loop.begin_with_labels(start)
        else:
            loop.begin_with_shares(start if rows.weight is None else start * rows.weight[:, None])

    @property
    def k(self) -> int:
        """How many components there are."""
        return len(self.loop.log_shares)

    @property
    def found(self) -> bool:
        """Whether there is an estimate, and no component has collapsed."""
        return self._judgement()[0]

    @property
    def objective(self) -> float:
        """The log-likelihood plus the log-density of the prior, or of the weak one."""
        return self._judgement()[1]

    @property
    def converged(self) -> bool:
        """Whether the bound stopped rising."""
        return self.loop.status == em_loop.CONVERGED

    @property
    def log_likelihood(self) -> float:
        """That of all rows; −∞ where there is no estimate."""
        value = self.loop.log_likelihood
        return value if self.loop.status in (em_loop.CONTINUES, em_loop.CONVERGED) and np.isfinite(value) else -np.inf

    def advance(self, iterations: int, *, leaps: bool = False) -> None:
        """Make so many iterations more, or fewer where the bound stops rising."""
        loop = self.loop
        if leaps:
            loop.accelerate()
        goal = len(loop.bounds) + iterations
        while loop.status == em_loop.CONTINUES and len(loop.bounds) < goal:
            if self._stop.is_set():
                raise StoppedError
            loop.advance(goal - len(loop.bounds), self._tol, rate=True)
        self._judged = None

    def _judgement(self) -> tuple[bool, float]:
        """Return whether there is an estimate, and the objective; both are found out when they are asked for."""
        if self._judged is None:
            possible = np.isfinite(self.log_likelihood)
            self._judge(self._penalty(self.loop.covariance) if possible else -np.inf)
        assert self._judged is not None
        return self._judged

    def _judge(self, penalty: float) -> None:
        found = np.isfinite(penalty) and (self.penalised or penalty > _NARROW or not self._collapsed())
        self._judged = bool(found), self.log_likelihood + penalty if found else -np.inf

    def _collapsed(self) -> bool:
        """Return whether the scatter of the rows, which rounding may hide, leaves the likelihood without a maximum."""
        try:
            shares = self.shares()
            return rows_collapse(self.rows.x, self.rows.weight, shares, self.loop.covariance, self.structure.code)
        except np.linalg.LinAlgError:
            return True

    def log_joint(self, x: FloatArray | None = None) -> FloatArray:
        """Return log p(x, c), n×k, of the rows or of others."""
        loop, x = self.loop, self.rows.x if x is None else x
        centred = x[None] - loop.means[:, None]
        if loop.covariance.ndim == 2:
            white = centred / np.sqrt(loop.covariance)[:, None]
            log_determinant = np.log(loop.covariance).sum(1)
        else:
            factor = np.linalg.cholesky(loop.covariance)
            inverse = np.linalg.solve(factor, np.broadcast_to(np.eye(x.shape[1]), factor.shape))
            white = centred @ inverse.transpose(0, 2, 1)
            log_determinant = 2.0 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(1)
        constant = loop.log_shares - 0.5 * (x.shape[1] * _LOG_2PI + log_determinant)
        return np.asarray((constant[:, None] - 0.5 * (white**2).sum(2)).T)

    def shares(self) -> FloatArray:
        """Return the responsibilities, n×k."""
        joint = self.log_joint()
        joint -= joint.max(1, keepdims=True)
        shares = np.exp(joint, out=joint)
        shares /= shares.sum(1, keepdims=True)
        return np.ascontiguousarray(shares)

    @property
    def n_parameters(self) -> int:
        """How many numbers are free, of the components that have rows."""
        alive = int((self.loop.count > _EMPTY * self.loop.count.sum()).sum())
        d = self.loop.means.shape[1]
        return self.structure.n_parameters(alive, d) + alive * d + alive - 1

    def release(self) -> None:
        """Give back the work space: there are no more iterations."""
        self.loop.release()

    def outcome(self, components: Any) -> em.Outcome[Any, Any]:
        """Return the model and its statistics, as `Mixture` takes them up."""
        model, statistics = GaussianClimb(components, self.loop, lambda: None).reached()  # type: ignore[arg-type, return-value]
        return em.Outcome(model, statistics, self.loop.bounds, self.converged)


def judge(runs: Sequence[Trial]) -> None:
    """Find the objectives of several runs of one structure at once, where that is quicker than one by one."""
    waiting = [run for run in runs if isinstance(run, GaussianTrial) and run._judged is None]
    waiting = [run for run in waiting if np.isfinite(run.log_likelihood)]
    if len(waiting) > 1:
        penalties = waiting[0]._penalty.of_several(np.stack([run.loop.covariance for run in waiting]))
        for run, penalty in zip(waiting, penalties.tolist(), strict=True):
            run._judge(penalty)


def rows_collapse(
    x: FloatArray, weight: FloatArray | None, shares: FloatArray, covariance: FloatArray, code: str
) -> bool:
    """Return whether rows with these responsibilities, n×k, leave the likelihood of a structure without a maximum.

    That is told by the scatter of the rows of each component, where EM has not come to it yet, and by the covariances
    that EM has come to: classes on parallel lines leave no maximum if volumes vary, though they may not all be lines.
    """
    own = shares if weight is None else shares * weight[:, None]
    count = own.sum(0)
    if not (count > 0).all():
        return True
    units = np.ptp(x, axis=0)
    if covariance.ndim == 2:
        narrowest = (covariance / units**2).min()
    else:
        narrowest = np.linalg.eigvalsh(covariance / np.multiply.outer(units, units)).min()
    if narrowest <= _COLLAPSED:
        return True
    scaled = x / units
    scatter = np.empty((len(count), x.shape[1], x.shape[1]))
    for c in range(len(count)):
        centred = scaled - own[:, c] @ scaled / count[c]
        scatter[c] = (own[:, [c]] * centred).T @ centred / count[c]
    return collapsed(scatter, count, code)


def collapsed(scatter: FloatArray, count: FloatArray, code: str) -> bool:
    """Return whether rows leave no positive variance where a structure needs one: its likelihood has no maximum.

    Parameters
    ----------
    scatter : array of shape (k, d, d)
        The covariance of the rows of each component, in units of the range of the columns.
    count : array of shape (k,)
    code : str
        The letters for volume, shape and orientation.
    """
    volume, shape, orientation = tuple(code)
    columns = np.diagonal(scatter, axis1=1, axis2=2)
    along = columns if orientation == "I" else np.linalg.eigvalsh(scatter)
    needed = [columns.sum(1) if volume == "V" else columns.sum()]
    if shape == "V":  # axes that all share may be those of any one component
        needed.append(along)
    elif shape == "E" and orientation == "E":
        needed.append(np.linalg.eigvalsh(np.tensordot(count, scatter, 1) / count.sum()))
    elif shape == "E":
        needed.append(count @ along / count.sum())
    return any(bool((np.asarray(variance) <= _COLLAPSED).any()) for variance in needed)


# -- any table ----------------------------------------------------------------------------------------------------


class MixtureTrial:
    """A mixture that is fitted a few iterations at a time; see `Trial`.

    Parameters
    ----------
    mixture : Mixture
        Its settings.
    start : Start
    table, weight : the rows
    weak : sequence of priors
        One per block, by which the likelihood is penalised where the mixture has no prior.
    x : array of shape (n, d) or None
        The rows where they are complete numbers and vary, for telling whether a component has collapsed.
    """

    def __init__(
        self, mixture: Mixture, start: Start, table: Any, weight: Any, weak: Sequence[Any], x: FloatArray | None
    ) -> None:
        self.mixture, self._next, self._table, self._weight, self._weak = mixture, start, table, weight, weak
        self._x = x
        self._bounds: list[float] = []
        self.found, self.converged, self.penalised = True, False, mixture.prior is not None
        self.log_likelihood = self.objective = -np.inf

    def advance(self, iterations: int, *, leaps: bool = False) -> None:
        """Make so many iterations more, or fewer where the bound stops rising; leaps are a setting of the mixture."""
        if iterations < 1 or self.converged or not self.found:
            return
        fitted = clone(self.mixture).set_params(init=self._next, max_iter=iterations)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", ".*components were left without rows", UserWarning)
            try:
                fitted.fit(self._table, sample_weight=self._weight)
            except EstimateError:
                self.found, self.log_likelihood, self.objective = False, -np.inf, -np.inf
                return
        self._bounds += fitted.bound_history_
        self.converged = fitted.converged_
        self._next = fitted
        self.log_likelihood = fitted._log_likelihood(self._table, self._weight)[0]
        penalty = self._penalty(fitted)
        self.objective = self.log_likelihood + penalty
        if not self.penalised and penalty < _NARROW and self._collapsed(fitted):
            self.found, self.log_likelihood, self.objective = False, -np.inf, -np.inf

    def _collapsed(self, fitted: Mixture) -> bool:
        """Return whether the likelihood has no maximum, where rows can tell."""
        family = fitted.schema_.blocks[0].family
        if self._x is None or not isinstance(family, Gaussian) or len(fitted.schema_.blocks) > 1:
            return False
        weight = check_weight(self._weight, len(self._x))
        shares, found = fitted.predict_proba(self._table), fitted.distributions_[0]
        assert isinstance(found, GaussianDistributions)
        return rows_collapse(self._x, weight, shares, found.compact, family.structure.code)

    def _penalty(self, fitted: Mixture) -> float:
        """Return the log-density of the prior, or of the weak one where there is none, up to a constant."""
        priors = fitted._fitted_components.priors if self.penalised else self._weak
        parts = zip(fitted.schema_.blocks, fitted.distributions_, fitted.statistics_.joint.blocks, priors, strict=True)
        with np.errstate(over="ignore"):
            return float(sum(block.family.log_prior(found, sums, prior) for block, found, sums, prior in parts))

    def shares(self) -> FloatArray | None:
        """Return the responsibilities, n×k; None where components were left without rows."""
        shares: FloatArray = self._next.predict_proba(self._table)
        return shares if shares.shape[1] == self.mixture.n_components else None

    def fitted(self) -> Mixture:
        """Return the mixture, with all of its iterations."""
        settings = self.mixture.get_params(deep=False)
        mixture: Mixture = self._next.set_params(init=settings["init"], max_iter=settings["max_iter"])
        mixture.bound_history_, mixture.n_iter_ = self._bounds, len(self._bounds)
        return mixture
