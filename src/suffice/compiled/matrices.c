/* Small dense matrices of doubles, row-major: Cholesky factors, inverses, linear systems and symmetric eigenproblems,
 * for the few columns and components of a mixture, where a call of LAPACK takes longer than the work. In Python:
 * numpy.linalg. */
#include "matrices.h"

/* lower (d×d) with lower·lowerᵀ = a, which is symmetric and may be `lower` itself. Returns the smallest pivot, 0 if
 * `a` is not positive definite. Rows are subtracted from rows, which compilers vectorise. */
double cholesky(const double *a, int64_t d, double *lower) {
    double least = INFINITY;
    if (lower != a) memcpy(lower, a, d * d * sizeof(double));
    for (int64_t p = 0; p < d; p++) { /* the factor is made above the diagonal, and transposed at the end */
        double *row = lower + p * d, square = row[p];
        if (!(square > 0.0 && square < LARGEST_NUMBER)) return 0.0;
        const double pivot = sqrt(square), inverse = 1.0 / pivot;
        least = pivot < least ? pivot : least;
        row[p] = pivot;
        for (int64_t j = p + 1; j < d; j++) row[j] *= inverse;
        for (int64_t i = p + 1; i < d; i++) {
            double *other = lower + i * d;
            const double factor = row[i];
            for (int64_t j = i; j < d; j++) other[j] -= factor * row[j];
        }
    }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = i + 1; j < d; j++) lower[j * d + i] = lower[i * d + j], lower[i * d + j] = 0.0;
    return least;
}

/* Return Σ log lower_ii: ½ log|a| for the Cholesky factor of a. */
double half_log_determinant(const double *lower, int64_t d) {
    double sum = 0.0;
    for (int64_t i = 0; i < d; i++) sum += log(lower[i * d + i]);
    return sum;
}

/* inverse = lower⁻¹, both lower triangular. */
void invert_lower(const double *lower, int64_t d, double *inverse) {
    memset(inverse, 0, d * d * sizeof(double));
    for (int64_t i = 0; i < d; i++) {
        const double *row = lower + i * d, scale = 1.0 / row[i];
        double *out = inverse + i * d;
        for (int64_t t = 0; t < i; t++) {
            const double *other = inverse + t * d, factor = -row[t] * scale;
            for (int64_t j = 0; j <= t; j++) out[j] += factor * other[j];
        }
        out[i] = scale;
    }
}

/* out = wᵀw on and above its diagonal, for a lower triangular w. */
void lower_squared(const double *w, int64_t d, double *out) {
    memset(out, 0, d * d * sizeof(double));
    for (int64_t r = 0; r < d; r++) {
        const double *row = w + r * d;
        for (int64_t i = 0; i <= r; i++)
            for (int64_t j = i; j <= r; j++) out[i * d + j] += row[i] * row[j];
    }
}

/* Return tr(w s wᵀ) for a lower triangular w and a symmetric s; `square` is scratch, d×d. */
double whitened_trace(const double *w, const double *s, int64_t d, double *square) {
    double trace = 0.0;
    lower_squared(w, d, square);
    for (int64_t i = 0; i < d; i++) {
        double sum = 0.5 * square[i * (d + 1)] * s[i * (d + 1)];
        for (int64_t j = i + 1; j < d; j++) sum += square[i * d + j] * s[i * d + j];
        trace += 2.0 * sum;
    }
    return trace;
}

/* out = left·right, all d×d; out is neither of them. */
void product(const double *left, const double *right, int64_t d, double *out) {
    memset(out, 0, d * d * sizeof(double));
    for (int64_t i = 0; i < d; i++)
        for (int64_t t = 0; t < d; t++) {
            const double factor = left[i * d + t];
            for (int64_t j = 0; j < d; j++) out[i * d + j] += factor * right[t * d + j];
        }
}

/* out = leftᵀ·right, all d×d; out is neither of them. */
void transposed_product(const double *left, const double *right, int64_t d, double *out) {
    memset(out, 0, d * d * sizeof(double));
    for (int64_t t = 0; t < d; t++)
        for (int64_t i = 0; i < d; i++) {
            const double factor = left[t * d + i];
            for (int64_t j = 0; j < d; j++) out[i * d + j] += factor * right[t * d + j];
        }
}

/* out = w s wᵀ for a lower triangular w and a symmetric s; `half` is scratch, d×d. */
void whiten(const double *w, const double *s, int64_t d, double *half, double *out) {
    memset(half, 0, d * d * sizeof(double));
    for (int64_t t = 0; t < d; t++) /* half = s wᵀ = (w s)ᵀ, a column of w at a time */
        for (int64_t j = t; j < d; j++) {
            const double factor = w[j * d + t];
            for (int64_t i = 0; i < d; i++) half[j * d + i] += factor * s[t * d + i];
        }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int64_t t = 0; t <= j; t++) sum += half[i * d + t] * w[j * d + t];
            out[i * d + j] = out[j * d + i] = sum;
        }
}

/* Solve a·x = b for m right-hand sides, b n×m, by elimination with partial pivoting. Both are overwritten, b by the
 * solution. Returns 0 if `a` is singular. */
int solve(double *a, int64_t n, double *b, int64_t m) {
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t i = c + 1; i < n; i++)
            if (fabs(a[i * n + c]) > fabs(a[pivot * n + c])) pivot = i;
        if (!(fabs(a[pivot * n + c]) > 0.0)) return 0;
        if (pivot != c) {
            for (int64_t j = c; j < n; j++) {
                const double swapped = a[c * n + j];
                a[c * n + j] = a[pivot * n + j], a[pivot * n + j] = swapped;
            }
            for (int64_t j = 0; j < m; j++) {
                const double swapped = b[c * m + j];
                b[c * m + j] = b[pivot * m + j], b[pivot * m + j] = swapped;
            }
        }
        for (int64_t i = c + 1; i < n; i++) {
            const double factor = a[i * n + c] / a[c * n + c];
            if (factor == 0.0) continue;
            for (int64_t j = c + 1; j < n; j++) a[i * n + j] -= factor * a[c * n + j];
            for (int64_t j = 0; j < m; j++) b[i * m + j] -= factor * b[c * m + j];
        }
    }
    for (int64_t c = n; c-- > 0;)
        for (int64_t j = 0; j < m; j++) {
            double sum = b[c * m + j];
            for (int64_t t = c + 1; t < n; t++) sum -= a[c * n + t] * b[t * m + j];
            b[c * m + j] = sum / a[c * n + c];
        }
    return 1;
}

/* Rotate rows and columns p and q of the symmetric `a` so that a[p][q] becomes 0, and the columns p and q of `axes`
 * likewise. */
static void rotate(double *a, double *axes, int64_t d, int64_t p, int64_t q) {
    const double off = a[p * d + q], ratio = 0.5 * (a[q * d + q] - a[p * d + p]) / off;
    const double t = (ratio >= 0.0 ? 1.0 : -1.0) / (fabs(ratio) + sqrt(1.0 + ratio * ratio));
    const double c = 1.0 / sqrt(1.0 + t * t), s = t * c;
    a[p * d + p] -= t * off;
    a[q * d + q] += t * off;
    a[p * d + q] = a[q * d + p] = 0.0;
    for (int64_t i = 0; i < d; i++) {
        if (i != p && i != q) {
            const double x = a[i * d + p], y = a[i * d + q];
            a[i * d + p] = a[p * d + i] = c * x - s * y;
            a[i * d + q] = a[q * d + i] = s * x + c * y;
        }
        const double x = axes[i * d + p], y = axes[i * d + q];
        axes[i * d + p] = c * x - s * y;
        axes[i * d + q] = s * x + c * y;
    }
}

/* The eigenvalues of a symmetric matrix, which is overwritten, in ascending order, and its eigenvectors as the columns
 * of `axes`, by cyclic Jacobi rotations. */
void eigen(double *a, int64_t d, double *values, double *axes) {
    const double epsilon = 1.1e-16;
    double size = 0.0;
    for (int64_t i = 0; i < d; i++) size += fabs(a[i * d + i]);
    for (int64_t i = 0; i < d * d; i++) axes[i] = i % (d + 1) == 0 ? 1.0 : 0.0;
    for (int sweep = 0, rotated = 1; sweep < 40 && rotated; sweep++) {
        rotated = 0;
        for (int64_t p = 0; p < d; p++)
            for (int64_t q = p + 1; q < d; q++) {
                const double off = fabs(a[p * d + q]), scale = sqrt(fabs(a[p * d + p])) * sqrt(fabs(a[q * d + q]));
                if (!(off > epsilon * scale && off > epsilon * epsilon * size)) continue;
                rotate(a, axes, d, p, q);
                rotated = 1;
            }
    }
    for (int64_t i = 0; i < d; i++) values[i] = a[i * d + i];
    for (int64_t i = 0; i < d; i++) { /* selection sort: d is small */
        int64_t least = i;
        for (int64_t j = i + 1; j < d; j++)
            if (values[j] < values[least]) least = j;
        if (least == i) continue;
        const double swapped = values[i];
        values[i] = values[least], values[least] = swapped;
        for (int64_t r = 0; r < d; r++) {
            const double moved = axes[r * d + i];
            axes[r * d + i] = axes[r * d + least], axes[r * d + least] = moved;
        }
    }
}

/* out = axes·diag(values)·axesᵀ, exactly symmetric. */
void compose_symmetric(const double *axes, const double *values, int64_t d, double *out) {
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int64_t t = 0; t < d; t++) sum += axes[i * d + t] * values[t] * axes[j * d + t];
            out[i * d + j] = out[j * d + i] = sum;
        }
}
