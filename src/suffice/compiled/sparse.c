/* Rows of a sparse table in CSR form, in cells of CELL, which is double or float: row i has the cells indptr[i] to
 * indptr[i + 1] of `data`, in the columns `indices`. */
#include "vectors.h"

/* Return the flags of `size` cells: NOT_FINITE if some cell is not finite, NEGATIVE if some cell is negative,
 * NOT_BINARY if some cell is neither 0 nor 1. NumPy fallback: the callers, such as observed_cells in
 * suffice.families.cells. */
EXPORT int64_t NAME(inspect)(const CELL *data, int64_t size) {
    int negative = 0, other = 0, infinite = 0;
    for (int64_t i = 0; i < size; i++) {
        const CELL v = data[i];
        negative |= v < 0;
        other |= !(v == 0 || v == 1);
        infinite |= !(v - v == 0);
    }
    return (infinite ? NOT_FINITE : 0) | (negative ? NEGATIVE : 0) | (other ? NOT_BINARY : 0);
}

/* Return the column of a cell. Indices have 32 bits, or 64 if `wide` is 1; the upper half of each must then be 0. */
INLINE int64_t column(const int32_t *indices, int64_t at, int64_t wide) { return indices[at << wide]; }

/* Return whether row i lies within the `size` cells, and its indices within d columns. */
INLINE int row_within(const int32_t *indptr, const int32_t *indices, int64_t wide, int64_t i, int64_t size, int64_t d) {
    const int64_t begin = indptr[i], end = indptr[i + 1];
    if (begin < 0 || begin > end || end > size) return 0;
    int outside = 0;
    if (wide)
        for (int64_t at = 2 * begin; at < 2 * end; at += 2)
            outside |= indices[at] < 0 || indices[at] >= d || indices[at + 1];
    else
        for (int64_t at = begin; at < end; at++) outside |= indices[at] < 0 || indices[at] >= d;
    return !outside;
}

/* total[c] += Σ weight_i x_i over the rows i of class c = codes[i], k×d. The rows are added class by class, so that
 * the sums of one class stay in the cache: `order` (n) lists the rows by class, `place` (k + 1) is where each class
 * begins in it. NumPy fallback: Responsibilities.sums in suffice.statistics.responsibilities. */
EXPORT int64_t NAME(sparse_sums)(const int32_t *indptr, int64_t wide, const int32_t *indices, const CELL *data,
                                 int64_t size, int64_t n, int64_t d, int64_t k, const int64_t *codes,
                                 const double *weight, int64_t *place, int64_t *order, double *total) {
    for (int64_t c = 0; c <= k; c++) place[c] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!within(codes[i], k)) return OUT_OF_RANGE;
        place[codes[i] + 1]++;
    }
    for (int64_t c = 0; c < k; c++) place[c + 1] += place[c];
    for (int64_t i = 0; i < n; i++) order[place[codes[i]]++] = i;
    for (int64_t number = 0; number < n; number++) {
        const int64_t i = order[number], soon = order[number + PREFETCH_AHEAD < n ? number + PREFETCH_AHEAD : n - 1];
        if (!row_within(indptr, indices, wide, i, size, d)) return OUT_OF_RANGE;
        const int64_t from = indptr[soon] < 0 ? size : indptr[soon],
                      to = indptr[soon + 1] < size ? indptr[soon + 1] : size;
        for (int64_t at = from; at < to; at += LINE_BYTES / (int64_t)sizeof(CELL)) {
            __builtin_prefetch(data + at);
            __builtin_prefetch(indices + (at << wide));
        }
        const double w = weight ? weight[i] : 1.0;
        double *restrict out = total + codes[i] * d;
        for (int32_t at = indptr[i]; at < indptr[i + 1]; at++) out[column(indices, at, wide)] += w * data[at];
    }
    return 0;
}

/* out = Σ data · table[column] over the `size` cells of one row, for G registers of classes; table is d×K, K whole
 * registers. */
INLINE void sparse_row(const int32_t *indices, int64_t wide, const CELL *data, int64_t size, const double *table,
                       int64_t K, double *out, const int G) {
    doubles sums[4];
    for (int g = 0; g < G; g++) sums[g] = broadcast(0.0);
    for (int64_t at = 0; at < size; at++) {
        const double *entry = table + column(indices, at, wide) * K;
        const double *soon =
            table + column(indices, at + PREFETCH_AHEAD < size ? at + PREFETCH_AHEAD : size - 1, wide) * K;
        const doubles v = broadcast((double)data[at]);
        for (int g = 0; g < G; g++) {
            __builtin_prefetch(soon + g * LANES);
            sums[g] += v * load(entry + g * LANES);
        }
    }
    for (int g = 0; g < G; g++) store(out + g * LANES, sums[g]);
}

/* out[i][c] = constant_c + Σ_j x_ij table[j][c], n×k; the table is d×K, with k padded to K, whole registers; `sums` is
 * scratch of K. NumPy fallback: product in suffice.families.products. */
EXPORT int64_t NAME(sparse_scores)(const int32_t *indptr, int64_t wide, const int32_t *indices, const CELL *data,
                                   int64_t size, int64_t n, int64_t d, int64_t k, int64_t K, const double *table,
                                   const double *constant, double *sums, double *out) {
    if (K % LANES || k > K) return OUT_OF_RANGE;
    for (int64_t i = 0; i < n; i++) {
        if (!row_within(indptr, indices, wide, i, size, d)) return OUT_OF_RANGE;
        const int32_t *where_to = indices + ((int64_t)indptr[i] << wide);
        const CELL *cells = data + indptr[i];
        const int64_t length = indptr[i + 1] - indptr[i];
        for (int64_t c = 0; c < K; c += 4 * LANES) {
            switch ((K - c) / LANES) {
                case 1: sparse_row(where_to, wide, cells, length, table + c, K, sums + c, 1); break;
                case 2: sparse_row(where_to, wide, cells, length, table + c, K, sums + c, 2); break;
                case 3: sparse_row(where_to, wide, cells, length, table + c, K, sums + c, 3); break;
                default: sparse_row(where_to, wide, cells, length, table + c, K, sums + c, 4);
            }
        }
        for (int64_t c = 0; c < k; c++) out[i * k + c] = constant[c] + sums[c];
    }
    return 0;
}
