/* The volumes of components that share a shape, or that share the volume itself. NumPy fallback: the functions of the
 * same names in suffice.families.gaussian.covariance.volumes, and minimise in covariance.convex.
 *
 * With the best shape for given volumes λ_c, the function that remains to be minimised is convex in x_c = −log λ_c,
 * and does not change if one number is added to all of them. */
#include "em.h"
#include "matrices.h"

/* A function of k variables: returns its value, which may be ∞, with its gradient (k) and Hessian (k×k) at x. */
typedef double expansion(const em_run *em, const double *x, double *gradient, double *hessian);

/* step = −H⁻¹g, with H made regular along (1, …, 1), where nothing changes; returns 0 if there is none. */
static int newton_step(const em_run *em, const double *gradient, const double *hessian, double *step) {
    const int64_t k = em->k;
    double size = 0.0, mean = 0.0, longest = 1e-300;
    for (int64_t c = 0; c < k; c++) size += hessian[c * (k + 1)] / k;
    size = size > SMALLEST_NUMBER ? size : SMALLEST_NUMBER;
    for (int64_t c = 0; c < k; c++) {
        for (int64_t e = 0; e < k; e++) em->regular[c * k + e] = hessian[c * k + e] + size / k;
        em->regular[c * (k + 1)] += 1e-13 * size;
        step[c] = -gradient[c];
    }
    if (!solve(em->regular, k, step, 1)) return 0;
    for (int64_t c = 0; c < k; c++) mean += step[c] / k;
    for (int64_t c = 0; c < k; c++) {
        step[c] -= mean;
        longest = fabs(step[c]) > longest ? fabs(step[c]) : longest;
    }
    for (int64_t c = 0; longest > 4.0 && c < k; c++) step[c] *= 4.0 / longest; /* no volume changes more in one step */
    return finite_values(step, k);
}

/* Minimise a convex function by Newton's method with backtracking, from x, which becomes the minimum. */
static void minimise(const em_run *em, expansion *expand, double *x, double weight) {
    const int64_t k = em->k;
    double *gradient = em->newton[0], *next_gradient = em->newton[1], *step = em->newton[2], *tried = em->newton[3];
    double *hessian = em->hessian[0], *next_hessian = em->hessian[1], *swapped;
    double value = expand(em, x, gradient, hessian), next;
    for (int iteration = 0, blind = 0; iteration < 100; iteration++) {
        double promised = 0.0, share = 1.0;
        if (!newton_step(em, gradient, hessian, step)) return;
        for (int64_t c = 0; c < k; c++) promised -= gradient[c] * step[c];
        if (!(promised > 0.0)) return;
        for (;; share *= 0.5) {
            if (share < 1e-9) return;
            for (int64_t c = 0; c < k; c++) tried[c] = x[c] + share * step[c];
            next = expand(em, tried, next_gradient, next_hessian);
            if (next <= value - 1e-4 * share * promised + 1e-14 * (fabs(value) + weight)) break;
        }
        memcpy(x, tried, k * sizeof(double));
        value = next;
        swapped = gradient, gradient = next_gradient, next_gradient = swapped;
        swapped = hessian, hessian = next_hessian, next_hessian = swapped;
        blind += promised <= EPSILON * (fabs(value) + weight); /* steps whose gain is below the rounding of the value */
        if (promised <= 1e-17 * weight || blind == 3) return;
    }
}

/* Return the largest of n values. */
double largest_of(const double *values, int64_t n) {
    double most = values[0];
    for (int64_t i = 1; i < n; i++) most = values[i] > most ? values[i] : most;
    return most;
}

/* Return n Σ_j log Σ_c exp(x_c) s_cj − d Σ_c n_c x_c, with s in em->along (k×d), n_c in em->rows and n = Σ_c n_c. */
static double expand_shape(const em_run *em, const double *x, double *gradient, double *hessian) {
    const int64_t k = em->k, d = em->d;
    const double top = largest_of(x, k);
    double *share = em->shares_of_columns, value = 0.0, rows = 0.0;
    for (int64_t c = 0; c < k; c++) {
        const double factor = exp(x[c] - top);
        for (int64_t j = 0; j < d; j++) share[c * d + j] = factor * em->along[c * d + j];
        rows += em->rows[c];
        value -= d * em->rows[c] * x[c];
    }
    for (int64_t j = 0; j < d; j++) {
        double total = 0.0;
        for (int64_t c = 0; c < k; c++) total += share[c * d + j];
        for (int64_t c = 0; c < k; c++) share[c * d + j] /= total;
        value += rows * (log(total) + top);
    }
    for (int64_t c = 0; c < k; c++) {
        double sum = 0.0;
        for (int64_t j = 0; j < d; j++) sum += share[c * d + j];
        gradient[c] = rows * sum - d * em->rows[c];
        for (int64_t e = 0; e <= c; e++) {
            double both = 0.0;
            for (int64_t j = 0; j < d; j++) both += share[c * d + j] * share[e * d + j];
            hessian[c * k + e] = hessian[e * k + c] = -rows * both;
        }
        hessian[c * (k + 1)] += rows * sum;
    }
    return value;
}

/* x = −log λ of a model, up to a number that is the same for all components. */
static void begin_volumes(const em_run *em, const double *log_determinants, double *x) {
    for (int64_t c = 0; c < em->k; c++) x[c] = -log_determinants[c] / em->d;
}

/* variance = λ_c b_j (k×d), of largest likelihood for the scatters em->along (k×d), starting from the volumes of
 * `before`, if there is one; returns 0 if some variance is 0. */
int shared_shape(const em_run *em, const em_model *before, double *variance) {
    const int64_t k = em->k, d = em->d;
    double *x = em->newton[4], *sum = em->vector[0], rows = 0.0, mean = 0.0;
    for (int64_t j = 0; j < d; j++) {
        sum[j] = 0.0;
        for (int64_t c = 0; c < k; c++) sum[j] += em->along[c * d + j];
        if (!(sum[j] > 0.0)) return 0;
    }
    for (int64_t c = 0; c < k; c++) {
        double share = 0.0;
        for (int64_t j = 0; j < d; j++) share += em->along[c * d + j] / sum[j];
        if (!(share > 0.0)) return 0;
        x[c] = -log(share / (d * em->rows[c]));
        rows += em->rows[c];
    }
    if (before) begin_volumes(em, before->log_determinant, x);
    minimise(em, expand_shape, x, rows * d);
    for (int64_t c = 0; c < k; c++) mean += x[c] / k;
    for (int64_t j = 0; j < d; j++) {
        double shape = 0.0;
        for (int64_t c = 0; c < k; c++) shape += exp(x[c] - mean) * em->along[c * d + j];
        for (int64_t c = 0; c < k; c++) variance[c * d + j] = exp(mean - x[c]) * shape / rows;
    }
    return 1;
}

/* Return n log|Σ_c exp(x_c) W_c| − d Σ_c n_c x_c, with W in em->white (k×d×d), n_c in em->rows and n = Σ_c n_c. */
static double expand_matrix(const em_run *em, const double *x, double *gradient, double *hessian) {
    const int64_t k = em->k, d = em->d, cells = d * d;
    const double top = largest_of(x, k);
    double *total = em->matrix[0], *inverse = em->matrix[1], *half = em->matrix[2], value = 0.0, rows = 0.0;
    memset(total, 0, cells * sizeof(double));
    for (int64_t c = 0; c < k; c++) {
        const double factor = exp(x[c] - top);
        for (int64_t i = 0; i < cells; i++) total[i] += factor * em->white[c * cells + i];
        rows += em->rows[c];
        value -= d * em->rows[c] * x[c];
    }
    if (!(cholesky(total, d, total) > 0.0)) return INFINITY;
    value += rows * (2.0 * half_log_determinant(total, d) + d * top);
    invert_lower(total, d, inverse);
    for (int64_t c = 0; c < k; c++) { /* T⁻¹ exp(x_c) W_c, up to a similarity that makes it symmetric */
        const double factor = exp(x[c] - top);
        double *share = em->whitened + c * cells, trace = 0.0;
        whiten(inverse, em->white + c * cells, d, half, share);
        for (int64_t i = 0; i < cells; i++) share[i] *= factor;
        for (int64_t j = 0; j < d; j++) trace += share[j * (d + 1)];
        gradient[c] = rows * trace - d * em->rows[c];
        for (int64_t e = 0; e <= c; e++) {
            double both = 0.0;
            for (int64_t i = 0; i < cells; i++) both += share[i] * em->whitened[e * cells + i];
            hessian[c * k + e] = hessian[e * k + c] = -rows * both;
        }
        hessian[c * (k + 1)] += rows * trace;
    }
    return value;
}

/* covariance = λ_c C (k×d×d), of largest likelihood for scatters (k×d×d), starting from the volumes of `before`, if
 * there is one; returns 0 if the sum of the scatters, or one of them, has no volume. */
int shared_matrix(const em_run *em, const double *scatter, const em_model *before, double *covariance) {
    const int64_t k = em->k, d = em->d, cells = d * d;
    double *lower = em->matrix[0], *inverse = em->matrix[1], *half = em->matrix[2], *x = em->newton[4];
    double rows = 0.0, mean = 0.0;
    memset(lower, 0, cells * sizeof(double));
    for (int64_t c = 0; c < k; c++)
        for (int64_t i = 0; i < cells; i++) lower[i] += scatter[c * cells + i];
    if (!(cholesky(lower, d, lower) > 0.0)) return 0;
    invert_lower(lower, d, inverse);
    for (int64_t c = 0; c < k; c++) { /* in units in which the sum is the identity */
        double *white = em->white + c * cells, trace = 0.0;
        whiten(inverse, scatter + c * cells, d, half, white);
        for (int64_t j = 0; j < d; j++) trace += white[j * (d + 1)];
        if (!(trace > 0.0)) return 0;
        x[c] = -log(trace / (d * em->rows[c]));
        rows += em->rows[c];
    }
    if (before) begin_volumes(em, before->log_determinant, x);
    minimise(em, expand_matrix, x, rows * d);
    for (int64_t c = 0; c < k; c++) mean += x[c] / k;
    double *common = em->matrix[3];
    memset(common, 0, cells * sizeof(double));
    for (int64_t c = 0; c < k; c++)
        for (int64_t i = 0; i < cells; i++) common[i] += exp(x[c] - mean) * scatter[c * cells + i] / rows;
    for (int64_t c = 0; c < k; c++)
        for (int64_t i = 0; i < cells; i++) covariance[c * cells + i] = exp(mean - x[c]) * common[i];
    return 1;
}

/* scale[c] = λ / v_c for scatters of log-volumes log v_c: λ = Σ v_c / n is the volume that all components get. */
static void equal_scales(const em_run *em, const double *log_volume, double *scale) {
    const double top = largest_of(log_volume, em->k);
    double sum = 0.0, rows = 0.0;
    for (int64_t c = 0; c < em->k; c++) sum += exp(log_volume[c] - top), rows += em->rows[c];
    for (int64_t c = 0; c < em->k; c++) scale[c] = exp(top - log_volume[c]) * sum / rows;
}

/* variance (k×d), of largest likelihood for the scatters em->along (k×d), whose product over the columns is the same
 * for all components; returns 0 if a scatter is 0. */
int equal_volume(const em_run *em, double *variance) {
    const int64_t k = em->k, d = em->d;
    double *log_volume = em->newton[0], *scale = em->newton[1];
    for (int64_t c = 0; c < k; c++) {
        log_volume[c] = 0.0;
        for (int64_t j = 0; j < d; j++) {
            if (!(em->along[c * d + j] > 0.0)) return 0;
            log_volume[c] += log(em->along[c * d + j]) / d;
        }
    }
    equal_scales(em, log_volume, scale);
    for (int64_t c = 0; c < k; c++)
        for (int64_t j = 0; j < d; j++) variance[c * d + j] = em->along[c * d + j] * scale[c];
    return 1;
}

/* covariance (k×d×d), of largest likelihood for scatters (k×d×d), with the same determinant for all components;
 * returns 0 if a scatter is singular. */
int equal_determinant(const em_run *em, const double *scatter, double *covariance) {
    const int64_t k = em->k, d = em->d, cells = d * d;
    double *log_volume = em->newton[0], *scale = em->newton[1];
    for (int64_t c = 0; c < k; c++) {
        if (!(cholesky(scatter + c * cells, d, em->matrix[0]) > 0.0)) return 0;
        log_volume[c] = 2.0 * half_log_determinant(em->matrix[0], d) / d;
    }
    equal_scales(em, log_volume, scale);
    for (int64_t c = 0; c < k; c++)
        for (int64_t i = 0; i < cells; i++) covariance[c * cells + i] = scatter[c * cells + i] * scale[c];
    return 1;
}
