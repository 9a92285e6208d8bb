/* Whole iterations of EM for a mixture of Gaussians, for tables so small that the interpreter would take longer.
 *
 * An iteration takes the expected moments of each component and the log-likelihood by `mixture_pass`, and from these
 * the next means and covariances as `suffice.families.gaussian.covariance` does. Where the moments about a common origin would lose
 * digits, rows are taken about each component instead.
 */
#define LOG_2PI 1.8378770664093453
#define EPSILON 2.220446049250313e-16
#define TOLERATED 1e-10       /* the error that the product form may have in a log-density, as in quadratic.py */
#define SMALLEST_PIVOT 1e-7   /* of a correlation matrix that is not taken to be singular, as in quadratic.py */
#define LOST_DIGITS 1e-7      /* of the squares left in a scatter that has lost half its digits, as in statistics.py */
#define ALIKE 1e-4            /* share of a bound by which starts that lead to the same end may differ, as in mixture_starts.py */
#define NEAR 256.0            /* standard deviations (times √½) up to which a mean may be scaled before it is subtracted */
#define SMALLEST_NUMBER 2.2250738585072014e-308

/* The parameters of a mixture. `shared` covariances are kept once; those of matrices are d×d, variances are (d,). */
typedef struct {
    double *log_share, *mean, *covariance;
    double *whitener, *log_determinant; /* L⁻¹ with L Lᵀ = Σ, and log |Σ|, of each covariance that is kept */
    double *axes;                       /* d×d, of all components, where the structure shares them */
    int has_axes;
} NAME(model);

/* Moments of each component about its centre: count (k,), center and first (k, d), second (k, d), (k, d, d), or (d, d)
 * of all components together. */
typedef struct {
    double *count, *center, *first, *second;
} NAME(sums);

/* Axes that all components share (d×d), and how good they are: the criterion, with its derivatives in the angles of all
 * pairs of axes, the largest of these, and how far rounding may have put them off. */
typedef struct {
    double *axes, *gradient, *curvature, value, rows, steepest, rounding;
} NAME(point);

/* What the extrapolation steps remember: how many of the last iterations and their bounds, how long a step may be, how
 * long the one under way is, and whether it is still to be tried. All are doubles, as they lie in the workspace. */
typedef struct {
    double kept, longest, length, pending, bounds[3];
} NAME(leaps);

typedef struct {
    const double *x, *weight, *belief;
    int64_t stride, n, d, k, structure;
    int64_t matrices, shared; /* whether covariances are matrices, and whether there is one for all components */
    double strength, given;   /* the rows that the prior is worth, of covariance `belief`; the variance of GIVEN_SPHERE */
    int equal;                /* whether all components have the same share */
    double ridge, least;      /* what is added to every variance; the rows that a component must have more of */
    /* the tables of `mixture_pass` and its scratch */
    int64_t form, products, *left, *right;
    double *origin, *linear, *quadratic, *constant, *scratch, *wide, *tiles, *tiles_of_all, *moments, *half;
    /* of the maximisation: scatters without and with the ridge that keeps them regular, the rows of each component,
     * scatters and variances along axes (k×d), matrices of each component (k×d×d) */
    double *scatter, *ridged, *rows, *along, *variance, *white, *whitened, *shares_of_columns;
    double *newton[5], *hessian[2], *regular; /* (k,) and k×k */
    NAME(point) points[2];
    double *steps, *changes, *angles;  /* of the last steps in the angles, and two more of all angles */
    double *matrix[4], *vector[2];     /* d×d and (d,) */
    double *share;     /* k×n */
    NAME(sums) others; /* moments that nobody asks for */
    NAME(leaps) *leaps;
    NAME(sums) last[3]; /* the moments of the last iterations */
} NAME(em);

static int64_t NAME(n_covariances)(const NAME(em) *em) { return em->shared ? 1 : em->k; }
static int64_t NAME(cells_of_covariance)(const NAME(em) *em) { return em->matrices ? em->d * em->d : em->d; }
static int64_t NAME(n_second)(const NAME(em) *em) {
    const int64_t d = em->d;
    return !em->matrices ? em->k * d : em->structure == EEE ? d * d : em->k * d * d;
}

static int NAME(finite_values)(const double *values, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += 0.0 * values[i];
    return sum == 0.0;
}

#include "kernels_volumes.h"
#include "kernels_axes.h"
#include "kernels_covariance.h"

/* -- the log-densities of a model ---------------------------------------------------------------------------------- */

/* Factorise the covariances; 0 where one is singular or not positive. */
static int NAME(factorise)(const NAME(em) *em, NAME(model) *m) {
    const int64_t d = em->d, cells = NAME(cells_of_covariance)(em);
    for (int64_t c = 0; c < NAME(n_covariances)(em); c++) {
        const double *covariance = m->covariance + c * cells;
        double *whitener = m->whitener + c * cells, *scale = em->vector[0], sum = 0.0;
        for (int64_t j = 0; j < d; j++) {
            const double variance = covariance[em->matrices ? j * (d + 1) : j];
            if (!(variance > 0.0 && variance < 1.7e308)) return 0;
            scale[j] = sqrt(variance);
            sum += log(variance);
        }
        if (em->matrices) {
            double *lower = em->matrix[0];
            for (int64_t i = 0; i < d; i++)
                for (int64_t j = 0; j < d; j++) lower[i * d + j] = covariance[i * d + j] / (scale[i] * scale[j]);
            if (!(NAME(cholesky)(lower, d, lower) >= SMALLEST_PIVOT)) return 0;
            sum += 2.0 * NAME(half_log_determinant)(lower, d);
            NAME(invert_lower)(lower, d, whitener);
            for (int64_t i = 0; i < d; i++)
                for (int64_t j = 0; j <= i; j++) whitener[i * d + j] /= scale[j];
        } else {
            for (int64_t j = 0; j < d; j++) whitener[j] = 1.0 / scale[j];
        }
        m->log_determinant[c] = sum;
    }
    return 1;
}

/* The log-density of the prior: Σ −½ a log|Σ| − ½ tr(Σ⁻¹ aV) over the covariances that are kept. */
static double NAME(log_prior)(const NAME(em) *em, const NAME(model) *m) {
    const int64_t d = em->d, cells = NAME(cells_of_covariance)(em);
    double sum = 0.0;
    if (em->strength == 0.0 || em->structure == GIVEN_SPHERE) return 0.0;
    for (int64_t c = 0; c < NAME(n_covariances)(em); c++) {
        sum += m->log_determinant[c];
        if (em->matrices) {
            sum += NAME(whitened_trace)(m->whitener + c * cells, em->belief, d, em->matrix[0]);
        } else {
            for (int64_t j = 0; j < d; j++) sum += em->belief[j] / m->covariance[c * cells + j];
        }
    }
    return -0.5 * em->strength * sum;
}

/* linear (d×k), quadratic (p×k) and constant (k) of the product form of matrices; 0 where its terms would cancel */
static int NAME(product_tables)(const NAME(em) *em, const NAME(model) *m) {
    const int64_t d = em->d, k = em->k;
    double *centred = em->vector[0], *slope = em->vector[1], largest = 0.0;
    for (int64_t c = 0; c < k; c++) {
        const int64_t own = em->shared ? 0 : c;
        const double *w = m->whitener + own * d * d;
        double squared = 0.0;
        for (int64_t j = 0; j < d; j++) centred[j] = m->mean[c * d + j] - em->origin[j];
        memset(slope, 0, d * sizeof(double));
        for (int64_t i = 0; i < d; i++) {
            double white = 0.0;
            for (int64_t j = 0; j <= i; j++) white += w[i * d + j] * centred[j];
            for (int64_t j = 0; j <= i; j++) slope[j] += w[i * d + j] * white;
            squared += white * white;
        }
        for (int64_t j = 0; j < d; j++) em->linear[j * k + c] = slope[j];
        if (c == own) {
            double *pair = em->quadratic + c, *precision = em->matrix[0];
            const int64_t step = em->shared ? 1 : k;
            NAME(squared)(w, d, precision);
            for (int64_t i = 0; i < d; i++)
                for (int64_t j = i; j < d; j++, pair += step) *pair = (i == j ? -0.5 : -1.0) * precision[i * d + j];
        }
        em->constant[c] = -0.5 * (d * LOG_2PI + m->log_determinant[own] + squared) + m->log_share[c];
        squared *= em->shared ? 0.5 : 1.0;
        largest = squared > largest ? squared : largest;
    }
    return largest * EPSILON <= TOLERATED;
}

/* The tables of independent columns, by the form that `DiagonalForm.mixture_pass` chooses; that form is returned. */
static int64_t NAME(column_tables)(const NAME(em) *em, const NAME(model) *m) {
    const int64_t d = em->d, k = em->k;
    double largest = 0.0, furthest = 0.0;
    int spheres = 1;
    for (int64_t c = 0; c < k; c++) {
        const double *variance = m->covariance + (em->shared ? 0 : c * d);
        double squared = 0.0;
        for (int64_t j = 0; j < d; j++) {
            const double centred = m->mean[c * d + j] - em->origin[j], square = 0.5 * centred * centred / variance[j];
            squared += square;
            furthest = square > furthest ? square : furthest;
            spheres = spheres && variance[j] == variance[0];
        }
        largest = squared > largest ? squared : largest;
    }
    const int64_t form = spheres && largest * EPSILON <= TOLERATED ? SPHERE
                         : sqrt(furthest) < NEAR                   ? SCALED
                                                                   : DIAGONAL;
    for (int64_t c = 0; c < k; c++) {
        const int64_t own = em->shared ? 0 : c;
        const double *variance = m->covariance + own * d;
        double squared = 0.0;
        for (int64_t j = 0; j < d; j++) {
            const double centred = m->mean[c * d + j] - em->origin[j], factor = sqrt(0.5 / variance[j]);
            double *first = em->linear + j * k + c, *second = em->quadratic + j * k + c;
            if (form == SPHERE)
                *first = centred / variance[j], squared += 0.5 * centred * centred / variance[j];
            else if (form == SCALED)
                *first = centred * factor, *second = factor;
            else
                *first = centred, *second = -(factor * factor);
        }
        if (form == SPHERE) em->quadratic[c] = -0.5 / variance[0];
        em->constant[c] = -0.5 * (d * LOG_2PI + m->log_determinant[own]) - squared + m->log_share[c];
    }
    return form;
}

/* -- the expectation step ------------------------------------------------------------------------------------------ */

/* Put the sums of `mixture_pass` where they belong, about the origin. */
static void NAME(unpack)(const NAME(em) *em, NAME(sums) *s) {
    const int64_t d = em->d, k = em->k, products = em->products;
    for (int64_t c = 0; c < k; c++) {
        const double *from = em->moments + c * products;
        s->count[c] = *from++;
        memcpy(s->center + c * d, em->origin, d * sizeof(double));
        memcpy(s->first + c * d, from, d * sizeof(double));
        from += d;
        if (!em->matrices) memcpy(s->second + c * d, from, d * sizeof(double));
        if (!em->matrices || em->form == TIED) continue;
        double *second = s->second + c * d * d;
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = i; j < d; j++) second[i * d + j] = second[j * d + i] = *from++;
    }
    if (em->form == TIED)
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = i; j < d; j++) s->second[i * d + j] = s->second[j * d + i] = em->half[i * d + j];
}

/* Whether the origin is so far from some component that its variance has lost half its digits. */
static int NAME(lost_digits)(const NAME(em) *em, const NAME(sums) *s) {
    const int64_t d = em->d, k = em->k;
    for (int64_t j = 0; j < d; j++) {
        double between = 0.0;
        for (int64_t c = 0; c < k; c++) {
            const double first = s->first[c * d + j], square = s->count[c] > 0.0 ? first * first / s->count[c] : 0.0;
            between += square;
            if (em->form == TIED) continue;
            const double second = s->second[em->matrices ? (c * d + j) * d + j : c * d + j];
            if (second - square < LOST_DIGITS * second) return 1;
        }
        if (em->form == TIED && s->second[j * (d + 1)] - between < LOST_DIGITS * s->second[j * (d + 1)]) return 1;
    }
    return 0;
}

/* Moments and log-likelihood by `mixture_pass`; 0 where they are not finite, or would lose digits. */
static int NAME(expect_together)(NAME(em) *em, const NAME(model) *m, NAME(sums) *s, double *log_likelihood) {
    const int64_t d = em->d, k = em->k;
    for (int64_t j = 0; j < d; j++) {
        double sum = 0.0;
        for (int64_t c = 0; c < k; c++) sum += m->mean[c * d + j];
        em->origin[j] = sum / k;
    }
    if (!em->matrices) em->form = NAME(column_tables)(em, m);
    else if (!NAME(product_tables)(em, m)) return 0;
    NAME(mixture_pass)(em->x, 0, em->stride, em->n, d, k, em->weight, em->origin, em->form, em->linear,
                       em->form == TIED ? 0 : em->quadratic, em->constant, em->products, em->left, em->right,
                       em->scratch, em->wide, em->tiles, em->tiles_of_all, em->moments, em->half, log_likelihood);
    NAME(unpack)(em, s);
    if (em->form == TIED) { /* the quadratic term that all components share */
        const double *pair = em->quadratic;
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = i; j < d; j++) *log_likelihood += *pair++ * s->second[i * d + j];
    }
    return NAME(finite_values)(log_likelihood, 1) && NAME(finite_values)(s->count, k) && NAME(finite_values)(s->first, k * d) &&
           NAME(finite_values)(s->second, NAME(n_second)(em)) && !NAME(lost_digits)(em, s);
}

/* The moments of rows of which em->share (k×n) says what part belongs to each component, about its mean. */
static void NAME(shared_moments)(const NAME(em) *em, NAME(sums) *s) {
    const int64_t d = em->d, k = em->k, n = em->n;
    memset(s->second, 0, NAME(n_second)(em) * sizeof(double));
    for (int64_t c = 0; c < k; c++) {
        const double *share = em->share + c * n;
        double count = 0.0, *center = s->center + c * d, *first = s->first + c * d, *z = em->vector[0];
        double *second = s->second + (!em->matrices ? c * d : em->structure == EEE ? 0 : c * d * d);
        for (int64_t j = 0; j < d; j++) center[j] = first[j] = 0.0;
        for (int64_t i = 0; i < n; i++) {
            if (share[i] == 0.0) continue;
            count += share[i];
            for (int64_t j = 0; j < d; j++) center[j] += share[i] * em->x[i * em->stride + j];
        }
        for (int64_t j = 0; j < d; j++) center[j] = count > 0.0 ? center[j] / count : 0.0;
        for (int64_t i = 0; i < n; i++) {
            if (share[i] == 0.0) continue;
            for (int64_t j = 0; j < d; j++) {
                z[j] = em->x[i * em->stride + j] - center[j];
                first[j] += share[i] * z[j];
                if (!em->matrices) second[j] += share[i] * z[j] * z[j];
            }
            for (int64_t j = 0; em->matrices && j < d; j++)
                for (int64_t t = 0; t <= j; t++) second[j * d + t] += share[i] * z[j] * z[t];
        }
        s->count[c] = count;
        for (int64_t j = 0; em->matrices && j < d; j++)
            for (int64_t t = 0; t < j; t++) second[t * d + j] = second[j * d + t];
    }
}

/* Moments and log-likelihood with every row taken about each component itself; 0 where they are not finite. */
static int NAME(expect_apart)(const NAME(em) *em, const NAME(model) *m, NAME(sums) *s, double *log_likelihood) {
    const int64_t d = em->d, k = em->k, n = em->n, cells = NAME(cells_of_covariance)(em);
    double *z = em->vector[0], total = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double weight = em->weight ? em->weight[i] : 1.0;
        double largest = -INFINITY, sum = 0.0;
        for (int64_t c = 0; c < k; c++) {
            const int64_t own = em->shared ? 0 : c;
            const double *w = m->whitener + own * cells;
            double squared = 0.0;
            for (int64_t j = 0; j < d; j++) z[j] = em->x[i * em->stride + j] - m->mean[c * d + j];
            for (int64_t r = 0; r < d; r++) {
                double white = em->matrices ? 0.0 : w[r] * z[r];
                for (int64_t j = 0; em->matrices && j <= r; j++) white += w[r * d + j] * z[j];
                squared += white * white;
            }
            const double score = m->log_share[c] - 0.5 * (d * LOG_2PI + m->log_determinant[own] + squared);
            em->share[c * n + i] = score;
            largest = score > largest ? score : largest;
        }
        if (!NAME(finite_values)(&largest, 1)) return 0;
        for (int64_t c = 0; c < k; c++) sum += em->share[c * n + i] = exp(em->share[c * n + i] - largest);
        for (int64_t c = 0; c < k; c++) em->share[c * n + i] *= weight / sum;
        total += weight * (largest + log(sum));
    }
    NAME(shared_moments)(em, s);
    for (int64_t c = 0; c < k; c++) /* a component without rows stays where it is */
        if (!(s->count[c] > 0.0)) memcpy(s->center + c * d, m->mean + c * d, d * sizeof(double));
    *log_likelihood = total;
    return NAME(finite_values)(&total, 1) && NAME(finite_values)(s->count, k) && NAME(finite_values)(s->first, k * d) &&
           NAME(finite_values)(s->second, NAME(n_second)(em));
}

static int NAME(expect)(NAME(em) *em, const NAME(model) *m, NAME(sums) *s, double *log_likelihood) {
    return NAME(expect_together)(em, m, s, log_likelihood) || NAME(expect_apart)(em, m, s, log_likelihood);
}

#include "kernels_leaps.h"

/* -- the loop ------------------------------------------------------------------------------------------------------ */

/* The next part of the workspace, which begins with a cache line; only counted where there is none. */
static double *NAME(part)(double *workspace, int64_t *used, int64_t cells) {
    double *here = workspace ? workspace + *used : 0;
    *used += (cells + 7) / 8 * 8;
    return here;
}

static void NAME(part_model)(const NAME(em) *em, double *workspace, int64_t *used, NAME(model) *m) {
    const int64_t cells = NAME(n_covariances)(em) * NAME(cells_of_covariance)(em);
    m->log_share = NAME(part)(workspace, used, em->k);
    m->mean = NAME(part)(workspace, used, em->k * em->d);
    m->covariance = NAME(part)(workspace, used, cells);
    m->whitener = NAME(part)(workspace, used, cells);
    m->log_determinant = NAME(part)(workspace, used, em->k);
    m->axes = NAME(part)(workspace, used, em->d * em->d);
    m->has_axes = 0;
}

/* Divide the workspace; returns how many doubles it has to have. */
static int64_t NAME(parts)(NAME(em) *em, double *workspace, NAME(model) *models) {
    const int64_t d = em->d, k = em->k, angles = d * (d - 1) / 2;
    int64_t used = 0;
    em->matrices = em->structure >= EEE && em->structure != GIVEN_SPHERE;
    em->shared = em->structure == EII || em->structure == EEI || em->structure == EEE ||
                 em->structure == GIVEN_SPHERE;
    em->form = !em->matrices ? SCALED : em->shared ? TIED : FULL;
    em->products = em->form == FULL ? (d + 1) * (d + 2) / 2 : em->form == TIED ? d + 1 : 2 * d + 1;
    for (int i = 0; i < 3; i++) NAME(part_model)(em, workspace, &used, models + i);
    em->left = (int64_t *)NAME(part)(workspace, &used, em->products + SPARE);
    em->right = (int64_t *)NAME(part)(workspace, &used, em->products + SPARE);
    em->origin = NAME(part)(workspace, &used, d);
    em->linear = NAME(part)(workspace, &used, d * k);
    em->quadratic = NAME(part)(workspace, &used, (em->matrices ? d * (d + 1) / 2 : d) * k);
    em->constant = NAME(part)(workspace, &used, k);
    em->scratch = NAME(part)(workspace, &used, (2 * d + k + 1) * STEP);
    em->wide = NAME(part)(workspace, &used, 2 * LANES * d);
    em->tiles = NAME(part)(workspace, &used, ROOM(k, em->products));
    em->tiles_of_all = NAME(part)(workspace, &used, ROOM(d, d));
    em->moments = NAME(part)(workspace, &used, k * em->products);
    em->half = NAME(part)(workspace, &used, d * d);
    em->scatter = NAME(part)(workspace, &used, NAME(n_second)(em));
    for (int i = 0; i < 4; i++) em->matrix[i] = NAME(part)(workspace, &used, d * d);
    for (int i = 0; i < 2; i++) em->vector[i] = NAME(part)(workspace, &used, d);
    em->ridged = NAME(part)(workspace, &used, k * NAME(cells_of_covariance)(em));
    em->rows = NAME(part)(workspace, &used, k);
    em->along = NAME(part)(workspace, &used, k * d);
    em->variance = NAME(part)(workspace, &used, k * d);
    em->shares_of_columns = NAME(part)(workspace, &used, k * d);
    em->white = NAME(part)(workspace, &used, k * NAME(cells_of_covariance)(em));
    em->whitened = NAME(part)(workspace, &used, k * NAME(cells_of_covariance)(em));
    for (int i = 0; i < 5; i++) em->newton[i] = NAME(part)(workspace, &used, k);
    for (int i = 0; i < 2; i++) em->hessian[i] = NAME(part)(workspace, &used, k * k);
    em->regular = NAME(part)(workspace, &used, k * k);
    for (int i = 0; i < 2; i++) {
        em->points[i].axes = NAME(part)(workspace, &used, d * d);
        em->points[i].gradient = NAME(part)(workspace, &used, angles);
        em->points[i].curvature = NAME(part)(workspace, &used, angles);
    }
    em->steps = NAME(part)(workspace, &used, MEMORY * angles);
    em->changes = NAME(part)(workspace, &used, MEMORY * angles);
    em->angles = NAME(part)(workspace, &used, 2 * angles);
    em->share = NAME(part)(workspace, &used, k * em->n);
    em->leaps = (NAME(leaps) *)NAME(part)(workspace, &used, sizeof(NAME(leaps)) / sizeof(double));
    for (int i = 0; i < 4; i++) {
        NAME(sums) *const sums = i < 3 ? em->last + i : &em->others;
        sums->count = NAME(part)(workspace, &used, k);
        sums->center = NAME(part)(workspace, &used, k * d);
        sums->first = NAME(part)(workspace, &used, k * d);
        sums->second = NAME(part)(workspace, &used, NAME(n_second)(em));
    }
    return used;
}

/* The products of two columns that are summed for each component; column 0 is all ones. */
static void NAME(pair_columns)(const NAME(em) *em) {
    int64_t p = 0;
    for (int64_t j = 0; j <= em->d; j++, p++) em->left[p] = 0, em->right[p] = j;
    for (int64_t i = 1; i <= em->d && em->form != TIED; i++)
        for (int64_t j = i; j <= (em->form == FULL ? em->d : i); j++, p++) em->left[p] = i, em->right[p] = j;
    for (int64_t fill = 0; fill < SPARE; fill++) em->left[p + fill] = em->right[p + fill] = 0;
}

/* Whether some column has one value only, but for rounding. Such a column says nothing, which only Python knows. */
static int NAME(has_constant_column)(const NAME(em) *em) {
    for (int64_t j = 0; j < em->d; j++) {
        double total = 0.0, mean = 0.0, square = 0.0;
        for (int64_t i = 0; i < em->n; i++) {
            const double weight = em->weight ? em->weight[i] : 1.0;
            total += weight;
            mean += weight * em->x[i * em->stride + j];
        }
        mean /= total;
        for (int64_t i = 0; i < em->n; i++) {
            const double z = em->x[i * em->stride + j] - mean;
            square += (em->weight ? em->weight[i] : 1.0) * z * z;
        }
        const double rounding = 64.0 * EPSILON * mean;
        if (!(square / total > rounding * rounding && square / total > 1e-280)) return 1;
    }
    return 0;
}

static void NAME(copy_model)(const NAME(em) *em, const NAME(model) *from, double *log_share, double *mean,
                             double *covariance) {
    const int64_t cells = NAME(n_covariances)(em) * NAME(cells_of_covariance)(em);
    memcpy(log_share, from->log_share, em->k * sizeof(double));
    memcpy(mean, from->mean, em->k * em->d * sizeof(double));
    memcpy(covariance, from->covariance, cells * sizeof(double));
}

/* How many doubles the workspace of `em_loop` has to have. */
EXPORT int64_t NAME(em_room)(int64_t n, int64_t d, int64_t k, int64_t structure) {
    NAME(em) em = {.n = n, .d = d, .k = k, .structure = structure};
    NAME(model) models[3];
    return NAME(parts)(&em, 0, models);
}

/* Up to `rounds` iterations of EM over n rows of d columns without missing values.
 *
 * They begin with a model in log_share (k,), mean (k, d) and covariance where `begin` is 0; with its maximisation by
 * `labels` where it is 1, or by `shares` (n×k, with the weights in them) where it is 2. The model at the end, the
 * moments that it was estimated from and the bound of each iteration are written where they belong; bounds has room for
 * one more, the log-likelihood of the model at the end, where `rate` asks for it. `done` is how many iterations there
 * were; the workspace has `size` doubles, and holds what extrapolation steps remember from call to call. Returns how it
 * ended: where that is NO_ESTIMATE, the moments have none and the model is the one before; where it is NOT_FINITE, the
 * moments of the model could not be taken. */
EXPORT int64_t NAME(em_loop)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *weight,
                             int64_t structure, const double *settings, const double *belief, int64_t begin,
                             const int64_t *labels, const double *shares, int64_t rounds, int64_t rate,
                             double *log_share, double *mean, double *covariance, double *count, double *center,
                             double *first, double *second, double *bounds, int64_t *done, int64_t size,
                             double *workspace) {
    NAME(em) em = {.x = x, .weight = weight, .belief = belief, .stride = stride, .n = n, .d = d, .k = k};
    NAME(model) models[3], *now = models, *next = models + 1, *const leap = models + 2;
    NAME(sums) sums = {count, center, first, second};
    double before = settings[BOUND_BEFORE], log_likelihood = 0.0;
    int64_t ended = EM_CONTINUES;
    em.structure = structure;
    em.strength = settings[STRENGTH];
    em.given = settings[GIVEN_VARIANCE];
    em.equal = settings[EQUAL_SHARES] != 0.0;
    em.ridge = settings[RIDGE];
    em.least = settings[LEAST];
    if (NAME(em_room)(n, d, k, structure) > size || (em.strength > 0.0 && !belief)) return OUT_OF_RANGE;
    NAME(parts)(&em, workspace, models);
    NAME(pair_columns)(&em);
    *done = 0;
    if (em.strength > 0.0 && NAME(has_constant_column)(&em)) return EM_CONSTANT;
    if (begin == BEGIN_AT_MODEL) {
        memcpy(now->log_share, log_share, k * sizeof(double));
        memcpy(now->mean, mean, k * d * sizeof(double));
        memcpy(now->covariance, covariance, NAME(n_covariances)(&em) * NAME(cells_of_covariance)(&em) * sizeof(double));
        if (!NAME(factorise)(&em, now)) return EM_NO_ESTIMATE;
    } else {
        for (int64_t c = 0; c < k; c++)
            for (int64_t i = 0; i < n; i++)
                em.share[c * n + i] = begin == BEGIN_WITH_SHARES ? shares[i * k + c]
                                      : labels[i] != c           ? 0.0
                                      : weight                   ? weight[i]
                                                                 : 1.0;
        NAME(shared_moments)(&em, &sums);
        if (!NAME(improve)(&em, &sums, 0, now) || !NAME(factorise)(&em, now)) return EM_NO_ESTIMATE;
    }
    NAME(begin_leaps)(em.leaps, settings[ACCELERATE]);
    while (*done < rounds && ended == EM_CONTINUES) {
        const NAME(model) *const tried = em.leaps->pending != 0.0 ? leap : now;
        NAME(sums) *const taken = tried == leap ? &em.others : &sums;
        const int finite = NAME(expect)(&em, tried, taken, &log_likelihood);
        const double bound = log_likelihood + NAME(log_prior)(&em, tried) + settings[OFFSET], change = bound - before;
        if (tried == leap && !(finite && change >= 0.0)) {
            NAME(take_back)(&em);
            em.leaps->pending = 0.0;
            bounds[(*done)++] = before;
            continue;
        }
        if (!finite) {
            ended = EM_NOT_FINITE;
            break;
        }
        bounds[(*done)++] = before = bound;
        if (tried == leap) NAME(copy_sums)(&em, taken, &sums);
        if (!NAME(improve)(&em, &sums, tried, next) || !NAME(factorise)(&em, next)) {
            if (tried == leap) now = leap;
            ended = EM_NO_ESTIMATE;
            break;
        }
        NAME(model) *const swapped = now;
        now = next, next = swapped;
        double rows = 0.0; /* where they weigh less than one together, so does what the bound may still rise by */
        for (int64_t c = 0; c < k; c++) rows += count[c];
        const int stays = settings[ABSOLUTE] != 0.0 ? fabs(change) < settings[TOL]
                                                    : change <= settings[TOL] * (fmin(1.0, rows) + fabs(bound));
        if (stays && tried != leap) ended = EM_CONVERGED;
        if (settings[ACCELERATE] != 0.0) em.leaps->pending = NAME(leap_after)(&em, &sums, bound, now, leap);
    }
    NAME(copy_model)(&em, now, log_share, mean, covariance);
    if (rate && !NAME(expect)(&em, now, &em.others, bounds + *done)) bounds[*done] = NAN;
    return ended;
}
/* A start of `em_race`: its parameters and moments in the order of `em_loop`, the bounds of its iterations, and how they
 * ended. */
typedef struct {
    double *log_share, *mean, *covariance, *count, *center, *first, *second, *bounds;
    int64_t made, ended, went_on;
} NAME(start);

static int NAME(able)(const NAME(start) *s) { return s->ended == EM_CONTINUES || s->ended == EM_CONVERGED; }
static double NAME(height)(const NAME(start) *s) { return NAME(able)(s) ? s->bounds[s->made - 1] : -INFINITY; }

/* Whether two starts have almost stopped rising, at almost the same bound. */
static int NAME(agree)(const NAME(start) *a, const NAME(start) *b) {
    if (!NAME(able)(a) || !NAME(able)(b) || a->made < 2 || b->made < 2) return 0;
    const double near = ALIKE * (1.0 + fabs(NAME(height)(a)));
    return fabs(NAME(height)(a) - NAME(height)(b)) <= near && NAME(height)(a) - a->bounds[a->made - 2] <= near &&
           NAME(height)(b) - b->bounds[b->made - 2] <= near;
}

/* The best of up to MOST_STARTS starts, each given by the labels of its rows (starts×n). All of them make `rounds`
 * iterations, and the `kept` best of them `more`; where a start agrees with an earlier one it is taken at once. The model,
 * its moments and its bounds are written as by `em_loop`, and how it ended to `ended`. Returns 1 where some start has an
 * estimate. `sets` has room for the parameters and moments of every start, `rises` for its bounds and one more. */
EXPORT int64_t NAME(em_race)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *weight,
                             int64_t structure, const double *settings, const double *belief, int64_t starts,
                             const int64_t *labels, int64_t rounds, int64_t more, int64_t kept, double *sets,
                             double *rises, double *log_share, double *mean, double *covariance, double *count,
                             double *center, double *first, double *second, double *bounds, int64_t *done,
                             int64_t *ended, int64_t size, double *workspace) {
    NAME(em) em = {.n = n, .d = d, .k = k, .structure = structure};
    NAME(model) models[3];
    if (starts > MOST_STARTS || NAME(parts)(&em, 0, models) > size) return OUT_OF_RANGE;
    const int64_t cells = NAME(n_covariances)(&em) * NAME(cells_of_covariance)(&em), moments = NAME(n_second)(&em);
    NAME(start) all_starts[MOST_STARTS], *best = 0, *s;
    double own[N_SETTINGS];
    int64_t tried = 0, made = 0;
    memcpy(own, settings, sizeof own);
    for (; tried < starts && !best; tried++) {
        double *set = sets + tried * (2 * k + 3 * k * d + cells + moments);
        s = all_starts + tried;
        s->log_share = set, s->mean = set + k, s->covariance = s->mean + k * d, s->count = s->covariance + cells;
        s->center = s->count + k, s->first = s->center + k * d, s->second = s->first + k * d;
        s->bounds = rises + tried * (rounds + more + 1), s->went_on = 0;
        own[BOUND_BEFORE] = -INFINITY;
        s->ended = NAME(em_loop)(x, stride, n, d, k, weight, structure, own, belief, BEGIN_WITH_LABELS,
                                 labels + tried * n, 0, rounds, 0, s->log_share, s->mean, s->covariance, s->count,
                                 s->center, s->first, s->second, s->bounds, &s->made, size, workspace);
        if (s->ended == OUT_OF_RANGE) return OUT_OF_RANGE;
        for (int64_t other = 0; other < tried; other++)
            if (NAME(agree)(s, all_starts + other)) best = s;
    }
    for (int64_t place = 0; place < kept && !best && more > 0; place++) {
        NAME(start) *next = 0;
        for (s = all_starts; s < all_starts + tried; s++)
            if (NAME(able)(s) && !s->went_on && (!next || NAME(height)(s) > NAME(height)(next))) next = s;
        if (!next) break;
        next->went_on = 1;
        if (next->ended != EM_CONTINUES) continue;
        own[BOUND_BEFORE] = NAME(height)(next);
        next->ended = NAME(em_loop)(x, stride, n, d, k, weight, structure, own, belief, BEGIN_AT_MODEL, 0, 0, more, 0,
                                    next->log_share, next->mean, next->covariance, next->count, next->center,
                                    next->first, next->second, next->bounds + next->made, &made, size, workspace);
        next->made += made;
    }
    const int agreed = best != 0;
    for (s = all_starts; s < all_starts + tried && !agreed; s++)
        if (NAME(able)(s) && (!best || NAME(height)(s) > NAME(height)(best))) best = s;
    if (!best) return 0;
    memcpy(log_share, best->log_share, k * sizeof(double));
    memcpy(mean, best->mean, k * d * sizeof(double));
    memcpy(covariance, best->covariance, cells * sizeof(double));
    memcpy(count, best->count, k * sizeof(double));
    memcpy(center, best->center, k * d * sizeof(double));
    memcpy(first, best->first, k * d * sizeof(double));
    memcpy(second, best->second, moments * sizeof(double));
    memcpy(bounds, best->bounds, best->made * sizeof(double));
    *done = best->made, *ended = best->ended;
    return 1;
}
#undef LOG_2PI
#undef EPSILON
#undef TOLERATED
#undef SMALLEST_PIVOT
#undef LOST_DIGITS
#undef NEAR
#undef ALIKE
#undef SMALLEST_NUMBER
#undef MEMORY
