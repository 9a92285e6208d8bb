"""Statistical tests of a generative model's assumptions; each gives a p-value and an effect in nats per row.

The effect is the loss of average log-density per row if the assumption is made but does not hold, in a second-order
approximation. Unlike a test statistic, it does not grow with the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from suffice._arrays import FloatArray

#: directions with a smaller share of the variance are treated as constant
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class Measure:
    """The result of a test: statistic, p-value, and effect in nats per row."""

    statistic: float
    p: float
    effect: float


def whitened(x: FloatArray) -> FloatArray:
    """Return the centred rows in coordinates in which their covariance is the identity, n×rank."""
    z = x - x.mean(0)
    scale = z.std(0)
    z = z[:, scale > 0] / scale[scale > 0]
    _, singular, axes = np.linalg.svd(z.T @ z / len(z), hermitian=True)
    kept = singular > _LEAST_VARIANCE * max(singular.max(initial=0.0), 1.0)
    return np.asarray(z @ (axes[kept].T / np.sqrt(singular[kept])))


def mardia(x: FloatArray) -> tuple[Measure, Measure]:
    """Return Mardia's tests of multivariate skewness and kurtosis.

    With z the whitened rows, skewness is Σ_abc (mean z_a z_b z_c)² and kurtosis the mean of |z|⁴ (d(d + 2) for a normal
    distribution). Their effects are those of an Edgeworth expansion, b₁/12 and (b₂ − d(d + 2))² / (48 d²).
    """
    z = whitened(x)
    n, d = z.shape
    if d == 0:
        return Measure(0.0, 1.0, 0.0), Measure(0.0, 1.0, 0.0)
    skewness = _third_moments(z)
    freedom = d * (d + 1) * (d + 2) / 6
    correction = (d + 1) * (n + 1) * (n + 3) / (n * ((n + 1) * (d + 1) - 6.0)) if (n + 1) * (d + 1) > 6 else 1.0
    first = float(stats.chi2.sf(n * skewness / 6.0 * correction, freedom))
    kurtosis = float(((z * z).sum(1) ** 2).mean())
    excess = kurtosis - d * (d + 2) * (n - 1) / (n + 1)
    second = 2.0 * float(stats.norm.sf(abs(excess) / np.sqrt(8.0 * d * (d + 2) / n)))
    return (
        Measure(skewness, first, max(skewness - 6.0 * freedom / n, 0.0) / 12.0),
        Measure(kurtosis, second, excess**2 / (48.0 * d**2)),
    )


def _third_moments(z: FloatArray) -> float:
    """Return Σ_abc (mean z_a z_b z_c)², by the n×n or the d×d products, whichever are cheaper."""
    n, d = z.shape
    if n < d * d:
        return float(((z @ z.T) ** 3).mean())
    return float(sum((((z * z[:, [a]]).T @ z / n) ** 2).sum() for a in range(d)))


def skewed_columns(x: FloatArray) -> list[Measure | None]:
    """Return for each column d'Agostino and Pearson's test of normality; the effect is skew²/12 + excess²/48.

    The result is None for a column with fewer than 20 cells or a constant one, which cannot be tested.
    """
    n, z, constant = _standardised(x)
    tested = (n >= 20) & ~constant
    n, z = n[tested], z[:, tested]
    skew, kurtosis = (z**3).sum(0) / n, (z**4).sum(0) / n
    statistic = _skewness_score(skew, n) ** 2 + _kurtosis_score(kurtosis, n) ** 2
    effect = skew**2 / 12.0 + (kurtosis - 3.0) ** 2 / 48.0
    measures = iter(_measures(statistic, np.exp(-0.5 * statistic), effect))  # the tail of χ² with 2 degrees of freedom
    return [next(measures) if test else None for test in tested.tolist()]


def _standardised(x: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return the number of cells of each column, (x − mean)/deviation (0 where missing), and whether it is constant."""
    there = ~np.isnan(x)
    n = there.sum(0).astype(np.float64)
    filled = np.where(there, x, 0.0)
    each = np.maximum(n, 1.0)
    centred = np.where(there, filled - filled.sum(0) / each, 0.0)
    scale = np.sqrt((centred**2).sum(0) / each)
    low, high = np.where(there, x, np.inf).min(0, initial=np.inf), np.where(there, x, -np.inf).max(0, initial=-np.inf)
    constant = (low >= high) | (scale == 0.0)
    return n, centred / np.where(constant, 1.0, scale), constant


def _skewness_score(skew: FloatArray, n: FloatArray) -> FloatArray:
    """Return the normal score of a sample skewness (d'Agostino 1970)."""
    y = skew * np.sqrt((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0)))
    beta = 3.0 * (n**2 + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0) / ((n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0))
    w = np.sqrt(2.0 * (beta - 1.0)) - 1.0
    return np.asarray(np.arcsinh(y * np.sqrt((w - 1.0) / 2.0)) / np.sqrt(0.5 * np.log(w)))


def _kurtosis_score(kurtosis: FloatArray, n: FloatArray) -> FloatArray:
    """Return the normal score of a sample kurtosis (Anscombe and Glynn 1983)."""
    mean = 3.0 * (n - 1.0) / (n + 1.0)
    variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0) ** 2 * (n + 3.0) * (n + 5.0))
    x = (kurtosis - mean) / np.sqrt(variance)
    skew = (6.0 * (n**2 - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))) * np.sqrt(
        6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0))
    )
    a = 6.0 + 8.0 / skew * (2.0 / skew + np.sqrt(1.0 + 4.0 / skew**2))
    root = np.cbrt((1.0 - 2.0 / a) / (1.0 + x * np.sqrt(2.0 / (a - 4.0))))
    return np.asarray((1.0 - 2.0 / (9.0 * a) - root) / np.sqrt(2.0 / (9.0 * a)))


def _measures(statistic: FloatArray, p: FloatArray, effect: FloatArray) -> list[Measure]:
    """Return one measure per column."""
    return list(map(Measure, statistic.tolist(), p.tolist(), effect.tolist()))


def box_m(groups: list[FloatArray]) -> Measure:
    """Return Box's test that all groups of rows have one covariance, by the χ² approximation.

    M = (N − k) log|S| − Σ (n_c − 1) log|S_c|. The effect is M / 2(N − k), the mean Kullback–Leibler divergence of a
    row's class from the shared covariance, less its expectation by chance; NaN if a covariance is singular.
    """
    d = groups[0].shape[1]
    freedoms = np.array([len(group) - 1 for group in groups], dtype=float)
    scatters = [np.atleast_2d(np.cov(group.T)) * (len(group) - 1) for group in groups]
    total = freedoms.sum()
    logs = np.array([_log_determinant(s / f) for s, f in zip(scatters, freedoms, strict=True)])
    if not np.isfinite(logs).all():
        return Measure(np.nan, 1.0, np.nan)
    m = total * _log_determinant(sum(scatters) / total) - float(freedoms @ logs)
    k = len(groups)
    factor = ((1.0 / freedoms).sum() - 1.0 / total) * (2 * d * d + 3 * d - 1) / (6.0 * (d + 1) * (k - 1))
    freedom = (k - 1) * d * (d + 1) / 2
    p = float(stats.chi2.sf(m * (1.0 - factor), freedom)) if factor < 1 else 1.0
    return Measure(m, p, max(m - freedom, 0.0) / (2.0 * total))


def _log_determinant(matrix: FloatArray) -> float:
    """Return log |matrix|, or −∞ if it is singular up to rounding."""
    scale = np.sqrt(np.diagonal(matrix))
    values = np.linalg.eigvalsh(matrix / np.outer(scale, scale))
    if values[0] <= _LEAST_VARIANCE * values[-1]:
        return -np.inf
    return float(np.log(values).sum() + 2.0 * np.log(scale).sum())


def box_m_of_columns(groups: list[FloatArray]) -> list[Measure | None]:
    """Return Box's test for the variance of each column separately; None where a group has no variance."""
    counts = np.array([(~np.isnan(group)).sum(0) for group in groups], dtype=np.float64)
    scatters = np.array([_scatter(group) for group in groups])
    tested = np.asarray((counts > 1.0).all(0) & (scatters > 0.0).all(0))
    freedoms, scatters = counts[:, tested] - 1.0, scatters[:, tested]
    total, k = freedoms.sum(0), len(groups)
    m = total * np.log(scatters.sum(0) / total) - (freedoms * np.log(scatters / freedoms)).sum(0)
    factor = ((1.0 / freedoms).sum(0) - 1.0 / total) / (3.0 * (k - 1))
    p = np.where(factor < 1.0, stats.chi2.sf(m * (1.0 - factor), k - 1), 1.0)
    measures = iter(_measures(m, p, np.maximum(m - (k - 1), 0.0) / (2.0 * total)))
    return [next(measures) if test else None for test in tested.tolist()]


def _scatter(x: FloatArray) -> FloatArray:
    """Return the sum of squares about the mean of each column, exactly 0 for a constant column."""
    there = ~np.isnan(x)
    shifted = np.where(there, x - x[np.argmax(there, axis=0), np.arange(x.shape[1])], 0.0)
    mean = shifted.sum(0) / np.maximum(there.sum(0), 1)
    return np.asarray((np.where(there, shifted - mean, 0.0) ** 2).sum(0))


def dispersion(x: FloatArray) -> list[Measure]:
    """Return Fisher's test per column that the variance of counts is D times their mean, with D = 1.

    The effect is ½ (D − 1 − log D).
    """
    there = ~np.isnan(x)
    n = there.sum(0).astype(np.float64)
    mean = np.where(there, x, 0.0).sum(0) / np.maximum(n, 1.0)
    tested = (n >= 2.0) & (mean > 0.0)
    statistic = np.divide(_scatter(x), mean, out=n - 1.0, where=tested)
    freedom = np.where(tested, n - 1.0, 1.0)
    ratio = np.where(tested, statistic / freedom, 1.0)
    p = 2.0 * np.minimum(stats.chi2.sf(statistic, freedom), stats.chi2.cdf(statistic, freedom))
    with np.errstate(divide="ignore"):
        effect = 0.5 * (ratio - 1.0 - np.log(ratio))
    return _measures(ratio, np.where(tested, np.minimum(p, 1.0), 1.0), effect)
