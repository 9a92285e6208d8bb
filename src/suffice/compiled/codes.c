/* Counts and scores of category codes of type CELL, int64 or int32. A negative code is a missing (-1) or an unseen
 * (-2) value. The fallbacks are in suffice.families.categorical and categorical_distributions. */
#include "vectors.h"

/* total[c][offset_j + v] += Σ weight_i over the rows i of class c = codes[i] with the value v in column j; missing and
 * unseen values add nothing. x is n×d in any memory order, sizes (d) are the numbers of values of the columns,
 * offset_j their cumulative sum, total is k×width. NumPy fallback: _count in suffice.families.categorical. */
EXPORT int64_t NAME(count_codes)(const CELL *x, int64_t row_stride, int64_t column_stride, int64_t n, int64_t d,
                                 int64_t k, const int64_t *sizes, const int64_t *codes, const double *weight,
                                 int64_t width, double *total) {
    const int64_t tile = TILE_ROWS; /* rows that stay in the cache while one column after the other is counted */
    int64_t values = 0;
    for (int64_t j = 0; j < d; j++) {
        if (sizes[j] < 0) return OUT_OF_RANGE;
        values += sizes[j];
    }
    if (values != width) return OUT_OF_RANGE;
    for (int64_t begin = 0; begin < n; begin += tile) {
        const int64_t end = begin + tile < n ? begin + tile : n;
        int64_t offset = 0;
        if (!codes_within(codes + begin, end - begin, k)) return OUT_OF_RANGE;
        for (int64_t j = 0; j < d; j++) {
            const CELL *restrict column = x + j * column_stride;
            for (int64_t i = begin; i < end; i++) {
                const int64_t v = column[i * row_stride];
                if (v < 0) continue;
                if (v >= sizes[j]) return OUT_OF_RANGE;
                total[codes[i] * width + offset + v] += weight ? weight[i] : 1.0;
            }
            offset += sizes[j];
        }
    }
    return 0;
}

/* out = Σ_j table_j[code_j] of one row for G registers of classes; the tables have K columns, whole registers. */
INLINE void codes_row(const CELL *x, int64_t column_stride, int64_t d, const int64_t *sizes, const double *table,
                      int64_t K, double *out, const int G) {
    doubles sums[4];
    for (int g = 0; g < G; g++) sums[g] = broadcast(0.0);
    for (int64_t j = 0; j < d; j++) {
        const int64_t size = sizes[j];
        int64_t v = x[j * column_stride];
        v = v >= size || v < -2 ? size : (v < 0 ? size + 2 + v : v);
        for (int g = 0; g < G; g++) sums[g] = sums[g] + load(table + v * K + g * LANES);
        table += (size + 2) * K;
    }
    for (int g = 0; g < G; g++) store(out + g * LANES, sums[g]);
}

/* out[i][c] = Σ_j table_j[code_ij][c], n×k. The table of column j has one row per value, then one for unseen (-2) and
 * one for missing (-1) values; all tables are stacked to `tables`, height×K, with k padded to K, whole registers.
 * `sums` is scratch of K. NumPy fallback: CategoricalDistributions.score in
 * suffice.families.categorical_distributions. */
EXPORT int64_t NAME(score_codes)(const CELL *x, int64_t row_stride, int64_t column_stride, int64_t n, int64_t d,
                                 int64_t k, int64_t K, int64_t height, const int64_t *sizes, const double *tables,
                                 double *sums, double *out) {
    int64_t rows = 0;
    for (int64_t j = 0; j < d; j++) {
        if (sizes[j] < 0) return OUT_OF_RANGE;
        rows += sizes[j] + 2;
    }
    if (rows != height || K % LANES || k > K) return OUT_OF_RANGE;
    for (int64_t i = 0; i < n; i++) {
        const CELL *row = x + i * row_stride;
        for (int64_t c = 0; c < K; c += 4 * LANES) {
            switch ((K - c) / LANES) {
                case 1: codes_row(row, column_stride, d, sizes, tables + c, K, sums + c, 1); break;
                case 2: codes_row(row, column_stride, d, sizes, tables + c, K, sums + c, 2); break;
                case 3: codes_row(row, column_stride, d, sizes, tables + c, K, sums + c, 3); break;
                default: codes_row(row, column_stride, d, sizes, tables + c, K, sums + c, 4);
            }
        }
        for (int64_t c = 0; c < k; c++) out[i * k + c] = sums[c];
    }
    return 0;
}
