"""EM for a mixture of Gaussians over rows in memory: the NumPy fallback of the compiled loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import Self

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.compiled.em_loop import CONTINUES, CONVERGED, NO_ESTIMATE
from suffice.engines import MemoryEngine, Rows
from suffice.errors import EstimateError
from suffice.families import Gaussian
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.covariance import Covariance
from suffice.mixtures.components import Components
from suffice.models.joint import JointModel
from suffice.models.schema import Block, Schema
from suffice.optimize import em
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import Moments
from suffice.statistics.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels


class PlainLoop:
    """The NumPy fallback of `suffice.compiled.em_loop.EMLoop`.

    Parameters
    ----------
    x : array of shape (n, d)
        Finite numbers in columns that vary.
    structure : Covariance
    k : int
        The number of components.
    weight : array of shape (n,) or None
    prior : NormalInverseWishart or None
        The prior, with numbers in place of all data-dependent settings; None is maximum likelihood.

    Attributes
    ----------
    log_shares, means, covariance : arrays
        The parameters; undefined if there is no estimate.
    count, center, first, second : arrays
        The moments from which the parameters were estimated.
    bounds : list of float
        The bound of each iteration.
    status : int
        CONTINUES, CONVERGED or NO_ESTIMATE.
    log_likelihood : float
        The log-likelihood of the parameters; computed only by `advance` with ``rate=True``.
    """

    log_shares: FloatArray
    means: FloatArray
    covariance: FloatArray
    count: FloatArray
    center: FloatArray
    first: FloatArray
    second: FloatArray

    def __init__(
        self,
        x: FloatArray,
        structure: Covariance,
        k: int,
        *,
        weight: FloatArray | None = None,
        prior: NormalInverseWishart | None = None,
    ) -> None:
        self._x, self._weight, self._k = x, weight, k
        block = Block(Gaussian(structure), tuple(range(x.shape[1])))
        self._components = Components(Schema(None, x.shape[1], (block,)), [prior])
        unknown = PartialLabels(None, weight, k, len(x))
        self._problem = self._components.problem(MemoryEngine(Rows((x,), unknown)))
        self._reset()

    def _reset(self) -> None:
        self._model: JointModel | None = None
        self._extrapolates = False
        self.bounds: list[float] = []
        self.status, self.log_likelihood = CONTINUES, math.nan

    def another(self) -> Self:
        """Return a new loop over the same rows that has not started."""
        other = copy(self)
        other._reset()
        return other

    def begin_at(self, log_shares: FloatArray, means: FloatArray, covariance: FloatArray) -> None:
        """Start from these parameters."""
        schema = self._components.schema
        family = schema.blocks[0].family
        assert isinstance(family, Gaussian)
        self._begin(lambda: JointModel(schema, log_shares, (GaussianDistributions(family, means, covariance),)))

    def begin_with_labels(self, labels: IntArray) -> None:
        """Start from the estimates for given component numbers of the rows, (n,)."""
        self._begin_with(Labels(np.asarray(labels, dtype=np.intp), self._weight, self._k))

    def begin_with_shares(self, shares: FloatArray) -> None:
        """Start from the estimates for given responsibilities, n×k, already multiplied by the row weights."""
        self._begin_with(SoftLabels(shares))

    def _begin_with(self, members: Responsibilities) -> None:
        self._begin(lambda: self._components.begin(MemoryEngine(Rows((self._x,), members))))

    def _begin(self, first: Callable[[], JointModel]) -> None:
        self._reset()
        try:
            self._keep(first())
        except EstimateError:
            self.status = NO_ESTIMATE

    def _keep(self, model: JointModel) -> None:
        (found,) = model.distributions
        assert isinstance(found, GaussianDistributions)
        self._model = model
        self.log_shares, self.means, self.covariance = model.log_prior, found.means, found.compact

    def accelerate(self) -> None:
        """Take extrapolation steps from now on; see `suffice.optimize.extrapolation.Squarem`."""
        self._extrapolates = True

    def release(self) -> None:
        """Do nothing: there is no workspace to free."""

    def advance(self, max_iter: int, tol: float, *, rate: bool = False) -> None:
        """Make the next `max_iter` iterations, or fewer if the bound stops rising.

        If `rate` is true, the log-likelihood of the final parameters is computed too.
        """
        if self._model is None:
            return
        most = len(self.bounds) + max_iter
        try:
            with np.errstate(over="ignore"):  # squares divided by the variance of a collapsing component
                outcome = em.run(
                    self._problem,
                    self._model,
                    max_iter=most,
                    tol=tol,
                    accelerate=self._extrapolates,
                    before=self.bounds,
                )
        except EstimateError:
            self.status = NO_ESTIMATE
            return
        (moments,) = outcome.statistics.blocks
        assert isinstance(moments, Moments)
        self._keep(outcome.model)
        self.count = outcome.statistics.class_count
        self.center, self.first, self.second = moments.center, moments.first, moments.second
        self.bounds, self.status = outcome.bounds, CONVERGED if outcome.converged else CONTINUES
        if rate:
            self.log_likelihood = self._problem.expect(outcome.model).log_likelihood
