/* Scores of dense rows of CELL, which is double or float, for each class: the log-densities of Gaussians up to a term
 * that rows share. The result is k×n. The NumPy fallbacks are in suffice.families.gaussian. */
#include "rows.h"

/* out[g][r] = constant_g + sums_g[r] for the classes of a group and the rows of a block; out is k×n. */
INLINE void store_group(const double *sums, int64_t group, int64_t rows, const double *constant, int64_t n,
                        double *out) {
    for (int64_t g = 0; g < group; g++)
        for (int64_t r = 0; r < rows; r++) out[g * n + r] = constant[g] + sums[g * 2 * LANES + r];
}

/* sums = −Σ_j (scale_cj z_j − mean_cj)² of G classes; the means are scaled already. */
INLINE void scaled_group(const double *block, int64_t d, const double *means, const double *scales, double *sums,
                         const int G) {
    doubles low[MAX_CLASSES], high[MAX_CLASSES];
    for (int g = 0; g < G; g++) low[g] = high[g] = broadcast(0.0);
    for (int64_t j = 0; j < d; j++) {
        const doubles z = load(block + j * 2 * LANES), y = load(block + j * 2 * LANES + LANES);
        for (int g = 0; g < G; g++) {
            const doubles mean = broadcast(means[g * d + j]), scale = broadcast(scales[g * d + j]);
            const doubles t = z * scale - mean, s = y * scale - mean;
            low[g] = low[g] - t * t;
            high[g] = high[g] - s * s;
        }
    }
    for (int g = 0; g < G; g++) {
        store(sums + g * 2 * LANES, low[g]);
        store(sums + g * 2 * LANES + LANES, high[g]);
    }
}

/* sums = Σ_j half_cj (z_j − mean_cj)² of G classes. */
INLINE void diagonal_group(const double *block, int64_t d, const double *means, const double *halves, double *sums,
                           const int G) {
    doubles low[MAX_CLASSES], high[MAX_CLASSES];
    for (int g = 0; g < G; g++) low[g] = high[g] = broadcast(0.0);
    for (int64_t j = 0; j < d; j++) {
        const doubles z = load(block + j * 2 * LANES), y = load(block + j * 2 * LANES + LANES);
        for (int g = 0; g < G; g++) {
            const doubles mean = broadcast(means[g * d + j]), half = broadcast(halves[g * d + j]);
            const doubles t = z - mean, s = y - mean;
            low[g] += t * t * half;
            high[g] += s * s * half;
        }
    }
    for (int g = 0; g < G; g++) {
        store(sums + g * 2 * LANES, low[g]);
        store(sums + g * 2 * LANES + LANES, high[g]);
    }
}

/* out[c][i] = constant_c − ½ Σ_j (x_ij − μ_cj)² / σ²_cj, as constant_c + Σ_j half_cj (z_j − mean_cj)² with z = x −
 * origin, half = −1/(2σ²) and mean = μ − origin; or, if `scaled`, as constant_c − Σ_j (half_cj z_j − mean_cj)² with
 * half = 1/(σ√2) and mean = half (μ − origin): one operation less, for means that are close to the origin in these
 * units. means and halves are k×d; `block` is scratch of d·2·LANES. NumPy fallback: DiagonalForm.score in
 * suffice.families.gaussian.diagonal_form. */
EXPORT int64_t NAME(diagonal_scores)(const CELL *x, int64_t stride, int64_t n, int64_t d, int64_t k, int64_t scaled,
                                     const double *origin, const double *means, const double *halves,
                                     const double *constant, double *block, double *out) {
    double sums[MAX_CLASSES * 2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        load_block(x + i * stride, IS_NARROW, stride, rows, d, origin, 2 * LANES, block);
        for (int64_t c = 0; c < k;) {
            const int64_t group = group_size(k - c);
            if (scaled) {
                BY_SIZE(group, scaled_group(block, d, means + c * d, halves + c * d, sums, G));
            } else {
                BY_SIZE(group, diagonal_group(block, d, means + c * d, halves + c * d, sums, G));
            }
            store_group(sums, group, rows, constant + c, n, out + c * n + i);
            c += group;
        }
    }
    return 0;
}

/* the logarithm of the product of the numbers of a register, each of which is a product of at most 16 shares */
INLINE double log_of_lanes(doubles product) {
    double lanes[LANES], total = 0.0;
    store(lanes, product);
    for (int r = 0; r < LANES; r++) total += log(lanes[r]);
    return total;
}

/* out[i] = −½ (constant_c + Σ_j log (1 − s_j) + factor_cj s_j / (1 − s_j)) with s_j = share_cj (x_ij − μ_cj)², c = codes[i]:
 * the log-density of row i by its class without it. NaN if a cell is missing or 1 − s_j is not above `least`. NumPy
 * fallback: DiagonalLeftOut in suffice.families.gaussian.diagonal_left_out. */
EXPORT int64_t NAME(diagonal_left_out)(const CELL *x, int64_t stride, int64_t n, int64_t d, int64_t k,
                                       const int64_t *codes, const double *means, const double *shares,
                                       const double *factors, const double *constant, const double *least,
                                       double *out) {
    for (int64_t i = 0; i < n; i++) {
        if (codes[i] < 0 || codes[i] >= k) return OUT_OF_RANGE;
        const double *mean = means + codes[i] * d, *share = shares + codes[i] * d, *factor = factors + codes[i] * d;
        const CELL *row = x + i * stride;
        doubles product = broadcast(1.0), sums = broadcast(0.0), smallest = broadcast(1.0);
        double total = 0.0, lowest = 1.0;
        int64_t j = 0;
        for (int64_t step = 1; j + LANES <= d; j += LANES, step++) {
            const doubles z = widen(row + j) - load(mean + j), s = z * z * load(share + j), left = 1.0 - s;
            sums += load(factor + j) * s / left;
            product *= left;
            smallest = where(left >= smallest, smallest, left); /* NaN is taken, too */
            if (step % 16 == 0) {
                total += log_of_lanes(product);
                product = broadcast(1.0);
            }
        }
        double lanes[3][LANES], rest = 1.0;
        store(lanes[0], product), store(lanes[1], sums), store(lanes[2], smallest);
        for (; j < d; j++) {
            const double z = (double)row[j] - mean[j], s = z * z * share[j], left = 1.0 - s;
            total += factor[j] * s / left;
            rest *= left;
            lowest = left >= lowest ? lowest : left;
        }
        for (int r = 0; r < LANES; r++) {
            if (rest < 1e-100) total += log(rest), rest = 1.0;
            rest *= lanes[0][r] > 1e-100 ? lanes[0][r] : 1.0;
            if (!(lanes[0][r] > 1e-100)) total += log(lanes[0][r]);
            total += lanes[1][r];
            lowest = lanes[2][r] >= lowest ? lowest : lanes[2][r];
        }
        out[i] = lowest > least[0] ? -0.5 * (constant[codes[i]] + total + log(rest)) : NAN;
    }
    return 0;
}

/* sums = z·linear of G classes; linear is d×K with K classes side by side. */
INLINE void linear_group(const double *block, int64_t d, const double *linear, int64_t K, double *sums, const int G) {
    doubles low[MAX_CLASSES], high[MAX_CLASSES];
    for (int g = 0; g < G; g++) low[g] = high[g] = broadcast(0.0);
    for (int64_t j = 0; j < d; j++) {
        const doubles z = load(block + j * 2 * LANES), y = load(block + j * 2 * LANES + LANES);
        for (int g = 0; g < G; g++) {
            const doubles coefficient = broadcast(linear[j * K + g]);
            low[g] += z * coefficient;
            high[g] += y * coefficient;
        }
    }
    for (int g = 0; g < G; g++) {
        store(sums + g * 2 * LANES, low[g]);
        store(sums + g * 2 * LANES + LANES, high[g]);
    }
}

/* registers of rows whose scores are computed together */
#define TILE_REGISTERS (MAX_CLASSES > 5 ? 4 : 2)

/* out = constant + Σ_i z_i (linear_i + Σ_{j≥i} pairs_ij z_j) of one class for TILE_REGISTERS registers of rows, whose
 * columns are `step` apart. PACKED_COLUMNS columns i are taken at once: for each such group, `packed` has their linear
 * coefficients, and then for every j from the first of them on their coefficients pairs_ij, 0 if j < i or i ≥ d. */
INLINE void quadratic_tile(const double *block, int64_t step, int64_t d, const double *packed, double constant,
                           double *out) {
    doubles total[TILE_REGISTERS];
    for (int h = 0; h < TILE_REGISTERS; h++) total[h] = broadcast(constant);
    for (int64_t i = 0; i < d; i += PACKED_COLUMNS) {
        doubles sums[PACKED_COLUMNS][TILE_REGISTERS], z[TILE_REGISTERS];
        for (int f = 0; f < PACKED_COLUMNS; f++)
            for (int h = 0; h < TILE_REGISTERS; h++) sums[f][h] = broadcast(packed[f]);
        packed += PACKED_COLUMNS;
        for (int64_t j = i; j < d; j++, packed += PACKED_COLUMNS) {
            for (int h = 0; h < TILE_REGISTERS; h++) z[h] = load(block + j * step + h * LANES);
            for (int f = 0; f < PACKED_COLUMNS; f++) {
                const doubles coefficient = broadcast(packed[f]);
                for (int h = 0; h < TILE_REGISTERS; h++) sums[f][h] += z[h] * coefficient;
            }
        }
        for (int f = 0; f < PACKED_COLUMNS && i + f < d; f++)
            for (int h = 0; h < TILE_REGISTERS; h++) total[h] += load(block + (i + f) * step + h * LANES) * sums[f][h];
    }
    for (int h = 0; h < TILE_REGISTERS; h++) store(out + h * LANES, total[h]);
}

/* Return the number of coefficients in `packed` per class. */
INLINE int64_t packed_size(int64_t d) {
    int64_t size = 0;
    for (int64_t i = 0; i < d; i += PACKED_COLUMNS) size += PACKED_COLUMNS * (1 + d - i);
    return size;
}

/* out[c][i] = constant_c + z·linear_c + Σ_{i≤j} z_i z_j pairs_cij with z = x − origin. A block of rows stays in the
 * nearest cache while the coefficients of each class (`packed`, `size` per class) are read. `block` is scratch of d ×
 * 2·TILE_REGISTERS·LANES. NumPy fallback: DenseForm.score in suffice.families.gaussian.dense_form. */
EXPORT int64_t NAME(quadratic_scores)(const CELL *x, int64_t stride, int64_t n, int64_t d, int64_t k,
                                      const double *origin, const double *packed, int64_t size, const double *constant,
                                      double *block, double *out) {
    const int64_t tile = TILE_REGISTERS * LANES, step = 2 * tile;
    double scores[TILE_REGISTERS * LANES];
    if (size != packed_size(d)) return OUT_OF_RANGE;
    memset(block, 0, sizeof(double) * (size_t)(d * step)); /* scores are also computed for rows that do not exist */
    for (int64_t i = 0; i < n; i += step) {
        const int64_t rows = n - i < step ? n - i : step;
        for (int64_t r = 0; r < rows; r += 2 * LANES)
            load_block(x + (i + r) * stride, IS_NARROW, stride, rows - r, d, origin, step, block + r);
        for (int64_t c = 0; c < k; c++)
            for (int64_t r = 0; r < rows; r += tile) {
                const int64_t left = rows - r < tile ? rows - r : tile;
                quadratic_tile(block + r, step, d, packed + c * size, constant[c], scores);
                memcpy(out + c * n + i + r, scores, (size_t)left * sizeof(double));
            }
    }
    return 0;
}

/* out[c][i] = constant_c + z·linear_c with z = x − origin; linear is d×k; `block` is scratch of d·2·LANES. NumPy
 * fallback: SharedForm.score in suffice.families.gaussian.shared_form. */
EXPORT int64_t NAME(linear_scores)(const CELL *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *origin,
                                   const double *linear, const double *constant, double *block, double *out) {
    double sums[MAX_CLASSES * 2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        load_block(x + i * stride, IS_NARROW, stride, rows, d, origin, 2 * LANES, block);
        for (int64_t c = 0; c < k;) {
            const int64_t group = group_size(k - c);
            BY_SIZE(group, linear_group(block, d, linear + c, k, sums, G));
            store_group(sums, group, rows, constant + c, n, out + c * n + i);
            c += group;
        }
    }
    return 0;
}
