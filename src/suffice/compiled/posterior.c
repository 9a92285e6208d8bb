/* From scores to probabilities and to the most probable class. The NumPy fallbacks are in suffice.models.joint. */
#include "vectors.h"

/* block[c] = scores[i … i + LANES][c] + prior[c], of k×LANES; rows that do not exist repeat the first. Returns the
 * largest entry of each row. */
INLINE doubles load_scores(const double *scores, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t k,
                           const double *prior, double *block) {
    doubles most = broadcast(-INFINITY);
    int64_t c = 0;
    for (; rows == LANES && row_stride == 1 && c < k; c++) store(block + c * LANES, load(scores + c * column_stride));
    for (; rows == LANES && column_stride == 1 && c + LANES <= k; c += LANES) {
        doubles square[LANES];
        for (int r = 0; r < LANES; r++) square[r] = load(scores + r * row_stride + c);
        transpose(square);
        for (int r = 0; r < LANES; r++) store(block + (c + r) * LANES, square[r]);
    }
    for (; c < k; c++)
        for (int64_t r = 0; r < LANES; r++)
            block[c * LANES + r] = scores[(r < rows ? r : 0) * row_stride + c * column_stride];
    for (c = 0; c < k; c++) {
        const doubles joint = load(block + c * LANES) + broadcast(prior[c]);
        store(block + c * LANES, joint);
        most = maximum(joint, most);
    }
    return most;
}

/* Return whether all lanes are finite. */
INLINE int all_finite(doubles v) {
    double each[LANES];
    int finite = 1;
    store(each, v - v);
    for (int r = 0; r < LANES; r++) finite &= each[r] == 0.0;
    return finite;
}

/* out[i][c] = exp(s_ic) / Σ_b exp(s_ib) with s_ic = scores[i][c] + prior[c], n×k, about the largest s_ic of the row.
 * Returns NOT_FINITE if some row has no finite maximum; the caller then repeats the work. `block` is scratch of
 * k·LANES. NumPy fallback: _posterior_of in suffice.models.joint. */
EXPORT int64_t NAME(posterior)(const double *scores, int64_t row_stride, int64_t column_stride, int64_t n, int64_t k,
                               const double *prior, double *block, double *out) {
    int finite = 1;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t rows = n - i < LANES ? n - i : LANES;
        const doubles most = load_scores(scores + i * row_stride, row_stride, column_stride, rows, k, prior, block);
        doubles sum = broadcast(0.0);
        for (int64_t c = 0; c < k; c++) {
            const doubles e = exponential(load(block + c * LANES) - most, -708.0);
            store(block + c * LANES, e);
            sum = sum + e;
        }
        finite &= all_finite(most) & all_finite(sum);
        const doubles share = broadcast(1.0) / sum;
        int64_t c = 0;
        for (; rows == LANES && c + LANES <= k; c += LANES) {
            doubles square[LANES];
            for (int r = 0; r < LANES; r++) square[r] = load(block + (c + r) * LANES) * share;
            transpose(square);
            for (int r = 0; r < LANES; r++) store(out + (i + r) * k + c, square[r]);
        }
        for (; c < k; c++) {
            store(block + c * LANES, load(block + c * LANES) * share);
            for (int64_t r = 0; r < rows; r++) out[(i + r) * k + c] = block[c * LANES + r];
        }
    }
    return finite ? 0 : NOT_FINITE;
}

/* out[i] = the first c with the largest scores[i][c] + prior[c], (n,). Returns NOT_FINITE as `posterior` does. NumPy
 * fallback: _most_probable_of in suffice.models.joint. */
EXPORT int64_t NAME(most_probable)(const double *scores, int64_t row_stride, int64_t column_stride, int64_t n,
                                   int64_t k, const double *prior, double *block, int64_t *out) {
    int finite = 1;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t rows = n - i < LANES ? n - i : LANES;
        const doubles most = load_scores(scores + i * row_stride, row_stride, column_stride, rows, k, prior, block);
        int64_t best[LANES] = {0};
        double largest[LANES];
        store(largest, most);
        for (int64_t c = k - 1; c >= 0; c--)
            for (int64_t r = 0; r < LANES; r++) best[r] = block[c * LANES + r] == largest[r] ? c : best[r];
        finite &= all_finite(most);
        for (int64_t r = 0; r < rows; r++) out[i + r] = best[r];
    }
    return finite ? 0 : NOT_FINITE;
}
