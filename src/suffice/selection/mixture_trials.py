"""Trials of mixtures over any table, a few iterations of `Mixture` at a time."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from suffice._arrays import FloatArray
from suffice.errors import EstimateError
from suffice.estimators.mixture import Mixture
from suffice.families import Gaussian
from suffice.families.gaussian import GaussianDistributions
from suffice.selection.collapse import rows_collapse
from suffice.selection.trials import NARROW, Start
from suffice.tables.labels import check_weight


class MixtureTrial:
    """A mixture that is fitted a few iterations at a time; see `Trial`.

    Parameters
    ----------
    mixture : Mixture
        The settings of the mixture.
    start : Start
    table, weight : table, array of shape (n,) or None
        The rows and their weights.
    weak : sequence of priors
        One prior per block, which penalises the likelihood if the mixture has no prior.
    x : array of shape (n, d) or None
        The rows, if they are complete numbers in columns that vary, to detect collapsed components.
    """

    def __init__(
        self, mixture: Mixture, start: Start, table: Any, weight: Any, weak: Sequence[Any], x: FloatArray | None
    ) -> None:
        self.mixture, self._next, self._table, self._weight, self._weak = mixture, start, table, weight, weak
        self._x = x
        self._bounds: list[float] = []
        self.found, self.converged, self.penalised = True, False, mixture.prior is not None
        self.log_likelihood = self.objective = -np.inf

    def advance(self, iterations: int, *, extrapolate: bool = False) -> None:
        """Make the next `iterations` iterations, or fewer if the bound stops rising.

        `extrapolate` is ignored: extrapolation is a setting of the mixture.
        """
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
        if not self.penalised and penalty < NARROW and self._collapsed(fitted):
            self.found, self.log_likelihood, self.objective = False, -np.inf, -np.inf

    def _collapsed(self, fitted: Mixture) -> bool:
        """Return whether the likelihood has no maximum; False if the rows cannot be checked."""
        family = fitted.schema_.blocks[0].family
        if self._x is None or not isinstance(family, Gaussian) or len(fitted.schema_.blocks) > 1:
            return False
        weight = check_weight(self._weight, len(self._x))
        shares, found = fitted.predict_proba(self._table), fitted.distributions_[0]
        assert isinstance(found, GaussianDistributions)
        return rows_collapse(self._x, weight, shares, found.compact, family.structure.code)

    def _penalty(self, fitted: Mixture) -> float:
        """Return the log-density of the prior, or of the weak prior if there is none, up to a constant."""
        priors = fitted._fitted_components.priors if self.penalised else self._weak
        parts = zip(fitted.schema_.blocks, fitted.distributions_, fitted.statistics_.joint.blocks, priors, strict=True)
        with np.errstate(over="ignore"):
            return float(sum(block.family.log_prior(found, sums, prior) for block, found, sums, prior in parts))

    def shares(self) -> FloatArray | None:
        """Return the responsibilities, n×k; None if some components have no rows."""
        shares: FloatArray = self._next.predict_proba(self._table)
        return shares if shares.shape[1] == self.mixture.n_components else None

    def fitted(self) -> Mixture:
        """Return the fitted mixture, with the bounds of all iterations."""
        settings = self.mixture.get_params(deep=False)
        mixture: Mixture = self._next.set_params(init=settings["init"], max_iter=settings["max_iter"])
        mixture.bound_history_, mixture.n_iter_ = self._bounds, len(self._bounds)
        return mixture
