/* One pass of expectation and maximisation over a chunk of rows, in cells of REAL, which is double or float.
 *
 * A block of rows is transposed, scored, turned into shares of the components and added to their moments while it is in
 * the cache. z[1 + j][row] are the cells about the origin, z[0][row] is 1; share[c][row] are first the scores and then
 * the shares; STEP cells lie from one column to the next. A moment is Σ share·left·right, with two columns of z; the
 * sums are in the order in which `moment_tile` computes them until `place_sums` puts them in theirs.
 */
#define WIDE (8 * LANES / (int64_t)sizeof(REAL))    /* cells in a register */
#define BLOCK (BLOCK_BYTES / (int64_t)sizeof(REAL)) /* rows in a block, whole pairs of registers */
#define STEP (STEP_BYTES / (int64_t)sizeof(REAL))

/* Load once what is used several times. */
#if defined(__x86_64__) && !defined(EMULATED)
#define IN_REGISTER(v) __asm__("" : "+v"(v))
#elif defined(__aarch64__)
#define IN_REGISTER(v) __asm__("" : "+w"(v))
#else
#define IN_REGISTER(v) ((void)0)
#endif

INLINE NAME(cells) NAME(load_cells)(const REAL *p) {
    NAME(cells) r;
    memcpy(&r, p, sizeof r);
    return r;
}
INLINE void NAME(store_cells)(REAL *p, NAME(cells) a) { memcpy(p, &a, sizeof a); }
INLINE NAME(cells) NAME(all_cells)(REAL v) { return v - (NAME(cells)){0}; }

INLINE NAME(cells) NAME(narrow_cells)(const double *p) {
    REAL narrow[WIDE];
    for (int r = 0; r < WIDE; r++) narrow[r] = (REAL)p[r];
    return NAME(load_cells)(narrow);
}
INLINE NAME(cells) NAME(larger_cells)(NAME(cells) a, NAME(cells) b) {
    const __typeof__(a > b) mask = a > b;
    return (NAME(cells))(((__typeof__(a > b))a & mask) | ((__typeof__(a > b))b & ~mask));
}

/* z[j][row] = x[row][j] − origin[j], up to a whole number of pairs of registers, which is returned; rows that are not
 * there repeat another. The rows are floats where `narrow`, or else doubles. */
INLINE int64_t NAME(load_rows)(const void *x, int64_t narrow, int64_t stride, int64_t rows, int64_t d,
                               const double *origin, double *wide, REAL *z) {
    const int64_t size = (rows + 2 * WIDE - 1) / (2 * WIDE) * (2 * WIDE);
    for (int64_t i = 0; i < size; i += 2 * LANES) {
        const int64_t from = i < rows ? i : 0, left = rows - from;
        double *block = sizeof(REAL) == sizeof(double) ? (double *)(z + i) : wide;
        const int64_t step = sizeof(REAL) == sizeof(double) ? STEP : 2 * LANES;
        if (narrow)
            JOIN(load_block, float, LEVEL)((const float *)x + from * stride, stride, left, d, origin, step, block);
        else
            JOIN(load_block, double, LEVEL)((const double *)x + from * stride, stride, left, d, origin, step, block);
        for (int64_t j = 0; sizeof(REAL) != sizeof(double) && j < d; j++)
            for (int r = 0; r < 2 * LANES; r++) z[j * STEP + i + r] = (REAL)wide[j * 2 * LANES + r];
    }
    return size;
}

/* constant_c + z·linear_c + Σ_{i≤j} z_i z_j pairs_cij of G components for a pair of registers of rows; linear is d×K
 * and pairs p×K with K components side by side */
INLINE void NAME(quadratic_tile)(const REAL *z, int64_t d, const REAL *linear, const REAL *pairs, int64_t K,
                                 const REAL *constant, REAL *score, const int G) {
    NAME(cells) sums[MOST][2], factors[MOST][2], v[2];
    for (int g = 0; g < G; g++)
        for (int h = 0; h < 2; h++) sums[g][h] = NAME(all_cells)(constant[g]);
    for (int64_t i = 0; i < d; i++, z += STEP) { /* factors: Σ_j pairs_ij z_j, from which z_i is factored out */
        const REAL *right = z;
        for (int g = 0; g < G; g++)
            for (int h = 0; h < 2; h++) factors[g][h] = NAME(all_cells)(linear[i * K + g]);
        for (int64_t j = i; j < d; j++, pairs += K, right += STEP) {
            for (int h = 0; h < 2; h++) v[h] = NAME(load_cells)(right + h * WIDE);
            for (int g = 0; g < G; g++) {
                const NAME(cells) coefficient = NAME(all_cells)(pairs[g]);
                for (int h = 0; h < 2; h++) factors[g][h] += v[h] * coefficient;
            }
        }
        for (int h = 0; h < 2; h++) v[h] = NAME(load_cells)(z + h * WIDE);
        for (int g = 0; g < G; g++)
            for (int h = 0; h < 2; h++) sums[g][h] += v[h] * factors[g][h];
    }
    for (int g = 0; g < G; g++)
        for (int h = 0; h < 2; h++) NAME(store_cells)(score + g * STEP + h * WIDE, sums[g][h]);
}

/* constant_c + z·linear_c of G components for a pair of registers of rows; linear is d×K */
INLINE void NAME(linear_tile)(const REAL *z, int64_t d, const REAL *linear, int64_t K, const REAL *constant,
                              REAL *score, const int G) {
    NAME(cells) low[MOST], high[MOST];
    for (int g = 0; g < G; g++) low[g] = high[g] = NAME(all_cells)(constant[g]);
    for (int64_t j = 0; j < d; j++) {
        const NAME(cells) a = NAME(load_cells)(z + j * STEP), b = NAME(load_cells)(z + j * STEP + WIDE);
        for (int g = 0; g < G; g++) {
            const NAME(cells) coefficient = NAME(all_cells)(linear[j * K + g]);
            low[g] += a * coefficient;
            high[g] += b * coefficient;
        }
    }
    for (int g = 0; g < G; g++) {
        NAME(store_cells)(score + g * STEP, low[g]);
        NAME(store_cells)(score + g * STEP + WIDE, high[g]);
    }
}

/* constant_c − Σ_j (factor_cj z_j − mean_cj)² where `scaled`, or else constant_c + Σ_j factor_cj (z_j − mean_cj)², of G
 * components for a pair of registers of rows; factor and mean are d×K */
INLINE void NAME(diagonal_tile)(const REAL *z, int64_t d, const REAL *mean, const REAL *factor, int64_t K,
                                const REAL *constant, REAL *score, const int scaled, const int G) {
    NAME(cells) low[MOST], high[MOST];
    for (int g = 0; g < G; g++) low[g] = high[g] = NAME(all_cells)(constant[g]);
    for (int64_t j = 0; j < d; j++) {
        const NAME(cells) a = NAME(load_cells)(z + j * STEP), b = NAME(load_cells)(z + j * STEP + WIDE);
        for (int g = 0; g < G; g++) {
            const NAME(cells) m = NAME(all_cells)(mean[j * K + g]), f = NAME(all_cells)(factor[j * K + g]);
            const NAME(cells) s = scaled ? a * f - m : a - m, t = scaled ? b * f - m : b - m;
            low[g] = scaled ? low[g] - s * s : low[g] + s * s * f;
            high[g] = scaled ? high[g] - t * t : high[g] + t * t * f;
        }
    }
    for (int g = 0; g < G; g++) {
        NAME(store_cells)(score + g * STEP, low[g]);
        NAME(store_cells)(score + g * STEP + WIDE, high[g]);
    }
}

/* constant_c + z·linear_c + factor_c |z|² of G components for a pair of registers of rows; linear is d×K */
INLINE void NAME(sphere_tile)(const REAL *z, int64_t d, const REAL *linear, const REAL *factor, int64_t K,
                              const REAL *constant, REAL *score, const int G) {
    NAME(cells) low[MOST], high[MOST], low_square = NAME(all_cells)(0), high_square = low_square;
    for (int g = 0; g < G; g++) low[g] = high[g] = NAME(all_cells)(constant[g]);
    for (int64_t j = 0; j < d; j++) {
        const NAME(cells) a = NAME(load_cells)(z + j * STEP), b = NAME(load_cells)(z + j * STEP + WIDE);
        low_square += a * a;
        high_square += b * b;
        for (int g = 0; g < G; g++) {
            const NAME(cells) coefficient = NAME(all_cells)(linear[j * K + g]);
            low[g] += a * coefficient;
            high[g] += b * coefficient;
        }
    }
    for (int g = 0; g < G; g++) {
        const NAME(cells) coefficient = NAME(all_cells)(factor[g]);
        NAME(store_cells)(score + g * STEP, low[g] + coefficient * low_square);
        NAME(store_cells)(score + g * STEP + WIDE, high[g] + coefficient * high_square);
    }
}

/* Σ weight · (most + log(sum)) over `size` rows */
INLINE double NAME(log_sums)(const REAL *most, const REAL *sum, const double *weight, int64_t size) {
    lanes total = all(0.0);
    double result = 0.0, each[LANES];
    for (int64_t b = 0; b < size; b += LANES)
        total += load(weight + b) * (NAME(widen)(most + b) + logarithm(NAME(widen)(sum + b)));
    store(each, total);
    for (int r = 0; r < LANES; r++) result += each[r];
    return result;
}

/* share[c][row] = weight · softmax over c of share[c][row], for `size` rows; the maximum and the sum of each row's
 * exponentials go to `most` and `sum`. Shares too small to count are 0: their products would be subnormal, and slow. */
INLINE void NAME(softmax)(REAL *share, int64_t k, int64_t size, const double *weight, REAL *most, REAL *sum) {
    for (int64_t b = 0; b < size; b += 2 * WIDE) {
        NAME(cells) largest[2], total[2], part[2];
        REAL *const end = share + k * STEP + b;
        for (int h = 0; h < 2; h++) largest[h] = NAME(load_cells)(share + b + h * WIDE), total[h] = NAME(all_cells)(0);
        for (const REAL *s = share + STEP + b; s < end; s += STEP)
            for (int h = 0; h < 2; h++) largest[h] = NAME(larger_cells)(NAME(load_cells)(s + h * WIDE), largest[h]);
        for (REAL *s = share + b; s < end; s += STEP)
            for (int h = 0; h < 2; h++) {
                const NAME(cells) e = EXPONENTIAL(NAME(load_cells)(s + h * WIDE) - largest[h]);
                NAME(store_cells)(s + h * WIDE, e);
                total[h] += e;
            }
        for (int h = 0; h < 2; h++) {
            part[h] = NAME(narrow_cells)(weight + b + h * WIDE) / total[h];
            NAME(store_cells)(most + b + h * WIDE, largest[h]);
            NAME(store_cells)(sum + b + h * WIDE, total[h]);
        }
        for (REAL *s = share + b; s < end; s += STEP)
            for (int h = 0; h < 2; h++) NAME(store_cells)(s + h * WIDE, part[h] * NAME(load_cells)(s + h * WIDE));
    }
}

/* How many products (up to 6) to take with G components, and in how many registers (up to 24) their sums are kept. */
#define TILE(G) (MOST > 5 ? ((G) > 8 ? 2 : (G) > 6 ? 3 : (G) > 4 ? 4 : (G) > 1 ? 6 : 4) : (G) > 2 ? 2 : 4)
#define SLOTS(G) ((TILE(G) * (G) + LANES - 1) / LANES * LANES)

/* sums[t·G + g] += Σ_rows share[g] · left_t · right_t for G components and TILE(G) products */
INLINE void NAME(moment_tile)(const REAL *share, const REAL *z, const int64_t *left, const int64_t *right, int64_t size,
                              double *restrict sums, const int G) {
    NAME(cells) total[24], product[6];
    const REAL *one[6], *two[6];
    for (int t = 0; t < TILE(G); t++) one[t] = z + left[t] * STEP, two[t] = z + right[t] * STEP;
    for (int s = 0; s < SLOTS(G); s++) total[s] = NAME(all_cells)(0);
    for (int64_t b = 0; b < size; b += WIDE) {
        for (int t = 0; t < TILE(G); t++) product[t] = NAME(load_cells)(one[t] + b) * NAME(load_cells)(two[t] + b);
        for (int g = 0; g < G; g++) {
            NAME(cells) weight = NAME(load_cells)(share + g * STEP + b);
            IN_REGISTER(weight);
            for (int t = 0; t < TILE(G); t++) total[t * G + g] += weight * product[t];
        }
    }
    for (int s = 0; s < SLOTS(G); s += LANES) store(sums + s, load(sums + s) + FOLD(total + s));
}

/* The sums of `products` products for each of k components, or for component c those from c on where `triangle`; left
 * and right are filled up to whole tiles. */
static void NAME(moments)(const REAL *share, int64_t k, const REAL *z, const int64_t *left, const int64_t *right,
                          int64_t products, int triangle, int64_t size, double *sums) {
    for (int64_t c = 0; c < k;) {
        const int64_t group = group_size(k - c);
#define RUN(G)                                                                                                         \
    for (int64_t p = triangle ? c : 0; p < products; p += TILE(G), sums += SLOTS(G))                                   \
    NAME(moment_tile)(share + c * STEP, z, left + p, right + p, size, sums, G)
        BY_SIZE(group, RUN)
#undef RUN
        c += group;
    }
}

/* out[c][product] from the order of `moments` */
static void NAME(place_sums)(const double *sums, int64_t k, int64_t products, int triangle, double *out) {
    for (int64_t c = 0; c < k;) {
        const int64_t group = group_size(k - c);
        for (int64_t p = triangle ? c : 0; p < products; p += TILE(group), sums += SLOTS(group))
            for (int64_t t = 0; t < TILE(group) && p + t < products; t++)
                for (int64_t g = 0; g < group; g++) out[(c + g) * products + p + t] = sums[t * group + g];
        c += group;
    }
}

/* Whether ROOM is enough for the sums of `moments` */
static int NAME(sums_fit)(int64_t k, int64_t products, int triangle) {
    int64_t size = 0;
    for (int64_t c = 0, group; c < k; c += group) {
        group = group_size(k - c);
        size += (products - (triangle ? c : 0) + TILE(group) - 1) / TILE(group) * SLOTS(group);
    }
    return size <= ROOM(k, products);
}

/* Ask for the cells of some rows, which lie `stride` bytes apart and are `width` bytes wide. */
INLINE void NAME(prefetch_rows)(const char *row, int64_t rows, int64_t stride, int64_t width) {
    if (stride == width) width *= rows, rows = 1;
    for (int64_t r = 0; r < rows; r++, row += stride)
        for (int64_t at = 0; at < width; at += 64) prefetch(row + at);
}

/* Scores of all k components by the form that the parameters have: `first` is linear or the means, `second` the pairs
 * or the factors (of spheres one a component), if any. Meanwhile, the `ahead` rows of the next block are asked for. */
static void NAME(scores)(int64_t form, const REAL *z, int64_t d, int64_t k, const REAL *first, const REAL *second,
                         const REAL *constant, int64_t size, REAL *score, const char *next, int64_t ahead,
                         int64_t stride, int64_t width) {
    for (int64_t c = 0; c < k;) {
        const int64_t group = group_size(k - c);
        for (int64_t b = 0; b < size; b += 2 * WIDE) {
            const REAL *from = z + b, *one = first + c, *two = second ? second + c : 0, *start = constant + c;
            REAL *out = score + c * STEP + b;
            if (c == 0 && b < ahead) {
                const int64_t rows = ahead - b < 2 * WIDE ? ahead - b : 2 * WIDE;
                NAME(prefetch_rows)(next + b * stride, rows, stride, width);
            }
#define FULL_(G) NAME(quadratic_tile)(from, d, one, two, k, start, out, G)
#define TIED_(G) NAME(linear_tile)(from, d, one, k, start, out, G)
#define SCALED_(G) NAME(diagonal_tile)(from, d, one, two, k, start, out, 1, G)
#define DIAGONAL_(G) NAME(diagonal_tile)(from, d, one, two, k, start, out, 0, G)
#define SPHERE_(G) NAME(sphere_tile)(from, d, one, two, k, start, out, G)
            switch (form) {
                case FULL: BY_SIZE(group, FULL_) break;
                case TIED: BY_SIZE(group, TIED_) break;
                case SCALED: BY_SIZE(group, SCALED_) break;
                case SPHERE: BY_SIZE(group, SPHERE_) break;
                default: BY_SIZE(group, DIAGONAL_)
            }
#undef FULL_
#undef TIED_
#undef SCALED_
#undef DIAGONAL_
#undef SPHERE_
        }
        c += group;
    }
}

/* One pass over n rows: moments[c][p] = Σ share_c·left_p·right_p, and the log-likelihood Σ weight · log Σ_c e^score.
 * Where the form is TIED, products are the d + 1 columns, and scatter (d×d, on and above its diagonal) = Σ weight z zᵀ.
 * The rows are floats where `narrow`; left and right have SPARE more entries, to fill up tiles. `scratch` has room for
 * (2d + k + 1)·STEP cells, `wide` for d·2·LANES doubles, `sums`, and `sums_of_all` where TIED, for all tiles (ROOM). */
EXPORT int64_t NAME(mixture_pass)(const void *x, int64_t narrow, int64_t stride, int64_t n, int64_t d, int64_t k,
                                  const double *weight, const double *origin, int64_t form, const REAL *first,
                                  const REAL *second, const REAL *constant, int64_t products, const int64_t *left,
                                  const int64_t *right, REAL *scratch, double *wide, double *sums, double *sums_of_all,
                                  double *moments, double *scatter, double *log_likelihood) {
    if (form == TIED && products != d + 1) return OUT_OF_RANGE;
    if (!NAME(sums_fit)(k, products, 0) || !NAME(sums_fit)(d, d, 1)) return OUT_OF_RANGE;
    if (!codes_within(left, products + SPARE, d + 1) || !codes_within(right, products + SPARE, d + 1))
        return OUT_OF_RANGE;
    memset(sums, 0, sizeof(double) * (size_t)ROOM(k, products));
    if (form == TIED) memset(sums_of_all, 0, sizeof(double) * (size_t)ROOM(d, d));
    REAL *z = scratch, *share = z + (d + 1) * STEP, *weighted = share + k * STEP, most[BLOCK], sum[BLOCK];
    const int64_t cell = narrow ? sizeof(float) : sizeof(double);
    double w[BLOCK], total = 0.0;
    for (int64_t b = 0; b < BLOCK; b++) z[b] = 1;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t rows = n - i < BLOCK ? n - i : BLOCK, ahead = n - i - rows < BLOCK ? n - i - rows : BLOCK;
        const char *from = (const char *)x + i * stride * cell, *next = from + rows * stride * cell;
        const int64_t size = NAME(load_rows)(from, narrow, stride, rows, d, origin, wide, z + STEP);
        for (int64_t b = 0; b < size; b++) w[b] = b < rows ? (weight ? weight[i + b] : 1.0) : 0.0;
        NAME(scores)(form, z + STEP, d, k, first, second, constant, size, share, next, ahead, stride * cell, d * cell);
        NAME(softmax)(share, k, size, w, most, sum);
        total += NAME(log_sums)(most, sum, w, size);
        NAME(moments)(share, k, z, left, right, products, 0, size, sums);
        if (form == TIED) {
            for (int64_t j = 0; j < d; j++)
                for (int64_t b = 0; b < size; b++) weighted[j * STEP + b] = (REAL)w[b] * z[(j + 1) * STEP + b];
            NAME(moments)(weighted, d, z, left + 1, right + 1, d, 1, size, sums_of_all);
        }
    }
    NAME(place_sums)(sums, k, products, 0, moments);
    if (form == TIED) NAME(place_sums)(sums_of_all, d, d, 1, scatter);
    *log_likelihood = total;
    return 0;
}
