/* Gaussian rows with missing cells (NaN), one by one, by the precision Λ of each class. With A = Λ_mm over the missing
 * cells, z the deviations from the mean, 0 if missing, and g = (Λz)_m:
 *
 *     E[z_m] = −A⁻¹g with covariance A⁻¹
 *     the marginal of the observed cells has z_oᵀ Σ_oo⁻¹ z_o = zᵀΛz − gᵀA⁻¹g and log|Σ_oo| = log|Σ| + log|A|
 *
 * Rows of Λ are padded to D cells, whole registers. The NumPy fallbacks are in
 * suffice.families.gaussian.missing_cells. */
#include "missing.h"

/* z = row − mean, 0 for missing cells, whose columns go to `missing`; returns their number. */
INLINE int64_t deviations(const double *row, const double *mean, int64_t d, double *restrict z, int64_t *missing) {
    int64_t m = 0;
    for (int64_t j = 0; j < d; j++) {
        const int there = row[j] == row[j];
        z[j] = there ? row[j] - mean[j] : 0.0;
        missing[m] = j;
        m += !there;
    }
    return m;
}

/* p = Λz; returns zᵀp. */
INLINE double times_precision(const double *precision, const double *z, int64_t d, int64_t D, double *restrict p) {
    for (int64_t j = 0; j < D; j++) p[j] = 0.0;
    for (int64_t i = 0; i < d; i++) {
        const double v = z[i];
        if (v == 0.0) continue;
        const double *restrict row = precision + i * D;
        for (int64_t j = 0; j < D; j++) p[j] += v * row[j];
    }
    double squared = 0.0;
    for (int64_t j = 0; j < D; j++) squared += z[j] * p[j];
    return squared;
}

/* delta = −A⁻¹g by the Cholesky factor of A; returns g·delta. */
INLINE double expect_missing(const double *a, const double *p, const int64_t *missing, int64_t m, double *delta) {
    double gained = 0.0;
    for (int64_t i = 0; i < m; i++) {
        double sum = -p[missing[i]];
        for (int64_t l = 0; l < i; l++) sum -= a[i * m + l] * delta[l];
        delta[i] = sum / a[i * m + i];
    }
    for (int64_t i = m - 1; i >= 0; i--) {
        for (int64_t l = i + 1; l < m; l++) delta[i] -= a[l * m + i] * delta[l];
        delta[i] /= a[i * m + i];
    }
    for (int64_t i = 0; i < m; i++) gained += p[missing[i]] * delta[i];
    return gained;
}

/* out[i][c] = −½ (log|Σ_oo| + z_oᵀ Σ_oo⁻¹ z_o) over the observed cells, n×k. Scratch: work of MISSING_WORK, missing of
 * d + 1. NumPy fallback: IncompleteRows.score_by_row in suffice.families.gaussian.missing_cells. */
EXPORT int64_t NAME(missing_scores)(const double *x, int64_t n, int64_t d, int64_t k, int64_t D, const double *means,
                                    const double *precision, const double *log_determinant, double *work,
                                    int64_t *missing, double *out) {
    double *z = work, *p = work + D, *a = work + 2 * D, *delta = a + d * d;
    for (int64_t j = 0; j < 2 * D; j++) work[j] = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) {
            const double *own = precision + c * d * D;
            const int64_t m = deviations(x + i * d, means + c * d, d, z, missing);
            const double squared = times_precision(own, z, d, D, p);
            const double logs = factor_missing(own, D, missing, m, a);
            const double gained = expect_missing(a, p, missing, m, delta);
            out[i * k + c] = -0.5 * (log_determinant[c] + logs + squared + gained);
        }
    return 0;
}

/* first[c] += Σ_i weights[i][c] E[z] and second[c] += Σ_i weights[i][c] E[z zᵀ] about the means; first is k×D, second
 * k×d×D. Scratch: work of MISSING_WORK, missing of d + 1. NumPy fallback: IncompleteRows._statistics_by_row in
 * suffice.families.gaussian.missing_cells. */
EXPORT int64_t NAME(missing_moments)(const double *x, int64_t n, int64_t d, int64_t k, int64_t D, const double *means,
                                     const double *precision, const double *weights, double *work, int64_t *missing,
                                     double *first, double *second) {
    double *z = work, *p = work + D, *a = work + 2 * D, *inverse = a + d * d, *delta = inverse + d * d;
    for (int64_t j = 0; j < 2 * D; j++) work[j] = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) {
            const double w = weights[i * k + c], *own = precision + c * d * D;
            if (w < LEAST_WEIGHT) continue;
            double *restrict one = first + c * D, *restrict two = second + c * d * D;
            const int64_t m = deviations(x + i * d, means + c * d, d, z, missing);
            if (m) {
                times_precision(own, z, d, D, p);
                factor_missing(own, D, missing, m, a);
                expect_missing(a, p, missing, m, delta);
                invert_missing(a, m, inverse);
                for (int64_t u = 0; u < m; u++) {
                    z[missing[u]] = delta[u];
                    for (int64_t v = 0; v < m; v++) two[missing[u] * D + missing[v]] += w * inverse[u * m + v];
                }
            }
            for (int64_t j = 0; j < D; j++) one[j] += w * z[j];
            for (int64_t u = 0; u < d; u++) {
                const double share = w * z[u];
                for (int64_t j = 0; j < D; j++) two[u * D + j] += share * z[j];
            }
        }
    return 0;
}
