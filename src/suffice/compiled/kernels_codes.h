/* Kernels over rows of category codes of type CODE; a negative code is a missing (-1) or an unseen (-2) value. */

/* total[c][offset_j + code] += weight; total is k×width; returns OUT_OF_RANGE if a code is not below its size */
EXPORT int NAME(count_codes)(const CODE *x, int64_t row_stride, int64_t column_stride, int64_t n, int64_t d,
                             const int64_t *sizes, const int64_t *codes, const double *weight, int64_t width,
                             double *total) {
    int64_t offset = 0;
    for (int64_t j = 0; j < d; j++) {
        const CODE *restrict column = x + j * column_stride;
        for (int64_t i = 0; i < n; i++) {
            const int64_t v = column[i * row_stride];
            if (v < 0) continue;
            if (v >= sizes[j]) return OUT_OF_RANGE;
            total[codes[i] * width + offset + v] += weight ? weight[i] : 1.0;
        }
        offset += sizes[j];
    }
    return 0;
}

/* out[i] = Σ_j table_j[code], n×k; each column's table has its values, then UNSEEN (-2) and MISSING (-1) */
EXPORT void NAME(score_codes)(const CODE *x, int64_t row_stride, int64_t column_stride, int64_t n, int64_t d,
                                     int64_t k, const int64_t *sizes, const double *tables, double *out) {
    for (int64_t i = 0; i < n; i++) {
        double *restrict row = out + i * k;
        const double *table = tables;
        for (int64_t c = 0; c < k; c++) row[c] = 0.0;
        for (int64_t j = 0; j < d; j++) {
            const int64_t size = sizes[j];
            int64_t v = x[i * row_stride + j * column_stride];
            v = v >= size ? size : (v < 0 ? size + 2 + v : v);
            const double *restrict entry = table + v * k;
            for (int64_t c = 0; c < k; c++) row[c] += entry[c];
            table += (size + 2) * k;
        }
    }
}
