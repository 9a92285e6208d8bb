"""The parameters of scikit-learn's GaussianMixture, and their estimates from statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtri

from suffice._arrays import FloatArray
from suffice.dropin._analysis import Whitened
from suffice.dropin._common import log_shares
from suffice.families import Gaussian
from suffice.families.gaussian.dense_form import DenseForm
from suffice.families.gaussian.diagonal_form import DiagonalForm
from suffice.families.gaussian.quadratic import QuadraticForm
from suffice.families.gaussian.shared_form import SharedForm
from suffice.models.joint import JointModel
from suffice.models.schema import Block, Schema
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import Moments

#: the covariance types that have matrices
_MATRICES = ("full", "tied")

_STRUCTURES = {"full": "full", "tied": "tied", "diag": "diagonal", "spherical": "diagonal"}

_ILL_DEFINED = (
    "Fitting the mixture model failed because some components have ill-defined empirical covariance (for instance "
    "caused by singleton or collapsed samples). Try to decrease the number of components, increase reg_covar, or scale "
    "the input data."
)

_IN_DOUBLE = " The numerical accuracy can also be improved by passing float64 data instead of float32."


@dataclass(frozen=True, eq=False)
class Parameters:
    """The parameters that EM estimates, in float64 and in scikit-learn's shapes.

    Parameters
    ----------
    kind : str
        "full", "tied", "diag" or "spherical".
    weights, means : arrays of shape (k,) and (k, d)
    covariances : array
        (k, d, d), (d, d), (k, d) or (k,), depending on the kind.
    factors : array
        U with Σ⁻¹ = U Uᵀ, upper triangular; for variances 1/σ. The same shape as `covariances`.
    """

    kind: str
    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    factors: FloatArray

    def copy(self) -> Parameters:
        """Return a copy of the parameters and their arrays."""
        return Parameters(
            self.kind, self.weights.copy(), self.means.copy(), self.covariances.copy(), self.factors.copy()
        )

    def same(self, other: Parameters) -> bool:
        """Return whether both are equal."""
        return self.kind == other.kind and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("weights", "means", "covariances", "factors")
        )

    def precisions(self) -> FloatArray:
        """Return Σ⁻¹ in the shape of the covariances."""
        if self.kind in _MATRICES:
            return np.asarray(self.factors @ np.swapaxes(self.factors, -1, -2))
        return self.factors**2

    def model(self) -> JointModel:
        """Return the joint model p(x, c), which scores rows and computes their expected statistics."""
        d = self.means.shape[1]
        family = Gaussian(_STRUCTURES[self.kind])
        origin = self.means.mean(0)
        form: QuadraticForm
        if self.kind in _MATRICES:
            compact = self.covariances
            whiteners = np.ascontiguousarray(np.swapaxes(self.factors, -1, -2))
            log_determinants = -2.0 * np.log(np.diagonal(self.factors, axis1=-2, axis2=-1)).sum(-1)
            if self.kind == "full":
                form = DenseForm(self.means, compact, origin, whiteners, log_determinants)
            else:
                form = SharedForm(self.means, compact, origin, whiteners, float(log_determinants))
                compact = compact[None]
        else:
            variance = self.covariances if self.kind == "diag" else self.covariances[:, None]
            compact = np.ascontiguousarray(np.broadcast_to(variance, self.means.shape))
            form = DiagonalForm(self.means, compact, origin)
        distributions = Whitened(family, self.means, compact, given=form)
        return JointModel(_schema(family, d), log_shares(self.weights), (distributions,))


def _schema(family: Gaussian, n_columns: int) -> Schema:
    return Schema(None, n_columns, (Block(family, tuple(range(n_columns))),))


@dataclass(frozen=True)
class Maximisation:
    """The M-step, from statistics to parameters: scikit-learn's formulas, with `reg_covar` added to every diagonal.

    Parameters
    ----------
    kind : str
    reg_covar : float
    trace : float
        The pseudo-count of a component, which avoids a division by 0 if it has no rows.
    single : bool
        Whether the rows are float32.
    """

    kind: str
    reg_covar: float
    trace: float
    single: bool

    def moments(self, statistics: JointStatistics) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the counts, means and covariances."""
        (moments,) = statistics.blocks
        assert isinstance(moments, Moments)
        count = statistics.class_count
        padded = count + self.trace
        means = moments.mean * (count / padded)[:, None]
        scatter = moments.scatter
        left = moments.mean * (self.trace / padded)[:, None]  # shifts the scatter to the returned means
        if self.kind == "full":
            scatter = scatter + (count[:, None] * left)[:, :, None] * left[:, None, :]
            covariances = scatter / padded[:, None, None]
        elif self.kind == "tied":
            covariances = (scatter + (count[:, None] * left).T @ left) / padded.sum()
        else:
            covariances = (scatter + count[:, None] * left**2) / padded[:, None]
        if self.kind in _MATRICES:
            places = np.arange(means.shape[1])
            covariances[..., places, places] += self.reg_covar
        else:
            covariances += self.reg_covar
        return padded, means, covariances.mean(1) if self.kind == "spherical" else covariances

    def estimate(self, statistics: JointStatistics) -> Parameters:
        """Return the parameters of the statistics; raise with scikit-learn's message if a covariance is singular."""
        count, means, covariances = self.moments(statistics)
        return Parameters(self.kind, count / count.sum(), means, covariances, self.factors(covariances))

    def factors(self, covariances: FloatArray) -> FloatArray:
        """Return U with Σ⁻¹ = U Uᵀ: the transposed inverses of the Cholesky factors."""
        if not np.isfinite(covariances).all():
            raise ValueError(self._complaint())
        if self.kind not in _MATRICES:
            if not (covariances > 0).all():
                raise ValueError(self._complaint())
            return np.asarray(1.0 / np.sqrt(covariances))
        return np.ascontiguousarray(np.swapaxes(_inverses(self._cholesky(covariances)), -1, -2))

    def from_precisions(self, precisions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the covariances of given precisions, and U."""
        if self.kind not in _MATRICES:
            return 1.0 / precisions, np.sqrt(precisions)
        # the Cholesky factor of the matrix with rows and columns reversed is U reversed
        factors = self._cholesky(precisions[..., ::-1, ::-1])[..., ::-1, ::-1]
        inverses = _inverses(np.swapaxes(factors, -1, -2))
        return np.asarray(inverses @ np.swapaxes(inverses, -1, -2)), np.ascontiguousarray(factors)

    def _cholesky(self, matrices: FloatArray) -> FloatArray:
        try:
            return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise ValueError(self._complaint()) from None

    def _complaint(self) -> str:
        return _ILL_DEFINED + (_IN_DOUBLE if self.single else "")


def _inverses(lower: FloatArray) -> FloatArray:
    """Return the inverses of lower triangular matrices, by LAPACK, since SciPy's solver may wait for BLAS threads."""
    stacked = lower.reshape(-1, *lower.shape[-2:])
    return np.stack([dtrtri(factor, lower=1)[0] for factor in stacked]).reshape(lower.shape)
