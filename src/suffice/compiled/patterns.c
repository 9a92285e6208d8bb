/* Gaussian rows with missing cells (NaN) in runs of rows that miss the same cells. In a run, the observed cells (o)
 * have the precision
 *
 *     P = Λ_oo − Λ_om W,   W = A⁻¹ Λ_mo,   A = Λ_mm,
 *
 * so its rows are scored and summed as complete rows of fewer columns, by the steps of mixture.c. A missing cell is
 * b − W z_o with covariance A⁻¹, where b = μ_m + W μ_o (all about the origin): its expected moments are products of
 * W and b with the sums over the run, whatever its length. */
#include "missing.h"
#include "mixture.h"

/* The columns of a run: `there`, the o observed ones in the order of z, and the m `missing` ones, of d. */
typedef struct {
    int64_t d, o, m;
    int64_t *there, *missing;
} run_columns;

/* Return whether a cell is missing; x has floats if `narrow`, otherwise doubles. */
INLINE int is_missing(const void *x, int64_t narrow, int64_t at) {
    if (narrow) return ((const float *)x)[at] != ((const float *)x)[at];
    return ((const double *)x)[at] != ((const double *)x)[at];
}

/* Return the number of rows from row i on that miss the same cells as row i; `narrow` is a constant. */
INLINE int64_t same_pattern(const void *x, const int narrow, int64_t stride, int64_t n, int64_t d, int64_t i) {
    int64_t end = i + 1;
    for (; end < n; end++) {
        int64_t differs = 0;
        for (int64_t j = 0; j < d; j++)
            differs |= is_missing(x, narrow, end * stride + j) ^ is_missing(x, narrow, i * stride + j);
        if (differs) break;
    }
    return end - i;
}
static int64_t run_length(const void *x, int64_t narrow, int64_t stride, int64_t n, int64_t d, int64_t i) {
    return narrow ? same_pattern(x, 1, stride, n, d, i) : same_pattern(x, 0, stride, n, d, i);
}

/* Find the columns of a run by a row of it, which begins at cell `at`. Observed columns keep their places, and the
 * last ones move to the places of the first that are missing, so that z has them side by side. */
static void find_columns(const void *x, int64_t narrow, int64_t at, run_columns *run) {
    int64_t last = run->d;
    run->m = 0;
    for (int64_t j = 0; j < run->d; j++)
        if (is_missing(x, narrow, at + j)) run->missing[run->m++] = j;
    run->o = run->d - run->m;
    for (int64_t j = 0; j < run->o; j++) {
        run->there[j] = j;
        if (!is_missing(x, narrow, at + j)) continue;
        do last--;
        while (is_missing(x, narrow, at + last));
        run->there[j] = last;
    }
}

/* P (o×o), W (m×o) and A⁻¹ (m×m) of one precision, each with room for d×d, and log|A|. */
typedef struct {
    double *marginal, *weights, *spread, *logs;
} conditional;
INLINE conditional conditional_at(double *place, int64_t d) {
    return (conditional){place, place + d * d, place + 2 * d * d, place + 3 * d * d};
}
INLINE conditional class_conditional(double *conditionals, int shared, int64_t d, int64_t c) {
    return conditional_at(conditionals + (shared ? 0 : c) * CONDITIONAL_SIZE(d), d);
}

/* Compute P, W, A⁻¹ and log|A| of a precision; `factor` is scratch of m×m. */
static void condition(conditional g, const double *precision, const run_columns *run, double *factor) {
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

/* Column c of the coefficients of `quadratic_tile`: linear is o×k, pairs o(o+1)/2×k. `mean` is about the origin.
 * Returns −½ (o log 2π + log|A| + μᵀPμ). */
static double product_form(conditional g, const double *mean, const run_columns *run, int64_t c, int64_t k,
                           double *linear, double *pairs) {
    double squared = 0.0;
    for (int64_t i = 0; i < run->o; i++) {
        const double *row = g.marginal + i * run->o;
        double sum = 0.0;
        for (int64_t j = 0; j < run->o; j++) sum += row[j] * mean[run->there[j]];
        linear[i * k + c] = sum;
        squared += sum * mean[run->there[i]];
        for (int64_t j = i; j < run->o; j++, pairs += k) pairs[c] = (i == j ? -0.5 : -1.0) * row[j];
    }
    return -0.5 * ((double)run->o * LOG_2PI + *g.logs + squared);
}

/* second (d×d) += Σ E[z zᵀ] over a run of `count` rows with Σ z_o z_oᵀ = scatter (o×o, on and above its diagonal,
 * which is filled), as if b were 0; `across` is scratch of m×o. */
static void add_scatter(conditional g, double *scatter, double count, const run_columns *run, double *across,
                        double *second) {
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

/* first (d) += Σ E[z] over `count` rows of a class with Σ z_o = sums (o), and second (d×d) += the terms with b;
 * `shift` is scratch of 2m. */
static void add_shift(conditional g, const double *mean, double count, const double *sums, const run_columns *run,
                      double *shift, double *first, double *second) {
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

/* List the products that `mixture_pass` sums for o columns; returns their number. */
static int64_t list_products(int64_t o, int tied, int64_t *left, int64_t *right) {
    int64_t products = 0;
    for (int64_t i = 0; i < (tied ? 1 : o + 1); i++)
        for (int64_t j = i; j < o + 1; j++) left[products] = i, right[products++] = j;
    for (int64_t t = 0; t < PADDING; t++) left[products + t] = right[products + t] = 0;
    return products;
}

/* share (k×STEP) = given responsibilities (rows×k), and 0 for the rows from there to `size`; w = their sums per row. */
static void take_given(const double *given, int64_t rows, int64_t size, int64_t k, double *share, double *w) {
    for (int64_t b = 0; b < size; b++) {
        w[b] = 0.0;
        for (int64_t c = 0; c < k; c++) {
            const double own = b < rows ? given[b * k + c] : 0.0;
            share[c * STEP + b] = own < LEAST_WEIGHT ? 0.0 : own;
            w[b] += share[c * STEP + b];
        }
    }
}

/* count, first and second += the expected moments of a run, from the sums of its rows: moments (k×products) and, if
 * `tied`, the scatter of all classes in `work`, which is laid out as in `patterns_pass`. */
static void add_run(double *conditionals, const double *means, int64_t k, int64_t forms, int tied,
                    const run_columns *run, const double *moments, int64_t products, double *work, double *count,
                    double *first, double *second) {
    const int64_t d = run->d, o = run->o;
    double *scatter = work + d * d, *across = scatter + d * d, *shift = across + d * d, rows_of_all = 0.0;
    for (int64_t c = 0; c < k; c++) {
        const conditional g = class_conditional(conditionals, forms < k, d, c);
        const double *own = moments + c * products, *triangle = own + o + 1;
        rows_of_all += own[0];
        count[c] += own[0];
        if (!tied) {
            for (int64_t i = 0; i < o; triangle += o - i, i++)
                memcpy(scatter + i * o + i, triangle, sizeof(double) * (size_t)(o - i));
            add_scatter(g, scatter, own[0], run, across, second + c * d * d);
        }
        add_shift(g, means + c * d, own[0], own + 1, run, shift, first + c * d, second + (tied ? 0 : c) * d * d);
    }
    if (tied) add_scatter(class_conditional(conditionals, 1, d, 0), scatter, rows_of_all, run, across, second);
}

/* One iteration of EM over the runs of at least `least` rows; the positions of all other rows go to `rest` (n), whose
 * number is returned. NumPy fallback: IncompleteRows.statistics in suffice.families.gaussian.missing_cells.
 *
 * Without `given` and `out`: log_likelihood = Σ w log Σ_c exp(score_c), and count (k), first (k×d) and second
 * (forms×d×d) += the expected moments about the origin under responsibilities w softmax(score), with
 *
 *     score_c = constant_c − ½ (o log 2π + log|A| + (z_o − μ_o)ᵀ P (z_o − μ_o)),
 *
 * means (k×d) about the origin and constant (k) = −½ log|Σ| + log share. `forms` is the number of precisions
 * (forms×d×d): k, or 1 if all classes share one; then `second` is the sum over the classes. With `given` (n×k) the
 * responsibilities are given; with `out` (k×n) only scores are computed.
 *
 * Scratch: (2d + k + 1)·STEP cells, `wide` of d·2·LANES, `sums` and `sums_of_all` of SUMS_SIZE, `moments` of
 * k·(d + 1)(d + 2)/2, `work` of PATTERNS_WORK, `places` of PATTERNS_PLACES. */
EXPORT int64_t NAME(patterns_pass)(const void *x, int64_t narrow, int64_t stride, int64_t n, int64_t d, int64_t k,
                                   int64_t forms, int64_t least, const double *weight, const double *given,
                                   const double *origin, const double *means, const double *precision,
                                   const double *constant, double *scratch, double *wide, double *sums,
                                   double *sums_of_all, double *moments, double *work, int64_t *places, double *out,
                                   double *count, double *first, double *second, double *log_likelihood,
                                   int64_t *rest) {
    double *z = scratch, *share = z + (d + 1) * STEP, *weighted = share + k * STEP;
    double *factor = work, *scatter = work + d * d, *conditionals = work + 3 * d * d + 2 * d;
    double *start = conditionals + forms * CONDITIONAL_SIZE(d), *linear = start + k;
    double *pairs = linear + k * d, most[BLOCK], sum[BLOCK], w[BLOCK], total = 0.0;
    int64_t *left = places + 2 * d, *right = left + (d + 1) * (d + 2) / 2 + PADDING;
    int64_t n_rest = 0, width = -1, products = 0;
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
            condition(conditional_at(conditionals + f * CONDITIONAL_SIZE(d), d), precision + f * d * d, &run, factor);
        for (int64_t c = 0; c < k && !given; c++)
            start[c] = constant[c] + product_form(class_conditional(conditionals, forms < k, d, c), means + c * d, &run,
                                                  c, k, linear, pairs);
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
                take_given(given + i * k, rows, size, k, share, w);
            } else {
                score_block(tied ? TIED : FULL, z + STEP, o, k, linear, tied ? 0 : pairs, start, size, share, next,
                            ahead, stride * cell, d * cell);
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
        if (tied) reorder_sums(sums_of_all, o, o, 1, scatter);
        add_run(conditionals, means, k, forms, tied, &run, moments, products, work, count, first, second);
        if (tied && !given) {
            const double *marginal = class_conditional(conditionals, 1, d, 0).marginal;
            for (int64_t i = 0; i < o * o; i++) total -= 0.5 * marginal[i] * scatter[i];
        }
    }
    *log_likelihood = total;
    return n_rest;
}
