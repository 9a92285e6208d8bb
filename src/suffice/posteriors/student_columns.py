"""Student's t, column by column: the predictive of Gaussian columns without covariances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray, as_like, is_float, issparse, namespace
from suffice.families.cells import dense_rows, missing_as_zero, observed_cells
from suffice.families.gaussian import Gaussian
from suffice.posteriors.predictive import Predictive
from suffice.posteriors.student import log_heights

#: limit on the cells of sparse rows that are made dense at a time
_DENSE_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class StudentColumns(Predictive):
    """Columns with one t each: location μ, squared scale s² and ν, k×d each."""

    family: Gaussian
    means: FloatArray
    squared_scale: FloatArray
    dof: FloatArray
    title: ClassVar[str] = "Student's t"

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.means)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: the means, and the variances under the structure."""
        return self.means.size + self.family.structure.n_parameters(*self.means.shape)

    def shown(self) -> dict[str, Any]:
        """Return the location, the scale and the degrees of freedom."""
        return {"location": self.means, "scale": np.sqrt(self.squared_scale), "dof": self.dof}

    def mean(self) -> FloatArray:
        """Return μ, k×d."""
        return self.means

    def variance(self) -> FloatArray:
        """Return s² ν/(ν − 2), infinite for ν ≤ 2, k×d."""
        ratio = np.full(self.dof.shape, np.inf)
        return self.squared_scale * np.divide(self.dof, self.dof - 2.0, out=ratio, where=self.dof > 2.0)

    @cached_property
    def _constants(self) -> FloatArray:
        return log_heights(self.dof, 1.0) - 0.5 * np.log(self.squared_scale)

    def score(self, x: Array, common: bool = True) -> Array:
        """Return Σ_j log t(x_j), n×k, over the observed cells."""
        if issparse(x):  # zeros are values: make a few rows dense at a time
            few = max(1, _DENSE_CELLS // x.shape[1])
            parts = [self.score(x[start : start + few].toarray()) for start in range(0, x.shape[0], few)]
            return np.concatenate(parts)
        xp = namespace(x)
        slopes = -0.5 * (self.dof + 1.0)
        columns = [self._bent(x, c) @ as_like(slopes[c], x) for c in range(self.n_classes)]
        scores = xp.stack(columns, axis=1) + as_like(self._constants.sum(1), x)
        if bool(xp.all(xp.isfinite(scores))):
            return scores
        observed = observed_cells(x)
        columns = []
        for c in range(self.n_classes):
            bent = self._bent(x, c)
            if bool(xp.any(xp.isinf(bent))):  # squares that overflow
                bent = xp.where(xp.isinf(bent), 2.0 * xp.log(xp.abs(self._scaled(x, c))), bent)
            terms = bent * as_like(slopes[c], x) + as_like(self._constants[c], x)
            columns.append(xp.sum(missing_as_zero(terms, observed), axis=1))
        return xp.stack(columns, axis=1)

    @property
    def by_column(self) -> bool:
        """True: each column has a t of its own."""
        return True

    def cell_scores(self, x: Array, classes: IntArray | slice) -> FloatArray:
        """Return log t(x_j) of each cell under one class per row."""
        rows = dense_rows(x)
        dof, scale = self.dof[classes], self.squared_scale[classes]
        z = np.abs(rows - self.means[classes]) / np.sqrt(dof * scale)
        bent = 2.0 * np.where(z > 1e100, np.log(np.maximum(z, 1.0)), 0.5 * np.log1p(np.minimum(z, 1e100) ** 2))
        return np.where(np.isnan(rows), 0.0, self._constants[classes] - 0.5 * (dof + 1.0) * bent)

    def _bent(self, x: Array, c: int) -> Array:
        """Return log(1 + (x − μ)²/(ν s²)), n×d."""
        z = self._scaled(x, c)
        z *= z
        return namespace(x).log1p(z)

    def _scaled(self, x: Array, c: int) -> Array:
        """Return (x − μ)/(√ν s), n×d."""
        mean = self.means[c]
        if is_float(x, "float32"):  # the part of the mean that float32 cannot represent is subtracted after the rest
            center = mean.astype(np.float32).astype(np.float64)
            z = x - as_like(center, x)
            z -= as_like(mean - center, x)
        else:
            z = x - as_like(mean, x)
        z *= as_like(1.0 / np.sqrt(self.dof[c] * self.squared_scale[c]), x)
        return z

    def mahalanobis(self, x: Array) -> FloatArray:
        """Return Σ_j (x_j − μ_j)²/s_j², n×k, over the observed cells."""
        rows = dense_rows(x)
        return np.stack(
            [np.nansum((rows - m) ** 2 / s, axis=1) for m, s in zip(self.means, self.squared_scale, strict=True)],
            axis=1,
        )

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return μ + s t."""
        return self.means[classes] + np.sqrt(self.squared_scale[classes]) * rng.standard_t(self.dof[classes])

    def marginal(self, columns: IntArray) -> StudentColumns:
        """Return the distributions of some of the columns."""
        arrays = (array[:, columns] for array in (self.means, self.squared_scale, self.dof))
        return StudentColumns(self.family, *arrays)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log t_a(x_j) / t_b(x_j); the rest is 0."""
        rows = dense_rows(x)
        observed_cells(rows)
        terms = np.zeros_like(rows)
        for c in np.union1d(a, b):
            own = self._constants[c] - 0.5 * (self.dof[c] + 1.0) * self._bent(rows, c)
            terms += own * ((a == c).astype(float) - (b == c))[:, None]
        return np.where(np.isnan(rows), 0.0, terms), np.zeros(len(rows))
