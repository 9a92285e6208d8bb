/* One iteration of EM over a chunk of rows for a mixture of Gaussians, in cells of CELL, which is double or float.
 *
 * A block of BLOCK rows is transposed, scored, turned into responsibilities and added to the moments of the components
 * while it is in the cache. z[0][row] is 1 and z[1 + j][row] are the cells about the origin; share[c][row] first has
 * the scores, then the responsibilities; columns are STEP cells apart. A moment is Σ share·left·right with two columns
 * of z. The sums are in the order in which `moment_tile` computes them, until `reorder_sums` sorts them by component
 * and product. */
#include "mixture.h"

#include "rows.h"

/* Keep in a register what is used several times, instead of loading it again. */
#if defined(__x86_64__) && !defined(EMULATED)
#define IN_REGISTER(v) __asm__("" : "+v"(v))
#elif defined(__aarch64__)
#define IN_REGISTER(v) __asm__("" : "+w"(v))
#else
#define IN_REGISTER(v) ((void)0)
#endif

/* z[j][row] = x[row][j] − origin[j], d×STEP. Returns the number of rows, rounded up to a pair of registers; rows that
 * do not exist repeat another. x has floats if `narrow`, otherwise doubles; `wide` is scratch of d·2·LANES. */
int64_t load_rows(const void *x, int64_t narrow, int64_t stride, int64_t rows, int64_t d, const double *origin,
                  double *wide, CELL *z) {
    const int64_t size = (rows + 2 * WIDTH - 1) / (2 * WIDTH) * (2 * WIDTH);
    for (int64_t i = 0; i < size; i += 2 * LANES) {
        const int64_t from = i < rows ? i : 0, left = rows - from;
        double *block = sizeof(CELL) == sizeof(double) ? (double *)(z + i) : wide;
        const int64_t step = sizeof(CELL) == sizeof(double) ? STEP : 2 * LANES;
        if (narrow)
            load_block((const float *)x + from * stride, 1, stride, left, d, origin, step, block);
        else
            load_block((const double *)x + from * stride, 0, stride, left, d, origin, step, block);
        for (int64_t j = 0; sizeof(CELL) != sizeof(double) && j < d; j++)
            for (int r = 0; r < 2 * LANES; r++) z[j * STEP + i + r] = (CELL)wide[j * 2 * LANES + r];
    }
    return size;
}

/* score_c = constant_c + z·linear_c + Σ_{i≤j} z_i z_j pairs_cij of G components for two registers of rows; linear is
 * d×K and pairs p×K, with K components side by side. */
INLINE void quadratic_tile(const CELL *z, int64_t d, const CELL *linear, const CELL *pairs, int64_t K,
                           const CELL *constant, CELL *score, const int G) {
    vector sums[MAX_CLASSES][2], factors[MAX_CLASSES][2], v[2];
    for (int g = 0; g < G; g++)
        for (int h = 0; h < 2; h++) sums[g][h] = broadcast_vector(constant[g]);
    for (int64_t i = 0; i < d; i++, z += STEP) { /* factors: Σ_j pairs_ij z_j, from which z_i is factored out */
        const CELL *right = z;
        for (int g = 0; g < G; g++)
            for (int h = 0; h < 2; h++) factors[g][h] = broadcast_vector(linear[i * K + g]);
        for (int64_t j = i; j < d; j++, pairs += K, right += STEP) {
            for (int h = 0; h < 2; h++) v[h] = load_vector(right + h * WIDTH);
            for (int g = 0; g < G; g++) {
                const vector coefficient = broadcast_vector(pairs[g]);
                for (int h = 0; h < 2; h++) factors[g][h] += v[h] * coefficient;
            }
        }
        for (int h = 0; h < 2; h++) v[h] = load_vector(z + h * WIDTH);
        for (int g = 0; g < G; g++)
            for (int h = 0; h < 2; h++) sums[g][h] += v[h] * factors[g][h];
    }
    for (int g = 0; g < G; g++)
        for (int h = 0; h < 2; h++) store_vector(score + g * STEP + h * WIDTH, sums[g][h]);
}

/* score_c = constant_c + z·linear_c of G components for two registers of rows; linear is d×K. */
INLINE void linear_tile(const CELL *z, int64_t d, const CELL *linear, int64_t K, const CELL *constant, CELL *score,
                        const int G) {
    vector low[MAX_CLASSES], high[MAX_CLASSES];
    for (int g = 0; g < G; g++) low[g] = high[g] = broadcast_vector(constant[g]);
    for (int64_t j = 0; j < d; j++) {
        const vector a = load_vector(z + j * STEP), b = load_vector(z + j * STEP + WIDTH);
        for (int g = 0; g < G; g++) {
            const vector coefficient = broadcast_vector(linear[j * K + g]);
            low[g] += a * coefficient;
            high[g] += b * coefficient;
        }
    }
    for (int g = 0; g < G; g++) {
        store_vector(score + g * STEP, low[g]);
        store_vector(score + g * STEP + WIDTH, high[g]);
    }
}

/* score_c = constant_c − Σ_j (factor_cj z_j − mean_cj)² if `scaled`, otherwise constant_c + Σ_j factor_cj (z_j −
 * mean_cj)², of G components for two registers of rows; factor and mean are d×K. */
INLINE void diagonal_tile(const CELL *z, int64_t d, const CELL *mean, const CELL *factor, int64_t K,
                          const CELL *constant, CELL *score, const int scaled, const int G) {
    vector low[MAX_CLASSES], high[MAX_CLASSES];
    for (int g = 0; g < G; g++) low[g] = high[g] = broadcast_vector(constant[g]);
    for (int64_t j = 0; j < d; j++) {
        const vector a = load_vector(z + j * STEP), b = load_vector(z + j * STEP + WIDTH);
        for (int g = 0; g < G; g++) {
            const vector m = broadcast_vector(mean[j * K + g]), f = broadcast_vector(factor[j * K + g]);
            const vector s = scaled ? a * f - m : a - m, t = scaled ? b * f - m : b - m;
            low[g] = scaled ? low[g] - s * s : low[g] + s * s * f;
            high[g] = scaled ? high[g] - t * t : high[g] + t * t * f;
        }
    }
    for (int g = 0; g < G; g++) {
        store_vector(score + g * STEP, low[g]);
        store_vector(score + g * STEP + WIDTH, high[g]);
    }
}

/* score_c = constant_c + z·linear_c + factor_c |z|² of G components for two registers of rows; linear is d×K. */
INLINE void sphere_tile(const CELL *z, int64_t d, const CELL *linear, const CELL *factor, int64_t K,
                        const CELL *constant, CELL *score, const int G) {
    vector low[MAX_CLASSES], high[MAX_CLASSES], low_square = broadcast_vector(0), high_square = low_square;
    for (int g = 0; g < G; g++) low[g] = high[g] = broadcast_vector(constant[g]);
    for (int64_t j = 0; j < d; j++) {
        const vector a = load_vector(z + j * STEP), b = load_vector(z + j * STEP + WIDTH);
        low_square += a * a;
        high_square += b * b;
        for (int g = 0; g < G; g++) {
            const vector coefficient = broadcast_vector(linear[j * K + g]);
            low[g] += a * coefficient;
            high[g] += b * coefficient;
        }
    }
    for (int g = 0; g < G; g++) {
        const vector coefficient = broadcast_vector(factor[g]);
        store_vector(score + g * STEP, low[g] + coefficient * low_square);
        store_vector(score + g * STEP + WIDTH, high[g] + coefficient * high_square);
    }
}

/* Return Σ weight · (most + log(sum)) over `size` rows: the log-likelihood, from the results of `softmax`. */
double log_sums(const CELL *most, const CELL *sum, const double *weight, int64_t size) {
    doubles total = broadcast(0.0);
    double result = 0.0, each[LANES];
    for (int64_t b = 0; b < size; b += LANES) total += load(weight + b) * (widen(most + b) + logarithm(widen(sum + b)));
    store(each, total);
    for (int r = 0; r < LANES; r++) result += each[r];
    return result;
}

/* share[c][row] = weight · exp(s_c) / Σ_b exp(s_b) with s_c = share[c][row], for `size` rows. The maximum of each row
 * and the sum of its exponentials above that go to `most` and `sum`. Very small responsibilities become 0, because
 * subnormal products are slow. */
void softmax(CELL *share, int64_t k, int64_t size, const double *weight, CELL *most, CELL *sum) {
    for (int64_t b = 0; b < size; b += 2 * WIDTH) {
        vector largest[2], total[2], part[2];
        CELL *const end = share + k * STEP + b;
        for (int h = 0; h < 2; h++) largest[h] = load_vector(share + b + h * WIDTH), total[h] = broadcast_vector(0);
        for (const CELL *s = share + STEP + b; s < end; s += STEP)
            for (int h = 0; h < 2; h++) largest[h] = vector_maximum(load_vector(s + h * WIDTH), largest[h]);
        for (CELL *s = share + b; s < end; s += STEP)
            for (int h = 0; h < 2; h++) {
                const vector e = exponential(load_vector(s + h * WIDTH) - largest[h], LEAST_EXPONENT);
                store_vector(s + h * WIDTH, e);
                total[h] += e;
            }
        for (int h = 0; h < 2; h++) {
            part[h] = narrow_vector(weight + b + h * WIDTH) / total[h];
            store_vector(most + b + h * WIDTH, largest[h]);
            store_vector(sum + b + h * WIDTH, total[h]);
        }
        for (CELL *s = share + b; s < end; s += STEP)
            for (int h = 0; h < 2; h++) store_vector(s + h * WIDTH, part[h] * load_vector(s + h * WIDTH));
    }
}

/* The number of products (at most 6) to take with G components, and of registers (at most 24) that hold their sums. */
#define TILE(G) (MAX_CLASSES > 5 ? ((G) > 8 ? 2 : (G) > 6 ? 3 : (G) > 4 ? 4 : (G) > 1 ? 6 : 4) : (G) > 2 ? 2 : 4)
#define SLOTS(G) ((TILE(G) * (G) + LANES - 1) / LANES * LANES)

/* sums[t·G + g] += Σ_rows share[g] · left_t · right_t for G components and TILE(G) products. */
INLINE void moment_tile(const CELL *share, const CELL *z, const int64_t *left, const int64_t *right, int64_t size,
                        double *restrict sums, const int G) {
    vector total[24], product[6];
    const CELL *one[6], *two[6];
    for (int t = 0; t < TILE(G); t++) one[t] = z + left[t] * STEP, two[t] = z + right[t] * STEP;
    for (int s = 0; s < SLOTS(G); s++) total[s] = broadcast_vector(0);
    for (int64_t b = 0; b < size; b += WIDTH) {
        for (int t = 0; t < TILE(G); t++) product[t] = load_vector(one[t] + b) * load_vector(two[t] + b);
        for (int g = 0; g < G; g++) {
            vector weight = load_vector(share + g * STEP + b);
            IN_REGISTER(weight);
            for (int t = 0; t < TILE(G); t++) total[t * G + g] += weight * product[t];
        }
    }
    for (int s = 0; s < SLOTS(G); s += LANES) store(sums + s, load(sums + s) + row_sums(total + s));
}

/* Add the products from `first` on to the sums of a group of G components; returns where the sums of the next group
 * are. */
INLINE double *add_group(const CELL *share, const CELL *z, const int64_t *left, const int64_t *right, int64_t first,
                         int64_t products, int64_t size, double *sums, const int G) {
    for (int64_t p = first; p < products; p += TILE(G), sums += SLOTS(G))
        moment_tile(share, z, left + p, right + p, size, sums, G);
    return sums;
}

/* sums += Σ_rows share_c · left_p · right_p for k components and `products` products, or, if `triangle`, those from c
 * on for component c. left and right are padded to whole tiles. */
void add_moments(const CELL *share, int64_t k, const CELL *z, const int64_t *left, const int64_t *right,
                 int64_t products, int triangle, int64_t size, double *sums) {
    for (int64_t c = 0; c < k;) {
        const int64_t group = group_size(k - c), first = triangle ? c : 0;
        BY_SIZE(group, sums = add_group(share + c * STEP, z, left, right, first, products, size, sums, G));
        c += group;
    }
}

/* out[c][product] = the sums of `add_moments`; k×products. */
void reorder_sums(const double *sums, int64_t k, int64_t products, int triangle, double *out) {
    for (int64_t c = 0; c < k;) {
        const int64_t group = group_size(k - c);
        for (int64_t p = triangle ? c : 0; p < products; p += TILE(group), sums += SLOTS(group))
            for (int64_t t = 0; t < TILE(group) && p + t < products; t++)
                for (int64_t g = 0; g < group; g++) out[(c + g) * products + p + t] = sums[t * group + g];
        c += group;
    }
}

/* Return whether SUMS_SIZE is enough for the sums of `add_moments`. */
int sums_fit(int64_t k, int64_t products, int triangle) {
    int64_t size = 0;
    for (int64_t c = 0, group; c < k; c += group) {
        group = group_size(k - c);
        size += (products - (triangle ? c : 0) + TILE(group) - 1) / TILE(group) * SLOTS(group);
    }
    return size <= SUMS_SIZE(k, products);
}

/* Prefetch some rows, which are `stride` bytes apart and `width` bytes wide. */
INLINE void prefetch_rows(const char *row, int64_t rows, int64_t stride, int64_t width) {
    if (stride == width) width *= rows, rows = 1;
    for (int64_t r = 0; r < rows; r++, row += stride)
        for (int64_t at = 0; at < width; at += 64) __builtin_prefetch(row + at);
}

/* score[c][row] of all k components, by the form of the parameters: `first` has the linear coefficients or the means,
 * d×k; `second` the pairs, the factors or, for spheres, one factor per component. Meanwhile the `ahead` rows of the
 * next block, from `next` on, are prefetched. */
void score_block(int64_t form, const CELL *z, int64_t d, int64_t k, const CELL *first, const CELL *second,
                 const CELL *constant, int64_t size, CELL *score, const char *next, int64_t ahead, int64_t stride,
                 int64_t width) {
    for (int64_t c = 0; c < k;) {
        const int64_t group = group_size(k - c);
        for (int64_t b = 0; b < size; b += 2 * WIDTH) {
            const CELL *from = z + b, *one = first + c, *two = second ? second + c : 0, *start = constant + c;
            CELL *out = score + c * STEP + b;
            if (c == 0 && b < ahead) {
                const int64_t rows = ahead - b < 2 * WIDTH ? ahead - b : 2 * WIDTH;
                prefetch_rows(next + b * stride, rows, stride, width);
            }
            switch (form) {
                case FULL: BY_SIZE(group, quadratic_tile(from, d, one, two, k, start, out, G)); break;
                case TIED: BY_SIZE(group, linear_tile(from, d, one, k, start, out, G)); break;
                case SCALED: BY_SIZE(group, diagonal_tile(from, d, one, two, k, start, out, 1, G)); break;
                case SPHERE: BY_SIZE(group, sphere_tile(from, d, one, two, k, start, out, G)); break;
                default: BY_SIZE(group, diagonal_tile(from, d, one, two, k, start, out, 0, G));
            }
        }
        c += group;
    }
}

/* With r_c = w exp(score_c) / Σ_b exp(score_b): moments[c][p] = Σ_rows r_c·left_p·right_p, k×products, and
 * log_likelihood = Σ_rows w log Σ_c exp(score_c). The form of the scores is FULL, TIED, SCALED, DIAGONAL or SPHERE
 * (`score_block`). If it is TIED, the products are the d + 1 columns, and scatter (d×d, on and above its diagonal) =
 * Σ_rows w z zᵀ; the quadratic term, which all components share, is left to the caller. x has floats if `narrow`; left
 * and right have PADDING more entries, to fill tiles. Scratch: (2d + k + 1)·STEP cells, `wide` of d·2·LANES doubles,
 * `sums` of SUMS_SIZE(k, products) and, if TIED, `sums_of_all` of SUMS_SIZE(d, d). NumPy fallback: expect in
 * suffice.models.joint. */
EXPORT int64_t NAME(mixture_pass)(const void *x, int64_t narrow, int64_t stride, int64_t n, int64_t d, int64_t k,
                                  const double *weight, const double *origin, int64_t form, const CELL *first,
                                  const CELL *second, const CELL *constant, int64_t products, const int64_t *left,
                                  const int64_t *right, CELL *scratch, double *wide, double *sums, double *sums_of_all,
                                  double *moments, double *scatter, double *log_likelihood) {
    if (form == TIED && products != d + 1) return OUT_OF_RANGE;
    if (!sums_fit(k, products, 0) || !sums_fit(d, d, 1)) return OUT_OF_RANGE;
    if (!codes_within(left, products + PADDING, d + 1) || !codes_within(right, products + PADDING, d + 1))
        return OUT_OF_RANGE;
    memset(sums, 0, sizeof(double) * (size_t)SUMS_SIZE(k, products));
    if (form == TIED) memset(sums_of_all, 0, sizeof(double) * (size_t)SUMS_SIZE(d, d));
    CELL *z = scratch, *share = z + (d + 1) * STEP, *weighted = share + k * STEP, most[BLOCK], sum[BLOCK];
    const int64_t cell = narrow ? sizeof(float) : sizeof(double);
    double w[BLOCK], total = 0.0;
    for (int64_t b = 0; b < BLOCK; b++) z[b] = 1;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t rows = n - i < BLOCK ? n - i : BLOCK, ahead = n - i - rows < BLOCK ? n - i - rows : BLOCK;
        const char *from = (const char *)x + i * stride * cell, *next = from + rows * stride * cell;
        const int64_t size = load_rows(from, narrow, stride, rows, d, origin, wide, z + STEP);
        for (int64_t b = 0; b < size; b++) w[b] = b < rows ? (weight ? weight[i + b] : 1.0) : 0.0;
        score_block(form, z + STEP, d, k, first, second, constant, size, share, next, ahead, stride * cell, d * cell);
        softmax(share, k, size, w, most, sum);
        total += log_sums(most, sum, w, size);
        add_moments(share, k, z, left, right, products, 0, size, sums);
        if (form == TIED) {
            for (int64_t j = 0; j < d; j++)
                for (int64_t b = 0; b < size; b++) weighted[j * STEP + b] = (CELL)w[b] * z[(j + 1) * STEP + b];
            add_moments(weighted, d, z, left + 1, right + 1, d, 1, size, sums_of_all);
        }
    }
    reorder_sums(sums, k, products, 0, moments);
    if (form == TIED) reorder_sums(sums_of_all, d, d, 1, scatter);
    *log_likelihood = total;
    return 0;
}
