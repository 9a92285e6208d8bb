/* Moments of dense rows of CELL, which is double or float, by class. */
#include "scatter.h"

/* Moments of each class about a centre, the first row of the class: count[c], center, first and second are k×d. */
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

/* The places of rows without holes (NaN) go to `complete`; returns how many they are, or INFINITE. */
EXPORT int64_t NAME(complete_rows)(const CELL *x, int64_t stride, int64_t n, int64_t d, int64_t *complete) {
    int64_t size = 0, infinite = 0;
    for (int64_t i = 0; i < n; i++) {
        const CELL *restrict row = x + i * stride;
        int64_t holes = 0;
        for (int64_t j = 0; j < d; j++) {
            const CELL nothing = row[j] - row[j];
            holes |= row[j] != row[j];
            infinite |= (row[j] == row[j]) & (nothing != nothing);
        }
        complete[size] = i;
        size += !holes;
    }
    return infinite ? INFINITE : size;
}

/* As `diagonal_moments`, of the cells that are there where others are missing (NaN): count is k×d, and a centre, NaN to
 * begin with, is the first cell of its column and class. */
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

/* Rows about the centre of their class, times the root of their weight, filled up with zeros to D cells; sorted by
 * class where `place` (k) says where each class begins; else in order. Their weighted sums go to `first`. */
INLINE void centre_rows(const CELL *x, int64_t stride, int64_t n, int64_t d, const int64_t *codes,
                              const double *weight, double *count, double *center, double *first, int64_t *place,
                              int64_t D, CELL *z) {
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

/* Moments about a centre, the first row of its class: count (k), center and first (k×d), and second: D×D for all classes
 * together, or k×D×D where `grouped`, and then `place` (k + 1) is scratch to sort rows by class. D is d filled up to whole
 * registers, z is scratch of `size` rows of D. */
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

