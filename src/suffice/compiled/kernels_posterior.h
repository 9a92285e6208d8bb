/* From scores to probabilities. */

/* out[i] = softmax over c of scores[i][c] + prior[c], n×k; returns NOT_FINITE if some row has no finite maximum, whose
 * answer is then left to the caller. `block` is scratch of k·LANES. */
EXPORT int NAME(posterior)(const double *scores, int64_t row_stride, int64_t class_stride, int64_t n, int64_t k,
                           const double *prior, double *block, double *out) {
    int flags = 0;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t rows = n - i < LANES ? n - i : LANES;
        for (int64_t c = 0; c < k; c++)
            for (int64_t r = 0; r < LANES; r++)
                block[c * LANES + r] = scores[(i + (r < rows ? r : 0)) * row_stride + c * class_stride] + prior[c];
        lanes most = load(block), sum = all(0.0);
        for (int64_t c = 1; c < k; c++) most = larger(load(block + c * LANES), most);
        for (int64_t r = 0; r < LANES; r++) flags |= !(((const double *)&most)[r] - ((const double *)&most)[r] == 0.0);
        for (int64_t c = 0; c < k; c++) {
            const lanes e = exponential(subtract(load(block + c * LANES), most));
            store(block + c * LANES, e);
            sum = multiply_add(e, all(1.0), sum);
        }
        for (int64_t r = 0; r < LANES; r++) flags |= !(((const double *)&sum)[r] - ((const double *)&sum)[r] == 0.0);
        for (int64_t r = 0; r < rows; r++) {
            const double total = ((const double *)&sum)[r];
            for (int64_t c = 0; c < k; c++) out[(i + r) * k + c] = block[c * LANES + r] / total;
        }
    }
    return flags ? NOT_FINITE : 0;
}
