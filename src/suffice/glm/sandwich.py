"""Robust standard errors: the sandwich H⁻¹ M H⁻¹, with M the sum of the squares of scores of rows or of groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, IntArray, issparse, to_float64
from suffice.engines.base import Chunk
from suffice.glm.fitting import MOST_PARAMETERS
from suffice.glm.objective import Found
from suffice.glm.pairs import Pair
from suffice.glm.rows import Data
from suffice.glm.sums import Curvature, Point, blocks, newton_sums, observed_hessian
from suffice.tables.factorize import Factorized, factorize
from suffice.tables.labels import as_column, as_objects_if_mixed

CLUSTER = "cluster"
#: the power of 1/(1 − leverage) by which the square of a row's score is multiplied
_POWERS = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}


def as_cov_type(spec: Any, *, groups: bool, penalised: bool) -> str | None:
    """Return "HC0" to "HC3" or "cluster"; None for the errors of the model.

    Raises
    ------
    ValueError
        If it is unknown, does not go with the groups, or the fit is penalised.
    """
    name = CLUSTER if spec is None and groups else spec
    if name is None or (isinstance(name, str) and name.lower() == "nonrobust"):
        if groups:
            raise ValueError("groups are for clustered standard errors; pass cov_type='cluster', or no groups")
        return None
    known = {kind.lower(): kind for kind in (*_POWERS, CLUSTER)}
    kind = known.get(name.lower()) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"cov_type must be None, {', '.join(map(repr, known.values()))}, not {spec!r}")
    if groups != (kind == CLUSTER):
        raise ValueError(
            "cov_type='cluster' needs the group of each row; pass groups="
            if kind == CLUSTER
            else f"groups are for clustered standard errors, but cov_type is {kind!r}; pass cov_type='cluster'"
        )
    if penalised:
        raise ValueError(
            "robust standard errors are those of maximum likelihood, but the fit is penalised; pass alpha=0 and "
            "firth=False, or no cov_type"
        )
    return kind


def require_hessian(n_parameters: int) -> None:
    """Raise ValueError if there are too many parameters for robust standard errors."""
    if n_parameters > MOST_PARAMETERS:
        raise ValueError(
            f"robust standard errors need the Hessian, which is formed for up to {MOST_PARAMETERS} parameters, but "
            f"there are {n_parameters}; leave columns out, or pass no cov_type"
        )


class Groups:
    """Numbers the groups of rows in the order in which they occur."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def codes(self, values: Any, n_rows: int, start: int) -> IntArray:
        """Return the number of the group of each row; every error names the row.

        Parameters
        ----------
        values : array, or Factorized
            The groups, or a column of a table.
        """
        found = values if isinstance(values, Factorized) else _factorized(values, n_rows)
        missing = np.flatnonzero(found.codes < 0)
        if len(missing):
            raise ValueError(
                f"every row needs a group, but it is missing in {len(missing)} rows (first: row "
                f"{start + int(missing[0])}); drop these rows"
            )
        numbers = [self._numbers.setdefault(value, len(self._numbers)) for value in found.values]
        return np.array([*numbers, -1], dtype=np.intp)[found.codes]


def _factorized(values: Any, n_rows: int) -> Factorized:
    column = as_column(as_objects_if_mixed(values) if isinstance(values, (list, tuple)) else values)
    if column.shape != (n_rows,):
        raise ValueError(
            f"groups need one value per row, but X has {n_rows} rows and groups has shape {column.shape}; for a column "
            f"of X pass its name"
        )
    return factorize(column)


@dataclass(frozen=True, eq=False)
class _MeatPoint:
    """The point where scores are taken, and the power of 1/(1 − leverage); `at.factor` gives the leverage."""

    at: Point
    power: int


def squared_scores(chunk: Chunk, where: _MeatPoint) -> Curvature:
    """Kernel: Σ score² (1 − leverage)^−power (1, x − c)(1, x − c)ᵀ."""
    x, target, at = chunk.blocks[0], chunk.target, where.at
    total = np.zeros((len(at.theta), len(at.theta)))
    for rows, z in blocks(to_float64(x.toarray() if issparse(x) else x), at.center):
        part = target[rows]
        work = at.pair.working(z @ at.theta + (0.0 if part.offset is None else part.offset), part.y, part.weight)
        assert work is not None
        square = work.score**2
        if where.power:
            assert at.factor is not None
            spread = z @ at.factor
            left = 1.0 - work.curvature * np.einsum("ij,ij->i", spread, spread)
            square = np.where(left > 1e-10, square / np.maximum(left, 1e-10) ** where.power, np.inf)
        with np.errstate(invalid="ignore"):  # a row that is fitted exactly; the caller checks
            total += (z * square[:, None]).T @ z
    return Curvature(total)


@dataclass(frozen=True, eq=False)
class GroupScores:
    """The sum of the scores of each group: the numbers of the groups, sorted, and one row per group."""

    groups: IntArray
    scores: FloatArray

    def __add__(self, other: GroupScores) -> GroupScores:
        return _summed(np.append(self.groups, other.groups), np.concatenate([self.scores, other.scores]))


def _summed(groups: IntArray, scores: FloatArray) -> GroupScores:
    found, place = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(found), scores.shape[1]))
    np.add.at(sums, place, scores)
    return GroupScores(found, sums)


def group_scores(chunk: Chunk, at: Point) -> GroupScores:
    """Kernel: Σ score (1, x − c) of the rows of each group."""
    x, target = chunk.blocks[0], chunk.target
    groups, scores = [], []
    for rows, z in blocks(to_float64(x.toarray() if issparse(x) else x), at.center):
        part = target[rows]
        work = at.pair.working(z @ at.theta + (0.0 if part.offset is None else part.offset), part.y, part.weight)
        assert work is not None
        there = part.weights > 0.0
        groups.append(part.group[there])
        scores.append((z * work.score[:, None])[there])
    return _summed(np.concatenate(groups), np.concatenate(scores))


def robust_factor(
    kind: str, pair: Pair, data: Data, found: Found, n_rows: int, intercept: bool
) -> tuple[FloatArray, int | None]:
    """Return F with F Fᵀ = c H⁻¹ M H⁻¹, (1 + p)×(1 + p), and the number of groups.

    H is the observed Hessian. c is 1 for HC0, HC2 and HC3, n/(n − k) for HC1, and G/(G − 1) · (n − 1)/(n − k) for G
    groups, with n rows and k estimated parameters.
    """
    keep, solver = slice(0 if intercept else 1, None), found.solver
    assert solver is not None
    theta = found.theta if intercept else np.append(0.0, found.theta)
    at = Point(pair, data.center if intercept else np.zeros(len(theta) - 1), theta)

    def padded(matrix: FloatArray) -> FloatArray:
        whole = np.zeros((len(theta), len(theta)))
        whole[keep, keep] = solver.root_of_inverse(matrix[keep, keep])
        return whole

    expected = padded(data.engine.reduce(newton_sums, at).hessian)
    root = expected if pair.canonical else padded(data.engine.reduce(observed_hessian, at).values)
    free = n_rows - int(found.kept.sum())
    n_groups = None
    if kind == CLUSTER:
        sums = data.engine.reduce(group_scores, at)
        n_groups = len(sums.groups)
        if n_groups < 2:
            raise ValueError(f"clustered standard errors need at least two groups, but there is {n_groups}")
        correction = n_groups / (n_groups - 1.0) * ((n_rows - 1.0) / free if free > 0 else np.nan)
        half = sums.scores @ root
        inner = half.T @ half
    else:
        meat = data.engine.reduce(squared_scores, _MeatPoint(replace(at, factor=expected), _POWERS[kind])).values
        if not np.isfinite(meat).all():
            raise ValueError(
                f"{kind} divides by 1 − leverage, but a row is fitted exactly, with a leverage of 1; choose HC0 or HC1"
            )
        correction = 1.0 if kind != "HC1" else n_rows / free if free > 0 else np.nan
        inner = root.T @ meat @ root
    values, vectors = np.linalg.eigh(inner)
    return np.sqrt(correction) * (root @ vectors) * np.sqrt(np.maximum(values, 0.0)), n_groups
