"""A mixture as an EM problem: rows on an engine, families with fixed priors, and the shares of the components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.engines import Engine, MemoryEngine
from suffice.errors import EstimateError
from suffice.families.gaussian.covariance.constant import constant
from suffice.mixtures.compiled_loop import climbs
from suffice.models.joint import Expectation, JointModel, expect, learn
from suffice.models.missing import lifted, uncorrelated
from suffice.models.schema import Schema
from suffice.optimize import em
from suffice.priors import PriorSpec
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import Moments


def shares(count: FloatArray) -> FloatArray:
    """Return log (n_c / n), −∞ for empty components."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(count / count.sum()))


def equal_shares(count: FloatArray) -> FloatArray:
    """Return log 1/k for each of k components."""
    return np.full(len(count), -np.log(len(count)))


def has_constant_columns(statistics: JointStatistics) -> bool:
    """Return whether some numeric column holds a single value."""
    return any(isinstance(block, Moments) and bool(constant(block).any()) for block in statistics.blocks)


@dataclass(frozen=True)
class Components:
    """The step from statistics to a model: one prior per block, and log-shares computed from the component counts."""

    schema: Schema
    priors: Sequence[PriorSpec]
    log_shares: Callable[[FloatArray], FloatArray] = shares
    #: the names of the components in error messages
    names: Sequence[Any] | None = None
    #: whether rows have missing values and covariances are learned from incomplete rows
    missing: bool = False
    #: the class of each component, if classes have several
    class_of: IntArray | None = None

    def begin(self, engine: Engine) -> JointModel:
        """Return the first model, estimated from rows with given responsibilities."""
        if not self.missing:
            return self.estimate(engine.reduce(learn, self.schema))
        return self.estimate(lifted(engine.reduce(learn, uncorrelated(self.schema)), self.schema))

    def estimate(self, statistics: JointStatistics, start: JointModel | None = None) -> JointModel:
        """Return the model estimated from the statistics; iterative estimates continue from `start`."""
        distributions = []
        for number, (block, sums, prior) in enumerate(
            zip(self.schema.blocks, statistics.blocks, self.priors, strict=True)
        ):
            try:
                if start is None:
                    distributions.append(block.family.estimate(sums, prior))
                else:
                    distributions.append(block.family.improve(sums, prior, start.distributions[number]))
            except EstimateError as error:
                names = range(len(statistics.class_count)) if self.names is None else self.names
                noun = "component" if self.names is None else "class" if self.class_of is None else "component of class"
                raise error.named(names, block.columns, self.schema.column_labels, noun) from None
        log_shares = self.log_shares(statistics.class_count)
        return JointModel(self.schema, log_shares, tuple(distributions), self.class_of)

    def extrapolate(
        self, parts: Sequence[JointStatistics], weights: Sequence[float], start: JointModel
    ) -> JointModel | None:
        """Return the model estimated from Σ_i weights[i] · parts[i]; None if there is no estimate."""
        statistics = JointStatistics.combined(parts, weights)
        if (statistics.class_count < 0).any():
            return None
        try:
            with np.errstate(all="ignore"):
                model = self.estimate(statistics, start)
                natural = [found.natural_parameters() for found in model.distributions]
        except (EstimateError, np.linalg.LinAlgError):
            return None
        return None if any(np.isnan(eta).any() for eta in natural) else model

    def log_prior(self, model: JointModel, statistics: JointStatistics) -> float:
        """Return the log-density of the priors at the parameters of a model."""
        parts = zip(self.schema.blocks, model.distributions, statistics.blocks, self.priors, strict=True)
        return float(sum(block.family.log_prior(found, sums, prior) for block, found, sums, prior in parts))

    def problem(self, engine: Engine) -> em.Problem[JointModel, JointStatistics]:
        """Return the EM problem for the rows of an engine."""
        arranged = self._arranged(engine)

        def expectation(model: JointModel) -> Expectation:
            return arranged.reduce(expect, model)

        return em.Problem(expectation, self.estimate, self.log_prior, self.extrapolate, climbs(self, engine))

    def _arranged(self, engine: Engine) -> Engine:
        """Return an engine with the rows in the order that a family prefers, if they are in memory."""
        if not self.missing or not isinstance(engine, MemoryEngine):
            return engine
        for block, rows in zip(self.schema.blocks, engine.rows.blocks, strict=True):
            order = block.family.row_order(rows)
            if order is not None:
                return MemoryEngine(engine.rows.taken(order), engine.n_threads, engine.progress)
        return engine
