/* Rows with holes (NaN) that come in runs of the same holes. In a run, the cells that are there (o) have the precision
 *
 *     P = Λ_oo − Λ_om W,   W = A⁻¹ Λ_mo,   A = Λ_mm,
 *
 * so its rows are scored and summed as complete rows of fewer columns, by the loops of kernels_mixture.h. A missing cell is
 * b − W z_o with covariance A⁻¹, where b = μ_m + W μ_o (all about the origin): its expected moments are products of W and b
 * with the sums over the run, whatever its length. */
#include "missing.h"
#include "mixture.h"

/* The columns of a run: `there` (o) in the order in which z has them, and `missing` (m), of d */
typedef struct {
    int64_t d, o, m;
    int64_t *there, *missing;
} run_columns;

/* How many rows from `i` on miss the same cells as row i */
#define SAME_HOLES(TYPE)                                                                                               \
    for (const TYPE *head = (const TYPE *)x + i * stride, *row = head + stride; end < n; end++, row += stride) {       \
        int64_t differs = 0;                                                                                           \
        for (int64_t j = 0; j < d; j++) differs |= (int64_t)((row[j] == row[j]) ^ (head[j] == head[j]));               \
        if (differs) break;                                                                                            \
    }
static int64_t run_length(const void *x, int64_t narrow, int64_t stride, int64_t n, int64_t d, int64_t i) {
    int64_t end = i + 1;
    if (narrow) {
        SAME_HOLES(float)
    } else {
        SAME_HOLES(double)
    }
    return end - i;
}

/* Find the columns of a run by a row of it: those that are there keep their places, and the last ones go to the places
 * of the first that are missing, so that z has them side by side. */
static void find_columns(const void *x, int64_t narrow, int64_t at, run_columns * run) {
    int64_t last = run->d;
    run->m = 0;
#define HOLE(j) (narrow ? isnan(((const float *)x)[at + (j)]) : isnan(((const double *)x)[at + (j)]))
    for (int64_t j = 0; j < run->d; j++)
        if (HOLE(j)) run->missing[run->m++] = j;
    run->o = run->d - run->m;
    for (int64_t j = 0; j < run->o; j++) {
        run->there[j] = j;
        if (!HOLE(j)) continue;
        do last--;
        while (HOLE(last));
        run->there[j] = last;
    }
}

/* P (o×o), W (m×o) and A⁻¹ (m×m) of one precision, each with room for d×d; log |A| comes last. */
typedef struct {
    double *marginal, *weights, *spread, *logs;
} conditional;
INLINE conditional conditional_at(double *place, int64_t d) {
    return (conditional){place, place + d * d, place + 2 * d * d, place + 3 * d * d};
}

static void condition(conditional g, const double *precision, const run_columns * run, double *factor) {
    const int64_t d = run->d, o = run->o, m = run->m, *there = run->there, *missing = run->missing;
    *g.logs = factor_missing(precision, d, missing, m, factor);
    invert_missing(factor, m, g.spread);
    for (int64_t u = 0; u < m; u++) {
        double *restrict row = g.weights + u * o;
        for (int64_t a = 0; a < o; a++) row[a] = 0.0;
        for (int64_t v = 0; v < m; v++) {
            const double s = g.spread[u * m + v], *across = precision + missing[v] * d;
            for (int64_t a = 0; a < o; a++) row[a] += s * across[there[a]];
        }
    }
    for (int64_t a = 0; a < o; a++) {
        const double *own = precision + there[a] * d;
        double *restrict row = g.marginal + a * o;
        for (int64_t b = 0; b < o; b++) row[b] = own[there[b]];
        for (int64_t u = 0; u < m; u++) {
            const double s = own[missing[u]], *restrict w = g.weights + u * o;
            for (int64_t b = 0; b < o; b++) row[b] -= s * w[b];
        }
    }
}

/* Class c of k in the product form: linear is o×k, pairs o(o+1)/2×k. `mean` is about the origin; returns the constant,
 * without the log-determinant and the share of the class. */
static double product_form(conditional g, const double *mean, const run_columns * run, int64_t c,
                                 int64_t k, double *linear, double *pairs) {
    double squared = 0.0;
    for (int64_t i = 0; i < run->o; i++) {
        const double *row = g.marginal + i * run->o;
        double sum = 0.0;
        for (int64_t j = 0; j < run->o; j++) sum += row[j] * mean[run->there[j]];
        linear[i * k + c] = sum;
        squared += sum * mean[run->there[i]];
        for (int64_t j = i; j < run->o; j++, pairs += k) pairs[c] = (i == j ? -0.5 : -1.0) * row[j];
    }
    return -0.5 * ((double)run->o * 1.8378770664093453 + *g.logs + squared); /* log 2π */
}

/* second (d×d) += the expected second moments of a run of `count` rows with Σ z_o z_oᵀ = scatter (o×o, on and above its
 * diagonal, which is filled up), as if b were 0; `across` is scratch of m×o */
static void add_scatter(conditional g, double *scatter, double count, const run_columns * run,
                              double *across, double *second) {
    const int64_t d = run->d, o = run->o, m = run->m, *there = run->there, *missing = run->missing;
    for (int64_t i = 0; i < o; i++)
        for (int64_t j = 0; j < o; j++) {
            if (j < i) scatter[i * o + j] = scatter[j * o + i];
            second[there[i] * d + there[j]] += scatter[i * o + j];
        }
    for (int64_t u = 0; u < m; u++) {
        double *restrict row = across + u * o; /* −W S */
        for (int64_t j = 0; j < o; j++) row[j] = 0.0;
        for (int64_t i = 0; i < o; i++) {
            const double w = g.weights[u * o + i], *restrict from = scatter + i * o;
            for (int64_t j = 0; j < o; j++) row[j] -= w * from[j];
        }
        for (int64_t j = 0; j < o; j++) {
            second[missing[u] * d + there[j]] += row[j];
            second[there[j] * d + missing[u]] += row[j];
        }
        for (int64_t v = 0; v <= u; v++) { /* W S Wᵀ, and the spread of each row */
            double sum = count * g.spread[u * m + v];
            for (int64_t j = 0; j < o; j++) sum -= row[j] * g.weights[v * o + j];
            second[missing[u] * d + missing[v]] += sum;
            if (u != v) second[missing[v] * d + missing[u]] += sum;
        }
    }
}

/* first (d) += the expected sums of `count` rows of a class with Σ z_o = sums (o), and second (d×d) += what b adds to it;
 * `shift` is scratch of 2m */
static void add_shift(conditional g, const double *mean, double count, const double *sums,
                            const run_columns * run, double *shift, double *first, double *second) {
    const int64_t d = run->d, o = run->o, m = run->m, *there = run->there, *missing = run->missing;
    double *b = shift, *moved = shift + m; /* moved: −W Σ z_o */
    for (int64_t i = 0; i < o; i++) first[there[i]] += sums[i];
    for (int64_t u = 0; u < m; u++) {
        b[u] = mean[missing[u]], moved[u] = 0.0;
        for (int64_t i = 0; i < o; i++) {
            b[u] += g.weights[u * o + i] * mean[there[i]];
            moved[u] -= g.weights[u * o + i] * sums[i];
        }
        first[missing[u]] += moved[u] + count * b[u];
        for (int64_t i = 0; i < o; i++) {
            second[missing[u] * d + there[i]] += b[u] * sums[i];
            second[there[i] * d + missing[u]] += b[u] * sums[i];
        }
    }
    for (int64_t u = 0; u < m; u++)
        for (int64_t v = 0; v < m; v++)
            second[missing[u] * d + missing[v]] += moved[u] * b[v] + b[u] * moved[v] + count * b[u] * b[v];
}

/* The products of `mixture_pass` for o columns; returns how many */
static int64_t list_products(int64_t o, int tied, int64_t *left, int64_t *right) {
    int64_t products = 0;
    for (int64_t i = 0; i < (tied ? 1 : o + 1); i++)
        for (int64_t j = i; j < o + 1; j++) left[products] = i, right[products++] = j;
    for (int64_t t = 0; t < PADDING; t++) left[products + t] = right[products + t] = 0;
    return products;
}

/* One pass over the runs of at least `least` rows; the places of all other rows go to `rest`, whose number is returned.
 *
 * Without `given` and `out`, expectation and maximisation: the log-likelihood, and count (k), first (k×d) and second
 * (forms×d×d) += the expected moments about the origin of rows shared by softmax. `forms` is k; or 1 where all classes have
 * the same precision (forms×d×d), and then `second` is that of all of them together. Where `given` (n×k) is not null, it
 * has the shares instead. Where `out` (k×n) is not null, it gets the scores and nothing is summed.
 *
 * `means` (k×d) are about the origin; `constant` (k) is −½ log |Σ| + log share. `scratch` has room for (2d + k + 1)·STEP
 * cells, `wide` for 2·LANES·d, `sums` and `sums_of_all` for the tiles of all products, `moments` for k·(d + 1)(d + 2)/2;
 * `work` for PATTERNS_WORK, `places` for PATTERNS_PLACES. */
EXPORT int64_t NAME(patterns_pass)(const void *x, int64_t narrow, int64_t stride, int64_t n, int64_t d, int64_t k,
                                   int64_t forms, int64_t least, const double *weight, const double *given,
                                   const double *origin, const double *means, const double *precision,
                                   const double *constant, double *scratch, double *wide, double *sums,
                                   double *sums_of_all, double *moments, double *work, int64_t *places, double *out,
                                   double *count, double *first, double *second, double *log_likelihood,
                                   int64_t *rest) {
    double *z = scratch, *share = z + (d + 1) * STEP, *weighted = share + k * STEP;
    double *factor = work, *scatter = factor + d * d, *across = scatter + d * d, *shift = across + d * d;
    double *conditionals = shift + 2 * d, *start = conditionals + forms * CONDITIONAL_SIZE(d), *linear = start + k;
    double *pairs = linear + k * d, most[BLOCK], sum[BLOCK], w[BLOCK], total = 0.0;
    int64_t *left = places + 2 * d, *right = left + (d + 1) * (d + 2) / 2 + PADDING, n_rest = 0, width = -1, products = 0;
    const int64_t cell = narrow ? sizeof(float) : sizeof(double);
    const int tied = forms < k && !out; /* the quadratic term is the same for all classes */
    run_columns run = {d, 0, 0, places, places + d};
    if (forms != 1 && forms != k) return OUT_OF_RANGE;
    if (!sums_fit(k, (d + 1) * (d + 2) / 2, 0) || !sums_fit(d, d, 1)) return OUT_OF_RANGE;
    for (int64_t b = 0; b < BLOCK; b++) z[b] = 1.0;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = begin + run_length(x, narrow, stride, n, d, begin);
        if (end - begin < least) {
            for (int64_t i = begin; i < end; i++) rest[n_rest++] = i;
            continue;
        }
        find_columns(x, narrow, begin * stride, &run);
        const int64_t o = run.o;
        if (o != width) products = list_products(width = o, tied, left, right);
        for (int64_t f = 0; f < forms; f++)
            condition(conditional_at(conditionals + f * CONDITIONAL_SIZE(d), d), precision + f * d * d, &run,
                            factor);
#define OF_CLASS(c) conditional_at(conditionals + (forms < k ? 0 : (c)) * CONDITIONAL_SIZE(d), d)
        for (int64_t c = 0; c < k && !given; c++)
            start[c] = constant[c] + product_form(OF_CLASS(c), means + c * d, &run, c, k, linear, pairs);
        memset(sums, 0, sizeof(double) * (size_t)SUMS_SIZE(k, products));
        if (tied) memset(sums_of_all, 0, sizeof(double) * (size_t)SUMS_SIZE(o, o));
        for (int64_t i = begin; i < end; i += BLOCK) {
            const int64_t rows = end - i < BLOCK ? end - i : BLOCK, ahead = n - i - rows < BLOCK ? n - i - rows : BLOCK;
            const char *from = (const char *)x + i * stride * cell, *next = from + rows * stride * cell;
            const int64_t size = load_rows(from, narrow, stride, rows, d, origin, wide, z + STEP);
            for (int64_t j = 0; j < o; j++)
                if (run.there[j] != j)
                    memcpy(z + (1 + j) * STEP, z + (1 + run.there[j]) * STEP, sizeof(double) * (size_t)size);
            for (int64_t b = 0; b < size; b++) w[b] = b < rows ? (weight ? weight[i + b] : 1.0) : 0.0;
            if (given) {
                for (int64_t b = 0; b < size; b++) {
                    w[b] = 0.0;
                    for (int64_t c = 0; c < k; c++) {
                        const double own = b < rows ? given[(i + b) * k + c] : 0.0;
                        share[c * STEP + b] = own < 1e-130 ? 0.0 : own; /* its products would be subnormal, and slow */
                        w[b] += share[c * STEP + b];
                    }
                }
            } else {
                score_block(tied ? TIED : FULL, z + STEP, o, k, linear, tied ? 0 : pairs, start, size, share,
                             next, ahead, stride * cell, d * cell);
                for (int64_t c = 0; out && c < k; c++)
                    memcpy(out + c * n + i, share + c * STEP, sizeof(double) * (size_t)rows);
                if (out) continue;
                softmax(share, k, size, w, most, sum);
                total += log_sums(most, sum, w, size);
            }
            add_moments(share, k, z, left, right, products, 0, size, sums);
            if (tied) {
                for (int64_t j = 0; j < o; j++)
                    for (int64_t b = 0; b < size; b++) weighted[j * STEP + b] = w[b] * z[(j + 1) * STEP + b];
                add_moments(weighted, o, z, left + 1, right + 1, o, 1, size, sums_of_all);
            }
        }
        if (out) continue;
        reorder_sums(sums, k, products, 0, moments);
        double rows_of_all = 0.0;
        for (int64_t c = 0; c < k; c++) {
            const double *own = moments + c * products;
            rows_of_all += own[0];
            count[c] += own[0];
            if (!tied) {
                const double *triangle = own + o + 1;
                for (int64_t i = 0; i < o; triangle += o - i, i++)
                    memcpy(scatter + i * o + i, triangle, sizeof(double) * (size_t)(o - i));
                add_scatter(OF_CLASS(c), scatter, own[0], &run, across, second + c * d * d);
            }
            add_shift(OF_CLASS(c), means + c * d, own[0], own + 1, &run, shift, first + c * d,
                            second + (tied ? 0 : c) * d * d);
        }
        if (tied) {
            const conditional g = OF_CLASS(0);
            reorder_sums(sums_of_all, o, o, 1, scatter);
            add_scatter(g, scatter, rows_of_all, &run, across, second);
            for (int64_t i = 0; i < o * o && !given; i++) total -= 0.5 * g.marginal[i] * scatter[i];
        }
    }
    *log_likelihood = total;
    return n_rest;
}
