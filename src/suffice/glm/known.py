"""Rows of a design that is known already, for sums at coefficients that a user gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.glm.design import Design, Survey
from suffice.glm.starting import as_finite
from suffice.tables.table import Table


class KnownDesign(Survey):
    """A survey of tables that must have the columns of a design."""

    def __init__(self, design: Design) -> None:
        super().__init__(intercept=True)
        self._design = design

    def add(self, table: Table, estimator: str, *, sums: bool) -> None:
        """Raise ValueError unless the table has the columns of the design."""
        self._design.schema.check(table, estimator, extra=True)

    def design(self) -> Design:
        """Return the design."""
        return self._design

    def center(self, design: Design) -> FloatArray:
        """Return 0 for each column: no sums were taken."""
        return np.zeros(len(design.names))


def as_parameters(coef: Any, shape: tuple[int, ...], names: list[str]) -> FloatArray:
    """Return a user's parameters as float64; raise ValueError unless there is one finite number per name."""
    values = as_finite(coef, "coef")
    if values.shape != shape or not np.isfinite(values).all():
        rows = f"{shape[0]} rows, one per class, of " if len(shape) == 2 else ""
        raise ValueError(
            f"coef must be {rows}{shape[-1]} finite numbers, for {', '.join(map(repr, names[:6]))}"
            f"{', …' if len(names) > 6 else ''}, but has shape {values.shape}"
        )
    return values


def centred_parameters(values: FloatArray, center: FloatArray, intercept: bool) -> FloatArray:
    """Return (a, b) of columns that are centred, with a = intercept + c·b, from (intercept, b) or b alone; any rows."""
    theta = values if intercept else np.concatenate([np.zeros((*values.shape[:-1], 1)), values], axis=-1)
    theta = theta.copy()
    theta[..., 0] += theta[..., 1:] @ center
    return theta


def uncentring(center: FloatArray, intercept: bool) -> FloatArray:
    """Return T with T g the gradient in (intercept, b), or in b alone, and T H Tᵀ the Hessian, from those in (a, b)."""
    matrix = np.eye(len(center) + 1)
    matrix[1:, 0] = center
    return matrix if intercept else matrix[1:]
