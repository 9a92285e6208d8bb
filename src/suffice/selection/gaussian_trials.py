"""Trials of Gaussian mixtures over an array, by the compiled loop or its NumPy fallback."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.compiled import em_loop
from suffice.families.gaussian.covariance import Covariance
from suffice.mixtures.compiled_loop import GaussianClimb
from suffice.mixtures.numpy_loop import PlainLoop
from suffice.optimize import em
from suffice.selection.collapse import GaussianRows, Penalty, rows_collapse
from suffice.selection.trials import NARROW, StoppedError, Trial

_LOG_2PI = float(np.log(2.0 * np.pi))

#: a component with a smaller share of all rows counts as empty
_EMPTY = 1e-12


class GaussianTrial:
    """A run of the compiled loop, or of its NumPy fallback; see `Trial`.

    Parameters
    ----------
    rows : GaussianRows
    structure : Covariance
    loop : EMLoop or PlainLoop
        A loop over these rows that has not started.
    start : array of shape (n,) or (n, k), or a GaussianTrial of other rows
    penalised : bool
        Whether the loop has a prior; otherwise it is maximum likelihood.
    penalty : Penalty
        The log-density of the prior, or of the weak prior of `Mixture` if there is none.
    tol : float
    stop : Event
        When it is set, `advance` raises `StoppedError`.
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
        """The number of components."""
        return len(self.loop.log_shares)

    @property
    def found(self) -> bool:
        """Whether there is an estimate, and no component has collapsed."""
        return self._judgement()[0]

    @property
    def objective(self) -> float:
        """The log-likelihood plus the log-density of the prior, or of the weak prior if there is none."""
        return self._judgement()[1]

    @property
    def converged(self) -> bool:
        """Whether the bound stopped rising."""
        return self.loop.status == em_loop.CONVERGED

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of all rows; −∞ if there is no estimate."""
        value = self.loop.log_likelihood
        return value if self.loop.status in (em_loop.CONTINUES, em_loop.CONVERGED) and np.isfinite(value) else -np.inf

    def advance(self, iterations: int, *, extrapolate: bool = False) -> None:
        """Make the next `iterations` iterations, or fewer if the bound stops rising."""
        loop = self.loop
        if extrapolate:
            loop.accelerate()
        goal = len(loop.bounds) + iterations
        while loop.status == em_loop.CONTINUES and len(loop.bounds) < goal:
            if self._stop.is_set():
                raise StoppedError
            loop.advance(goal - len(loop.bounds), self._tol, rate=True)
        self._judged = None

    def _judgement(self) -> tuple[bool, float]:
        """Return whether there is an estimate, and the objective; both are computed when they are first needed."""
        if self._judged is None:
            possible = np.isfinite(self.log_likelihood)
            self._judge(self._penalty(self.loop.covariance) if possible else -np.inf)
        assert self._judged is not None
        return self._judged

    def _judge(self, penalty: float) -> None:
        found = np.isfinite(penalty) and (self.penalised or penalty > NARROW or not self._collapsed())
        self._judged = bool(found), self.log_likelihood + penalty if found else -np.inf

    def _collapsed(self) -> bool:
        """Return whether the likelihood has no maximum, judged by the scatter of the rows, which rounding may hide."""
        try:
            shares = self.shares()
            return rows_collapse(self.rows.x, self.rows.weight, shares, self.loop.covariance, self.structure.code)
        except np.linalg.LinAlgError:
            return True

    def log_joint(self, x: FloatArray | None = None) -> FloatArray:
        """Return log p(x, c), n×k, of the rows of the trial or of others."""
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
        """The number of free parameters of the components that have rows."""
        alive = int((self.loop.count > _EMPTY * self.loop.count.sum()).sum())
        d = self.loop.means.shape[1]
        return self.structure.n_parameters(alive, d) + alive * d + alive - 1

    def release(self) -> None:
        """Free the workspace: there are no more iterations."""
        self.loop.release()

    def outcome(self, components: Any) -> em.Outcome[Any, Any]:
        """Return the model and its statistics, in the form that `Mixture` stores."""
        model, statistics = GaussianClimb(components, self.loop, lambda: None).reached()  # type: ignore[arg-type, return-value]
        return em.Outcome(model, statistics, self.loop.bounds, self.converged)


def judge(runs: Sequence[Trial]) -> None:
    """Compute the objectives of several runs of one structure at once, which is faster than one by one."""
    waiting = [run for run in runs if isinstance(run, GaussianTrial) and run._judged is None]
    waiting = [run for run in waiting if np.isfinite(run.log_likelihood)]
    if len(waiting) > 1:
        penalties = waiting[0]._penalty.of_several(np.stack([run.loop.covariance for run in waiting]))
        for run, penalty in zip(waiting, penalties.tolist(), strict=True):
            run._judge(penalty)
