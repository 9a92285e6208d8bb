"""Products of rows with log-parameters, which may be −∞: x log p with 0 log 0 = 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice import compiled
from suffice._arrays import (
    Array,
    FloatArray,
    as_like,
    issparse,
    namespace,
    to_float64,
)
from suffice.errors import EstimateError


def log_product(x: Array, logs: LogParameters, common: bool = True) -> Array:
    """Return x · logsᵀ, n×k, for x ≥ 0, with 0 · (−∞) = 0 as in p⁰ = 1.

    With ``common=False``, a column that is −∞ in every class adds nothing.
    """
    scores = product(x, logs.finite)
    impossible = logs.impossible if common else logs.decisive
    if impossible is None:
        return scores
    xp = namespace(scores)
    return xp.where(product(x, impossible) > 0, -xp.inf, scores)


@dataclass(frozen=True, eq=False)
class LogParameters:
    """Logarithms of parameters, k×d, prepared for products: −∞ is stored separately."""

    finite: Factor
    #: 1 where a logarithm is −∞; None if there is none
    impossible: Factor | None = None
    #: the same without the columns that are −∞ in every class
    decisive: Factor | None = None
    #: 1 for those columns, 1×d; None if there are none
    nowhere: Factor | None = None

    @classmethod
    def of(cls, parameters: FloatArray) -> LogParameters:
        """Return the logarithms of the parameters, prepared for products."""
        return cls.of_logs(log_of(parameters))

    @classmethod
    def of_logs(cls, logs: FloatArray) -> LogParameters:
        """Return logarithms prepared for products, with −∞ stored separately."""
        impossible = np.isneginf(logs)
        if not impossible.any():
            return cls(Factor(np.ascontiguousarray(logs)))
        nowhere = np.asarray(impossible.all(0))
        decisive = impossible & ~nowhere
        return cls(
            Factor(np.where(impossible, 0.0, logs)),
            Factor(impossible.astype(np.float64)),
            Factor(decisive.astype(np.float64)) if decisive.any() else None,
            Factor(nowhere[None].astype(np.float64)) if nowhere.any() else None,
        )

    def n_nowhere(self, x: Array) -> FloatArray | float:
        """Return each row's sum over the columns that are −∞ in every class, x ≥ 0, (n,); 0 if there are none."""
        return 0.0 if self.nowhere is None else to_float64(product(x, self.nowhere))[:, 0]


@dataclass(frozen=True, eq=False)
class Factor:
    """The parameters of a product x @ parametersᵀ, k×d, with a transposed copy for sparse rows."""

    parameters: FloatArray

    @cached_property
    def side_by_side(self) -> FloatArray:
        """The transpose as the compiled kernel reads it, d×k, padded with columns of zeros."""
        return compiled.whole_registers(self.parameters.T)


def product(x: Array, factor: Factor, constant: FloatArray | None = None) -> Array:
    """Return x @ parametersᵀ + constant, n×k, for dense and sparse rows."""
    if issparse(x) and compiled.library is not None:
        scores = compiled.sparse_scores(x, factor.side_by_side, len(factor.parameters), constant)
        if scores is not None:
            return scores
    scores = x @ as_like(factor.parameters, x).T
    return scores if constant is None else scores + as_like(constant, scores)


def inner(eta: FloatArray, moments: FloatArray) -> FloatArray:
    """Return ⟨η, E φ⟩, (k,), with 0 · (−∞) = 0."""
    with np.errstate(invalid="ignore"):
        return np.where(moments == 0.0, 0.0, eta * moments).sum(-1)


def log_of(p: FloatArray) -> FloatArray:
    """Return log p with log 0 = −∞ and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def require_rows(count: FloatArray) -> None:
    """Raise if some class has no observed cells for maximum likelihood; `count` is k×d, or k×1 for all columns."""
    if (count <= 0).any():
        c, column = (int(i) for i in np.argwhere(count <= 0)[0])
        raise EstimateError(
            "maximum likelihood needs at least one observed cell per column in every {noun}, but {noun} {of_class} has "
            "none",
            "use prior='auto'",
            c=c,
            column=column if count.shape[1] > 1 else None,
        )
