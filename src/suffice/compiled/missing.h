/* The precision of missing cells, A = Λ_mm: its Cholesky factor and its inverse. */
#ifndef SUFFICE_MISSING_H
#define SUFFICE_MISSING_H

#include "common.h"

/* a (m×m, lower triangle) = the Cholesky factor of A; returns log|A|. */
INLINE double factor_missing(const double *precision, int64_t D, const int64_t *missing, int64_t m, double *a) {
    double product = 1.0, logs = 0.0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = precision[missing[i] * D + missing[j]];
            for (int64_t l = 0; l < j; l++) sum -= a[i * m + l] * a[j * m + l];
            a[i * m + j] = i == j ? sqrt(sum) : sum / a[j * m + j];
            if (i == j) product *= sum;
            if (i == j && !(product > 1e-100 && product < 1e100)) {
                logs += log(product);
                product = 1.0;
            }
        }
    return logs + log(product);
}

/* inverse (m×m) = A⁻¹ by the Cholesky factor of A, which is overwritten. */
INLINE void invert_missing(double *a, int64_t m, double *inverse) {
    for (int64_t j = 0; j < m; j++) { /* columns of L⁻¹, below the diagonal of `a` */
        a[j * m + j] = 1.0 / a[j * m + j];
        for (int64_t i = j + 1; i < m; i++) {
            double sum = 0.0;
            for (int64_t l = j; l < i; l++) sum -= a[i * m + l] * a[l * m + j];
            a[i * m + j] = sum / a[i * m + i];
        }
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int64_t l = i; l < m; l++) sum += a[l * m + i] * a[l * m + j];
            inverse[i * m + j] = inverse[j * m + i] = sum;
        }
}

#endif
