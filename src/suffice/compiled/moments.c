/* Moments of dense rows of CELL, which is double or float, by class: Σ w, Σ w z and Σ w z² or Σ w z zᵀ with
 * z = x − center. The NumPy fallbacks are in suffice.families.gaussian.moments. */
#include "scatter.h"

/* count[c] = Σ w, first[c][j] = Σ w z_j and second[c][j] = Σ w z_j² over the rows of class c = codes[i], with
 * z = x − center_c. The center is the first row of the class; weight is optional; count is (k,), the others are k×d.
 * NumPy fallback: diagonal_moments in suffice.families.gaussian.moments. */
EXPORT int64_t NAME(diagonal_moments)(const CELL *x, int64_t stride, int64_t n, int64_t d, int64_t k,
                                      const int64_t *codes, const double *weight, double *count, double *center,
                                      double *first, double *second) {
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1.0;
        const int64_t c = codes[i];
        if (!within(c, k)) return OUT_OF_RANGE;
        if (w == 0.0) continue;
        const CELL *restrict row = x + i * stride;
        double *restrict m = center + c * d, *restrict f = first + c * d, *restrict s = second + c * d;
        if (count[c] == 0.0)
            for (int64_t j = 0; j < d; j++) m[j] = row[j];
        count[c] += w;
        if (weight) {
            for (int64_t j = 0; j < d; j++) {
                const double z = row[j] - m[j];
                f[j] += w * z;
                s[j] += w * z * z;
            }
        } else {
            for (int64_t j = 0; j < d; j++) {
                const double z = row[j] - m[j];
                f[j] += z;
                s[j] += z * z;
            }
        }
    }
    return 0;
}

/* Write the positions of the rows without missing cells (NaN) to `complete`, (n + 1,). Returns their number, or
 * INFINITE if some cell is infinite. NumPy fallback: _complete_rows in suffice.families.gaussian.moments. */
EXPORT int64_t NAME(complete_rows)(const CELL *x, int64_t stride, int64_t n, int64_t d, int64_t *complete) {
    int64_t size = 0, infinite = 0;
    for (int64_t i = 0; i < n; i++) {
        const CELL *restrict row = x + i * stride;
        int64_t missing = 0;
        for (int64_t j = 0; j < d; j++) {
            const CELL nothing = row[j] - row[j];
            missing |= row[j] != row[j];
            infinite |= (row[j] == row[j]) & (nothing != nothing);
        }
        complete[size] = i;
        size += !missing;
    }
    return infinite ? INFINITE : size;
}

/* The sums of `diagonal_moments` over the observed cells, those that are not NaN: count is k×d too, and center, NaN at
 * first, becomes the first observed cell of the class in each column. NumPy fallback: diagonal_moments in
 * suffice.families.gaussian.moments. */
EXPORT int64_t NAME(observed_moments)(const CELL *x, int64_t stride, int64_t n, int64_t d, int64_t k,
                                      const int64_t *codes, const double *weight, double *count, double *center,
                                      double *first, double *second) {
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1.0;
        if (!within(codes[i], k)) return OUT_OF_RANGE;
        if (w == 0.0) continue;
        const int64_t at = codes[i] * d;
        const CELL *restrict row = x + i * stride;
        double *restrict m = center + at, *restrict f = first + at, *restrict s = second + at, *restrict c = count + at;
        for (int64_t j = 0; j < d; j++) {
            const int there = row[j] == row[j];
            m[j] = m[j] == m[j] ? m[j] : row[j];
            const double z = row[j] - m[j], own = there ? w : 0.0, share = there ? w * z : 0.0;
            c[j] += own;
            f[j] += share;
            s[j] += there ? share * z : 0.0;
        }
    }
    return 0;
}

/* z = √w (x − center_c), rows padded with zeros to D cells. With `place` (k), where each class begins, the rows are
 * sorted by class; otherwise they keep their order. Adds to count, and Σ w (x − center_c) to first. */
INLINE void centre_rows(const CELL *x, int64_t stride, int64_t n, int64_t d, const int64_t *codes, const double *weight,
                        double *count, double *center, double *first, int64_t *place, int64_t D, CELL *z) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = codes[i];
        const double w = weight ? weight[i] : 1.0;
        const CELL *restrict row = x + i * stride;
        double *restrict m = center + c * d, *restrict f = first + c * d;
        CELL *restrict out = z + (place ? place[c]++ : i) * D;
        for (int64_t j = d; j < D; j++) out[j] = 0;
        if (w == 0.0) {
            memset(out, 0, sizeof(CELL) * (size_t)d);
            continue;
        }
        if (count[c] == 0.0)
            for (int64_t j = 0; j < d; j++) m[j] = row[j];
        count[c] += w;
        if (weight) {
            const double root = sqrt(w);
            for (int64_t j = 0; j < d; j++) {
                const double t = row[j] - m[j];
                f[j] += w * t;
                out[j] = (CELL)(root * t);
            }
        } else {
            for (int64_t j = 0; j < d; j++) {
                const double t = row[j] - m[j];
                f[j] += t;
                out[j] = (CELL)t;
            }
        }
    }
}

/* count[c] = Σ w, first[c] = Σ w z and the second moments Σ w z zᵀ with z = x − center_c, the center being the first
 * row of the class. count is (k,), center and first are k×d; second is k×D×D, one per class, if `grouped`, otherwise
 * D×D of all classes together. D is d padded to whole registers; scratch: z of `size` rows of D, `place` (k + 1) to
 * sort rows by class. NumPy fallback: full_moments in suffice.families.gaussian.moments and tied_moments in
 * suffice.families.gaussian.moments. */
EXPORT int64_t NAME(dense_moments)(const CELL *x, int64_t stride, int64_t n, int64_t d, int64_t k, int64_t grouped,
                                   const int64_t *codes, const double *weight, int64_t D, int64_t size, int64_t *place,
                                   CELL *z, double *count, double *center, double *first, double *second) {
    if (size < 1 || d > D || D % (LINE_BYTES / (int64_t)sizeof(CELL))) return OUT_OF_RANGE;
    if (!grouped) place = 0;
    for (int64_t begin = 0; begin < n; begin += size) {
        const int64_t rows = n - begin < size ? n - begin : size;
        const double *w = weight ? weight + begin : 0;
        const CELL *from = x + begin * stride;
        if (!codes_within(codes + begin, rows, k)) return OUT_OF_RANGE;
        if (place) {
            memset(place, 0, sizeof(int64_t) * (size_t)(k + 1));
            for (int64_t i = 0; i < rows; i++) place[codes[begin + i] + 1]++;
            for (int64_t c = 0; c < k; c++) place[c + 1] += place[c];
        }
        centre_rows(from, stride, rows, d, codes + begin, w, count, center, first, place, D, z);
        if (!place) scatter(z, rows, D, second);
        for (int64_t c = 0; place && c < k; c++) { /* place[c] is now where class c ends */
            const int64_t start = c ? place[c - 1] : 0;
            scatter(z + start * D, place[c] - start, D, second + c * D * D);
        }
    }
    for (int64_t c = 0; c < (place ? k : 1); c++, second += D * D)
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < i; j++) second[i * D + j] = second[j * D + i];
    return 0;
}
