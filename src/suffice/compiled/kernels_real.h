/* Kernels over rows of REAL, which is double or float. */

/* Moments of each class about a centre, the first row of the class: count[c], center, first and second are k×d. */
EXPORT void NAME(diagonal_moments)(const REAL *x, int64_t stride, int64_t n, int64_t d, const int64_t *codes,
                                          const double *weight, double *count, double *center, double *first,
                                          double *second) {
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1.0;
        if (w == 0.0) continue;
        const int64_t c = codes[i];
        const REAL *restrict row = x + i * stride;
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
}

/* Rows about the centre of their class, times the root of their weight, sorted by class where `place` (k) says where
 * each class begins; else in order. Their weighted sums go to `first`. */
EXPORT void NAME(centred_rows)(const REAL *x, int64_t stride, int64_t n, int64_t d, const int64_t *codes,
                                      const double *weight, double *count, double *center, double *first,
                                      int64_t *place, REAL *z) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = codes[i];
        const double w = weight ? weight[i] : 1.0;
        const REAL *restrict row = x + i * stride;
        double *restrict m = center + c * d, *restrict f = first + c * d;
        REAL *restrict out = z + (place ? place[c]++ : i) * d;
        if (w == 0.0) {
            memset(out, 0, sizeof(REAL) * (size_t)d);
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
                out[j] = (REAL)(root * t);
            }
        } else {
            for (int64_t j = 0; j < d; j++) {
                const double t = row[j] - m[j];
                f[j] += t;
                out[j] = (REAL)t;
            }
        }
    }
}

/* Transpose up to 2·LANES rows, taken about `origin`, into block[d][2·LANES]; rows that are not there repeat the first. */
INLINE void NAME(load_block)(const REAL *x, int64_t stride, int64_t rows, int64_t d, const double *origin,
                             double *restrict block) {
    for (int64_t r = 0; r < 2 * LANES; r++) {
        const REAL *row = x + (r < rows ? r : 0) * stride;
        for (int64_t j = 0; j < d; j++) block[j * 2 * LANES + r] = row[j] - origin[j];
    }
}

/* How many of the classes that are left to take together: what fits the registers, in even parts. */
INLINE int64_t NAME(group_size)(int64_t left) { return left <= MOST ? left : (left < 2 * MOST ? (left + 1) / 2 : MOST); }

/* log-densities of independent columns, classes [first, first + G): out is k×n */
INLINE void NAME(diagonal_group)(const double *block, int64_t d, const double *means, const double *halves, double *sums,
                                 const int G) {
    lanes low[MOST], high[MOST];
    for (int g = 0; g < G; g++) low[g] = high[g] = all(0.0);
    for (int64_t j = 0; j < d; j++) {
        const lanes z = load(block + j * 2 * LANES), y = load(block + j * 2 * LANES + LANES);
        for (int g = 0; g < G; g++) {
            const lanes mean = all(means[g * d + j]), half = all(halves[g * d + j]);
            const lanes t = subtract(z, mean), s = subtract(y, mean);
            low[g] = multiply_add(multiply(t, t), half, low[g]);
            high[g] = multiply_add(multiply(s, s), half, high[g]);
        }
    }
    for (int g = 0; g < G; g++) {
        store(sums + g * 2 * LANES, low[g]);
        store(sums + g * 2 * LANES + LANES, high[g]);
    }
}

/* constant_c + Σ_j half_cj (x_j − origin_j − mean_cj)², with half = −1/(2σ²); block is scratch of d·2·LANES */
EXPORT void NAME(diagonal_scores)(const REAL *x, int64_t stride, int64_t n, int64_t d, int64_t k,
                                         const double *origin, const double *means, const double *halves,
                                         const double *constant, double *block, double *out) {
    double sums[MOST * 2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        NAME(load_block)(x + i * stride, stride, rows, d, origin, block);
        for (int64_t c = 0; c < k;) {
            const int64_t group = NAME(group_size)(k - c);
            const double *m = means + c * d, *h = halves + c * d;
            switch (group) {
#if MOST == 10
                case 10: NAME(diagonal_group)(block, d, m, h, sums, 10); break;
                case 9: NAME(diagonal_group)(block, d, m, h, sums, 9); break;
                case 8: NAME(diagonal_group)(block, d, m, h, sums, 8); break;
                case 7: NAME(diagonal_group)(block, d, m, h, sums, 7); break;
                case 6: NAME(diagonal_group)(block, d, m, h, sums, 6); break;
#endif
                case 5: NAME(diagonal_group)(block, d, m, h, sums, 5); break;
                case 4: NAME(diagonal_group)(block, d, m, h, sums, 4); break;
                case 3: NAME(diagonal_group)(block, d, m, h, sums, 3); break;
                case 2: NAME(diagonal_group)(block, d, m, h, sums, 2); break;
                default: NAME(diagonal_group)(block, d, m, h, sums, 1);
            }
            for (int64_t g = 0; g < group; g++)
                for (int64_t r = 0; r < rows; r++) out[(c + g) * n + i + r] = constant[c + g] + sums[g * 2 * LANES + r];
            c += group;
        }
    }
}

/* z·linear + Σ_{i≤j} z_i z_j pairs_ij for G classes; linear is d×K, pairs p×K with K classes side by side */
INLINE void NAME(quadratic_group)(const double *block, int64_t d, const double *linear, const double *pairs, int64_t K,
                                  double *sums, const int G) {
    for (int g = 0; g < G * 2 * LANES; g++) sums[g] = 0.0;
    for (int64_t i = 0; i < d; i++) {
        lanes low[MOST], high[MOST]; /* Σ_j pairs_ij z_j, from which z_i is factored out */
        for (int g = 0; g < G; g++) low[g] = high[g] = all(linear[i * K + g]);
        if (pairs)
            for (int64_t j = i; j < d; j++, pairs += K) {
                const lanes z = load(block + j * 2 * LANES), y = load(block + j * 2 * LANES + LANES);
                for (int g = 0; g < G; g++) {
                    const lanes coefficient = all(pairs[g]);
                    low[g] = multiply_add(z, coefficient, low[g]);
                    high[g] = multiply_add(y, coefficient, high[g]);
                }
            }
        const lanes z = load(block + i * 2 * LANES), y = load(block + i * 2 * LANES + LANES);
        for (int g = 0; g < G; g++) {
            double *s = sums + g * 2 * LANES;
            store(s, multiply_add(z, low[g], load(s)));
            store(s + LANES, multiply_add(y, high[g], load(s + LANES)));
        }
    }
}

/* constant_c + z·linear_c + Σ_{i≤j} z_i z_j pairs_cij with z = x − origin; pairs may be NULL; out is k×n */
EXPORT void NAME(quadratic_scores)(const REAL *x, int64_t stride, int64_t n, int64_t d, int64_t k,
                                          const double *origin, const double *linear, const double *pairs,
                                          const double *constant, double *block, double *out) {
    double sums[MOST * 2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        NAME(load_block)(x + i * stride, stride, rows, d, origin, block);
        for (int64_t c = 0; c < k;) {
            const int64_t group = NAME(group_size)(k - c);
            const double *l = linear + c, *p = pairs ? pairs + c : 0;
            switch (group) {
#if MOST == 10
                case 10: NAME(quadratic_group)(block, d, l, p, k, sums, 10); break;
                case 9: NAME(quadratic_group)(block, d, l, p, k, sums, 9); break;
                case 8: NAME(quadratic_group)(block, d, l, p, k, sums, 8); break;
                case 7: NAME(quadratic_group)(block, d, l, p, k, sums, 7); break;
                case 6: NAME(quadratic_group)(block, d, l, p, k, sums, 6); break;
#endif
                case 5: NAME(quadratic_group)(block, d, l, p, k, sums, 5); break;
                case 4: NAME(quadratic_group)(block, d, l, p, k, sums, 4); break;
                case 3: NAME(quadratic_group)(block, d, l, p, k, sums, 3); break;
                case 2: NAME(quadratic_group)(block, d, l, p, k, sums, 2); break;
                default: NAME(quadratic_group)(block, d, l, p, k, sums, 1);
            }
            for (int64_t g = 0; g < group; g++)
                for (int64_t r = 0; r < rows; r++) out[(c + g) * n + i + r] = constant[c + g] + sums[g * 2 * LANES + r];
            c += group;
        }
    }
}

/* What is wrong with the cells of a sparse chunk, if anything. */
EXPORT int NAME(inspect)(const REAL *data, int64_t size) {
    int negative = 0, other = 0, infinite = 0;
    for (int64_t i = 0; i < size; i++) {
        const REAL v = data[i];
        negative |= v < 0;
        other |= !(v == 0 || v == 1);
        infinite |= !(v - v == 0);
    }
    return (infinite ? NOT_FINITE : 0) | (negative ? NEGATIVE : 0) | (other ? NOT_BINARY : 0);
}

/* total[c] += weight · row for the rows of a CSR chunk; total is k×d */
EXPORT void NAME(sparse_sums)(const int32_t *indptr, const int32_t *indices, const REAL *data, int64_t n, int64_t d,
                              const int64_t *codes, const double *weight, double *total) {
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1.0;
        double *restrict out = total + codes[i] * d;
        for (int32_t at = indptr[i]; at < indptr[i + 1]; at++) out[indices[at]] += w * data[at];
    }
}

/* out[i] = constant + Σ data · table[index], n×k, for the rows of a CSR chunk; table is d×k */
EXPORT void NAME(sparse_scores)(const int32_t *indptr, const int32_t *indices, const REAL *data, int64_t n,
                                       int64_t k, const double *table, const double *constant, double *out) {
    for (int64_t i = 0; i < n; i++) {
        double *restrict row = out + i * k;
        for (int64_t c = 0; c < k; c++) row[c] = constant[c];
        for (int32_t at = indptr[i]; at < indptr[i + 1]; at++) {
            const double v = data[at];
            const double *restrict entry = table + (int64_t)indices[at] * k;
            for (int64_t c = 0; c < k; c++) row[c] += v * entry[c];
        }
    }
}
