/* Kernels over rows of REAL, which is double or float. */

/* LANES cells side by side, as doubles */
INLINE lanes NAME(widen)(const REAL *p) {
    double wide[LANES];
    for (int r = 0; r < LANES; r++) wide[r] = p[r];
    return load(wide);
}

/* Moments of each class about a centre, the first row of the class: count[c], center, first and second are k×d. */
EXPORT int64_t NAME(diagonal_moments)(const REAL *x, int64_t stride, int64_t n, int64_t d, int64_t k,
                                      const int64_t *codes, const double *weight, double *count, double *center,
                                      double *first, double *second) {
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1.0;
        const int64_t c = codes[i];
        if (!within(c, k)) return OUT_OF_RANGE;
        if (w == 0.0) continue;
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
    return 0;
}

/* The places of rows without holes (NaN) go to `complete`; returns how many they are, or INFINITE. */
EXPORT int64_t NAME(complete_rows)(const REAL *x, int64_t stride, int64_t n, int64_t d, int64_t *complete) {
    int64_t size = 0, infinite = 0;
    for (int64_t i = 0; i < n; i++) {
        const REAL *restrict row = x + i * stride;
        int64_t holes = 0;
        for (int64_t j = 0; j < d; j++) {
            const REAL nothing = row[j] - row[j];
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
EXPORT int64_t NAME(observed_moments)(const REAL *x, int64_t stride, int64_t n, int64_t d, int64_t k,
                                      const int64_t *codes, const double *weight, double *count, double *center,
                                      double *first, double *second) {
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1.0;
        if (!within(codes[i], k)) return OUT_OF_RANGE;
        if (w == 0.0) continue;
        const int64_t at = codes[i] * d;
        const REAL *restrict row = x + i * stride;
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
INLINE void NAME(centre_rows)(const REAL *x, int64_t stride, int64_t n, int64_t d, const int64_t *codes,
                              const double *weight, double *count, double *center, double *first, int64_t *place,
                              int64_t D, REAL *z) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = codes[i];
        const double w = weight ? weight[i] : 1.0;
        const REAL *restrict row = x + i * stride;
        double *restrict m = center + c * d, *restrict f = first + c * d;
        REAL *restrict out = z + (place ? place[c]++ : i) * D;
        for (int64_t j = d; j < D; j++) out[j] = 0;
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

/* second[i][j] += Σ_rows z_i z_j for a tile of HIGH × G registers; products of REAL, added up in double */
#define WIDE (8 * LANES / (int64_t)sizeof(REAL)) /* cells in a register */
#define HIGH (MOST == 10 ? 8 : 4)
typedef REAL NAME(cells) __attribute__((vector_size(8 * LANES)));
INLINE void NAME(scatter_tile)(const REAL *z, int64_t n, int64_t D, int64_t i, int64_t j, double *second, const int G) {
    NAME(cells) sums[HIGH][2];
    for (int h = 0; h < HIGH; h++)
        for (int g = 0; g < G; g++) sums[h][g] = (NAME(cells)){0};
    for (int64_t r = 0; r < n; r++, z += D) {
        NAME(cells) right[2];
        for (int g = 0; g < G; g++) memcpy(&right[g], z + j + g * WIDE, sizeof right[g]);
        for (int h = 0; h < HIGH; h++)
            for (int g = 0; g < G; g++) sums[h][g] = z[i + h] * right[g] + sums[h][g];
    }
    for (int h = 0; h < HIGH; h++) {
        REAL row[2 * WIDE];
        memcpy(row, sums[h], sizeof row);
        double *restrict out = second + (i + h) * D + j;
        for (int64_t c = 0; c < G * WIDE; c++) out[c] += row[c];
    }
}

/* second (D×D, on and above its diagonal) += zᵀ z for rows of D cells that stay in the cache; sums of float are short */
INLINE void NAME(scatter)(const REAL *z, int64_t n, int64_t D, double *second) {
    const int64_t most = sizeof(REAL) == sizeof(float) ? 256 : n;
    for (int64_t r = 0; r < n; r += most) {
        const int64_t rows = n - r < most ? n - r : most;
        for (int64_t i = 0; i < D; i += HIGH)
            for (int64_t j = i / WIDE * WIDE; j < D; j += 2 * WIDE)
                if (j + WIDE < D)
                    NAME(scatter_tile)(z + r * D, rows, D, i, j, second, 2);
                else
                    NAME(scatter_tile)(z + r * D, rows, D, i, j, second, 1);
    }
}
#undef WIDE
#undef HIGH

/* Moments about a centre, the first row of its class: count (k), center and first (k×d), and second: D×D for all classes
 * together, or k×D×D where `grouped`, and then `place` (k + 1) is scratch to sort rows by class. D is d filled up to whole
 * registers, z is scratch of `size` rows of D. */
EXPORT int64_t NAME(dense_moments)(const REAL *x, int64_t stride, int64_t n, int64_t d, int64_t k, int64_t grouped,
                                   const int64_t *codes, const double *weight, int64_t D, int64_t size, int64_t *place,
                                   REAL *z, double *count, double *center, double *first, double *second) {
    if (size < 1 || d > D || D % (LINE_BYTES / (int64_t)sizeof(REAL))) return OUT_OF_RANGE;
    if (!grouped) place = 0;
    for (int64_t begin = 0; begin < n; begin += size) {
        const int64_t rows = n - begin < size ? n - begin : size;
        const double *w = weight ? weight + begin : 0;
        const REAL *from = x + begin * stride;
        if (!codes_within(codes + begin, rows, k)) return OUT_OF_RANGE;
        if (place) {
            memset(place, 0, sizeof(int64_t) * (size_t)(k + 1));
            for (int64_t i = 0; i < rows; i++) place[codes[begin + i] + 1]++;
            for (int64_t c = 0; c < k; c++) place[c + 1] += place[c];
        }
        NAME(centre_rows)(from, stride, rows, d, codes + begin, w, count, center, first, place, D, z);
        if (!place) NAME(scatter)(z, rows, D, second);
        for (int64_t c = 0; place && c < k; c++) { /* place[c] is now where class c ends */
            const int64_t start = c ? place[c - 1] : 0;
            NAME(scatter)(z + start * D, place[c] - start, D, second + c * D * D);
        }
    }
    for (int64_t c = 0; c < (place ? k : 1); c++, second += D * D)
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < i; j++) second[i * D + j] = second[j * D + i];
    return 0;
}

/* Transpose up to 2·LANES rows, taken about `origin`, into 2·LANES cells of block[d][step]; rows that are not there
 * repeat the first. */
INLINE void NAME(load_block)(const REAL *x, int64_t stride, int64_t rows, int64_t d, const double *origin, int64_t step,
                             double *restrict block) {
    const REAL *row[2 * LANES];
    for (int64_t r = 0; r < 2 * LANES; r++) row[r] = x + (r < rows ? r : 0) * stride;
    int64_t j = 0;
    for (; j + LANES <= d; j += LANES) {
        const lanes middle = load(origin + j);
        for (int half = 0; half < 2; half++) {
            lanes square[LANES];
            for (int r = 0; r < LANES; r++) square[r] = subtract(NAME(widen)(row[half * LANES + r] + j), middle);
            transpose(square);
            for (int r = 0; r < LANES; r++) store(block + (j + r) * step + half * LANES, square[r]);
        }
    }
    for (; j < d; j++)
        for (int64_t r = 0; r < 2 * LANES; r++) block[j * step + r] = row[r][j] - origin[j];
}

/* out[c][i …] = constant_c + sums_c for the classes of a group; out is k×n */
INLINE void NAME(store_group)(const double *sums, int64_t group, int64_t rows, const double *constant, int64_t n,
                              double *out) {
    for (int64_t g = 0; g < group; g++)
        for (int64_t r = 0; r < rows; r++) out[g * n + r] = constant[g] + sums[g * 2 * LANES + r];
}

/* −Σ_j (scale_cj z_j − mean_cj)² for G classes; the means are scaled already */
INLINE void NAME(scaled_group)(const double *block, int64_t d, const double *means, const double *scales, double *sums,
                               const int G) {
    lanes low[MOST], high[MOST];
    for (int g = 0; g < G; g++) low[g] = high[g] = all(0.0);
    for (int64_t j = 0; j < d; j++) {
        const lanes z = load(block + j * 2 * LANES), y = load(block + j * 2 * LANES + LANES);
        for (int g = 0; g < G; g++) {
            const lanes mean = all(means[g * d + j]), scale = all(scales[g * d + j]);
            const lanes t = multiply_subtract(z, scale, mean), s = multiply_subtract(y, scale, mean);
            low[g] = subtract_square(low[g], t);
            high[g] = subtract_square(high[g], s);
        }
    }
    for (int g = 0; g < G; g++) {
        store(sums + g * 2 * LANES, low[g]);
        store(sums + g * 2 * LANES + LANES, high[g]);
    }
}

/* Σ_j half_cj (z_j − mean_cj)² for G classes */
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

/* constant_c + Σ_j half_cj (z_j − mean_cj)² with z = x − origin and half = −1/(2σ²); where `scaled`, constant_c −
 * Σ_j (half_cj z_j − mean_cj)² with half = 1/(σ√2) and the means in units of it: one operation less, for means that are
 * near the origin in these units. block is scratch of d·2·LANES. */
EXPORT int64_t NAME(diagonal_scores)(const REAL *x, int64_t stride, int64_t n, int64_t d, int64_t k, int64_t scaled,
                                  const double *origin, const double *means, const double *halves,
                                  const double *constant, double *block, double *out) {
    double sums[MOST * 2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        NAME(load_block)(x + i * stride, stride, rows, d, origin, 2 * LANES, block);
        for (int64_t c = 0; c < k;) {
            const int64_t group = group_size(k - c);
            if (scaled) {
#define RUN(G) NAME(scaled_group)(block, d, means + c * d, halves + c * d, sums, G)
                BY_SIZE(group, RUN)
#undef RUN
            } else {
#define RUN(G) NAME(diagonal_group)(block, d, means + c * d, halves + c * d, sums, G)
                BY_SIZE(group, RUN)
#undef RUN
            }
            NAME(store_group)(sums, group, rows, constant + c, n, out + c * n + i);
            c += group;
        }
    }
    return 0;
}

/* z·linear for G classes; linear is d×K with K classes side by side */
INLINE void NAME(linear_group)(const double *block, int64_t d, const double *linear, int64_t K, double *sums,
                               const int G) {
    lanes low[MOST], high[MOST];
    for (int g = 0; g < G; g++) low[g] = high[g] = all(0.0);
    for (int64_t j = 0; j < d; j++) {
        const lanes z = load(block + j * 2 * LANES), y = load(block + j * 2 * LANES + LANES);
        for (int g = 0; g < G; g++) {
            const lanes coefficient = all(linear[j * K + g]);
            low[g] = multiply_add(z, coefficient, low[g]);
            high[g] = multiply_add(y, coefficient, high[g]);
        }
    }
    for (int g = 0; g < G; g++) {
        store(sums + g * 2 * LANES, low[g]);
        store(sums + g * 2 * LANES + LANES, high[g]);
    }
}

/* constant + Σ_i z_i (linear_i + Σ_{j≥i} pairs_ij z_j) of one class for TALL registers of rows, whose columns lie `step`
 * apart. FEW columns i are taken at once: `packed` has for each FEW of them their linear coefficients, and then for every
 * j from the first of them on the FEW coefficients pairs_ij, 0 where j < i or i is not there. */
#define TALL (MOST > 5 ? 4 : 2)
INLINE void NAME(quadratic_tile_of_rows)(const double *block, int64_t step, int64_t d, const double *packed,
                                         double constant, double *out) {
    lanes total[TALL];
    for (int h = 0; h < TALL; h++) total[h] = all(constant);
    for (int64_t i = 0; i < d; i += FEW) {
        lanes sums[FEW][TALL], z[TALL];
        for (int f = 0; f < FEW; f++)
            for (int h = 0; h < TALL; h++) sums[f][h] = all(packed[f]);
        packed += FEW;
        for (int64_t j = i; j < d; j++, packed += FEW) {
            for (int h = 0; h < TALL; h++) z[h] = load(block + j * step + h * LANES);
            for (int f = 0; f < FEW; f++) {
                const lanes coefficient = all(packed[f]);
                for (int h = 0; h < TALL; h++) sums[f][h] = multiply_add(z[h], coefficient, sums[f][h]);
            }
        }
        for (int f = 0; f < FEW && i + f < d; f++)
            for (int h = 0; h < TALL; h++)
                total[h] = multiply_add(load(block + (i + f) * step + h * LANES), sums[f][h], total[h]);
    }
    for (int h = 0; h < TALL; h++) store(out + h * LANES, total[h]);
}

/* How many numbers `packed` has for each class */
INLINE int64_t NAME(packed_size)(int64_t d) {
    int64_t size = 0;
    for (int64_t i = 0; i < d; i += FEW) size += FEW * (1 + d - i);
    return size;
}

/* constant_c + z·linear_c + Σ_{i≤j} z_i z_j pairs_cij with z = x − origin; out is k×n. The rows of a block stay in the
 * nearest cache while each class's coefficients (`packed`, `size` numbers a class) pass by; `block` has room for
 * d × 2·TALL·LANES. */
EXPORT int64_t NAME(quadratic_scores)(const REAL *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *origin,
                                      const double *packed, int64_t size, const double *constant, double *block,
                                      double *out) {
    const int64_t tile = TALL * LANES, step = 2 * tile;
    double scores[TALL * LANES];
    if (size != NAME(packed_size)(d)) return OUT_OF_RANGE;
    memset(block, 0, sizeof(double) * (size_t)(d * step)); /* of rows that are not there the scores are computed too */
    for (int64_t i = 0; i < n; i += step) {
        const int64_t rows = n - i < step ? n - i : step;
        for (int64_t r = 0; r < rows; r += 2 * LANES)
            NAME(load_block)(x + (i + r) * stride, stride, rows - r, d, origin, step, block + r);
        for (int64_t c = 0; c < k; c++)
            for (int64_t r = 0; r < rows; r += tile) {
                const int64_t left = rows - r < tile ? rows - r : tile;
                NAME(quadratic_tile_of_rows)(block + r, step, d, packed + c * size, constant[c], scores);
                memcpy(out + c * n + i + r, scores, (size_t)left * sizeof(double));
            }
    }
    return 0;
}
#undef TALL

/* constant_c + z·linear_c with z = x − origin; linear is d×k; out is k×n */
EXPORT int64_t NAME(linear_scores)(const REAL *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *origin,
                                const double *linear, const double *constant, double *block, double *out) {
    double sums[MOST * 2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        NAME(load_block)(x + i * stride, stride, rows, d, origin, 2 * LANES, block);
        for (int64_t c = 0; c < k;) {
            const int64_t group = group_size(k - c);
#define RUN(G) NAME(linear_group)(block, d, linear + c, k, sums, G)
            BY_SIZE(group, RUN)
#undef RUN
            NAME(store_group)(sums, group, rows, constant + c, n, out + c * n + i);
            c += group;
        }
    }
    return 0;
}

/* What is wrong with the cells of a sparse chunk, if anything. */
EXPORT int64_t NAME(inspect)(const REAL *data, int64_t size) {
    int negative = 0, other = 0, infinite = 0;
    for (int64_t i = 0; i < size; i++) {
        const REAL v = data[i];
        negative |= v < 0;
        other |= !(v == 0 || v == 1);
        infinite |= !(v - v == 0);
    }
    return (infinite ? NOT_FINITE : 0) | (negative ? NEGATIVE : 0) | (other ? NOT_BINARY : 0);
}

/* Column indices of a CSR chunk are 32 bits each, or 64 where `wide` is 1: then the upper half of each has to be 0. */
INLINE int64_t NAME(column)(const int32_t *indices, int64_t at, int64_t wide) { return indices[at << wide]; }

/* Whether a row of a CSR chunk lies within its `size` cells, and its indices within d columns */
INLINE int NAME(row_within)(const int32_t *indptr, const int32_t *indices, int64_t wide, int64_t i, int64_t size,
                            int64_t d) {
    const int64_t begin = indptr[i], end = indptr[i + 1];
    if (begin < 0 || begin > end || end > size) return 0;
    int outside = 0;
    if (wide)
        for (int64_t at = 2 * begin; at < 2 * end; at += 2) outside |= indices[at] < 0 || indices[at] >= d || indices[at + 1];
    else
        for (int64_t at = begin; at < end; at++) outside |= indices[at] < 0 || indices[at] >= d;
    return !outside;
}

/* total[c] += weight · row for the rows of a CSR chunk of `size` cells; total is k×d. The rows are added class by class,
 * so that the sums of one class stay in the cache; `place` is where the rows of each class begin in `order`. */
EXPORT int64_t NAME(sparse_sums)(const int32_t *indptr, int64_t wide, const int32_t *indices, const REAL *data,
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
        const int64_t i = order[number], soon = order[number + AHEAD < n ? number + AHEAD : n - 1];
        if (!NAME(row_within)(indptr, indices, wide, i, size, d)) return OUT_OF_RANGE;
        const int64_t from = indptr[soon] < 0 ? size : indptr[soon], to = indptr[soon + 1] < size ? indptr[soon + 1] : size;
        for (int64_t at = from; at < to; at += LINE_BYTES / (int64_t)sizeof(REAL)) {
            prefetch(data + at);
            prefetch(indices + (at << wide));
        }
        const double w = weight ? weight[i] : 1.0;
        double *restrict out = total + codes[i] * d;
        for (int32_t at = indptr[i]; at < indptr[i + 1]; at++) out[NAME(column)(indices, at, wide)] += w * data[at];
    }
    return 0;
}

/* sums of G registers of classes: Σ data · table[index] over the cells of one row; table is d×K, K whole registers */
INLINE void NAME(sparse_row)(const int32_t *indices, int64_t wide, const REAL *data, int64_t size, const double *table,
                             int64_t K, double *out, const int G) {
    lanes sums[4];
    for (int g = 0; g < G; g++) sums[g] = all(0.0);
    for (int64_t at = 0; at < size; at++) {
        const double *entry = table + NAME(column)(indices, at, wide) * K;
        const double *soon = table + NAME(column)(indices, at + AHEAD < size ? at + AHEAD : size - 1, wide) * K;
        const lanes v = all((double)data[at]);
        for (int g = 0; g < G; g++) {
            prefetch(soon + g * LANES);
            sums[g] = multiply_add(v, load(entry + g * LANES), sums[g]);
        }
    }
    for (int g = 0; g < G; g++) store(out + g * LANES, sums[g]);
}

/* out[i] = constant + Σ data · table[index], n×k, for the rows of a CSR chunk of `size` cells; table is d×K, k filled up
 * to whole registers; `sums` is scratch of K */
EXPORT int64_t NAME(sparse_scores)(const int32_t *indptr, int64_t wide, const int32_t *indices, const REAL *data,
                                   int64_t size, int64_t n, int64_t d, int64_t k, int64_t K, const double *table,
                                   const double *constant, double *sums, double *out) {
    if (K % LANES || k > K) return OUT_OF_RANGE;
    for (int64_t i = 0; i < n; i++) {
        if (!NAME(row_within)(indptr, indices, wide, i, size, d)) return OUT_OF_RANGE;
        const int32_t *where_to = indices + ((int64_t)indptr[i] << wide);
        const REAL *cells = data + indptr[i];
        const int64_t length = indptr[i + 1] - indptr[i];
        for (int64_t c = 0; c < K; c += 4 * LANES) {
            switch ((K - c) / LANES) {
                case 1: NAME(sparse_row)(where_to, wide, cells, length, table + c, K, sums + c, 1); break;
                case 2: NAME(sparse_row)(where_to, wide, cells, length, table + c, K, sums + c, 2); break;
                case 3: NAME(sparse_row)(where_to, wide, cells, length, table + c, K, sums + c, 3); break;
                default: NAME(sparse_row)(where_to, wide, cells, length, table + c, K, sums + c, 4);
            }
        }
        for (int64_t c = 0; c < k; c++) out[i * k + c] = constant[c] + sums[c];
    }
    return 0;
}
