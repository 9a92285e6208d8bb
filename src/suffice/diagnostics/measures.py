"""Statistical tests of what a generative model assumes; each gives a p-value and an effect in nats a row.

The effect is how much the average log-density of a row suffers when the assumption is made though it does not hold, as
far as a second-order approximation tells. It does not grow with the number of rows, as a test statistic does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from suffice._arrays import FloatArray

#: directions with less of the variance than this are read as constant
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class Measure:
    """A test: its statistic, p-value, and effect in nats a row."""

    statistic: float
    p: float
    effect: float


def whitened(x: FloatArray) -> FloatArray:
    """Return rows less their mean in the coordinates in which their covariance is the identity, n×rank."""
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
    """Return Σ_abc (mean z_a z_b z_c)², by the products that are fewer."""
    n, d = z.shape
    if n < d * d:
        return float(((z @ z.T) ** 3).mean())
    return float(sum((((z * z[:, [a]]).T @ z / n) ** 2).sum() for a in range(d)))


def skewed_columns(x: FloatArray) -> list[Measure | None]:
    """Return for each column d'Agostino and Pearson's test of normality; the effect is skew²/12 + excess²/48.

    None where there are fewer than 20 cells, or they are all the same: there is nothing to test.
    """
    found: list[Measure | None] = []
    for column in x.T:
        values = column[~np.isnan(column)]
        if len(values) < 20 or values.std() == 0.0:
            found.append(None)
            continue
        statistic, p = stats.normaltest(values)
        skew, excess = float(stats.skew(values)), float(stats.kurtosis(values))
        found.append(Measure(float(statistic), float(p), skew**2 / 12.0 + excess**2 / 48.0))
    return found


def box_m(groups: list[FloatArray]) -> Measure:
    """Return Box's test that all groups of rows have one covariance, by the χ² approximation.

    M = (N − k) log|S| − Σ (n_c − 1) log|S_c|. The effect is M / 2(N − k), the mean Kullback–Leibler divergence of a
    row's class from the shared covariance, less what chance alone would give; NaN where a covariance is singular.
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
    """Return log |matrix|, −∞ where it is singular but for rounding."""
    scale = np.sqrt(np.diagonal(matrix))
    values = np.linalg.eigvalsh(matrix / np.outer(scale, scale))
    if values[0] <= _LEAST_VARIANCE * values[-1]:
        return -np.inf
    return float(np.log(values).sum() + 2.0 * np.log(scale).sum())


def dispersion(x: FloatArray) -> Measure:
    """Return Fisher's test that the variance of counts is D = 1 times their mean; the effect is ½ (D − 1 − log D)."""
    values = x[~np.isnan(x)]
    mean = values.mean() if len(values) else 0.0
    if len(values) < 2 or mean == 0.0:
        return Measure(1.0, 1.0, 0.0)
    ratio = float(values.var(ddof=1) / mean)
    tail = stats.chi2(len(values) - 1)
    statistic = ratio * (len(values) - 1)
    p = 2.0 * min(float(tail.sf(statistic)), float(tail.cdf(statistic)))
    effect = 0.5 * (ratio - 1.0 - np.log(ratio)) if ratio > 0 else np.inf
    return Measure(ratio, min(p, 1.0), float(effect))
