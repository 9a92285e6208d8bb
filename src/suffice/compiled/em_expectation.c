/* The E-step of `em_loop`: the log-densities of a model, and the expected moments of the rows. NumPy fallback: expect
 * in suffice.models.joint. */
#include "em.h"
#include "matrices.h"
#include "mixture.h"

/* -- the log-densities of a model ---------------------------------------------------------------------------------- */

/* Factorise the covariances; returns 0 if one is singular or not positive. */
int factorise(const em_run *em, em_model *m) {
    const int64_t d = em->d, cells = cells_of_covariance(em);
    for (int64_t c = 0; c < n_covariances(em); c++) {
        const double *covariance = m->covariance + c * cells;
        double *whitener = m->whitener + c * cells, *scale = em->vector[0], sum = 0.0;
        for (int64_t j = 0; j < d; j++) {
            const double variance = covariance[em->matrices ? j * (d + 1) : j];
            if (!(variance > 0.0 && variance < LARGEST_NUMBER)) return 0;
            scale[j] = sqrt(variance);
            sum += log(variance);
        }
        if (em->matrices) {
            double *lower = em->matrix[0];
            for (int64_t i = 0; i < d; i++)
                for (int64_t j = 0; j < d; j++) lower[i * d + j] = covariance[i * d + j] / (scale[i] * scale[j]);
            if (!(cholesky(lower, d, lower) >= SMALLEST_PIVOT)) return 0;
            sum += 2.0 * half_log_determinant(lower, d);
            invert_lower(lower, d, whitener);
            for (int64_t i = 0; i < d; i++)
                for (int64_t j = 0; j <= i; j++) whitener[i * d + j] /= scale[j];
        } else {
            for (int64_t j = 0; j < d; j++) whitener[j] = 1.0 / scale[j];
        }
        m->log_determinant[c] = sum;
    }
    return 1;
}

/* Return the log-density of the prior, Σ −½ a log|Σ| − ½ tr(Σ⁻¹ aV) over the covariances; a: strength, V: belief. */
double log_prior(const em_run *em, const em_model *m) {
    const int64_t d = em->d, cells = cells_of_covariance(em);
    double sum = 0.0;
    if (em->strength == 0.0 || em->structure == GIVEN_SPHERE) return 0.0;
    for (int64_t c = 0; c < n_covariances(em); c++) {
        sum += m->log_determinant[c];
        if (em->matrices) {
            sum += whitened_trace(m->whitener + c * cells, em->belief, d, em->matrix[0]);
        } else {
            for (int64_t j = 0; j < d; j++) sum += em->belief[j] / m->covariance[c * cells + j];
        }
    }
    return -0.5 * em->strength * sum;
}

/* linear (d×k), quadratic (p×k) and constant (k) of log π_c + log N(x; μ_c, Σ_c) in the product form, constant_c +
 * z·linear_c + Σ_{i≤j} z_i z_j quadratic_cij with z = x − origin. Returns 0 if its terms would cancel. */
static int product_tables(const em_run *em, const em_model *m) {
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
            lower_squared(w, d, precision);
            for (int64_t i = 0; i < d; i++)
                for (int64_t j = i; j < d; j++, pair += step) *pair = (i == j ? -0.5 : -1.0) * precision[i * d + j];
        }
        em->constant[c] = -0.5 * (d * LOG_2PI + m->log_determinant[own] + squared) + m->log_share[c];
        squared *= em->shared ? 0.5 : 1.0;
        largest = squared > largest ? squared : largest;
    }
    return largest * EPSILON <= TOLERATED_ERROR;
}

/* The same for independent columns, in the form that is returned, which DiagonalForm.mixture_pass
 * (suffice.families.gaussian.diagonal_form) chooses by the same rule. */
static int64_t column_tables(const em_run *em, const em_model *m) {
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
    const int64_t form = spheres && largest * EPSILON <= TOLERATED_ERROR ? SPHERE
                         : sqrt(furthest) < MAX_SCALED_MEAN              ? SCALED
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

/* Copy the sums of `mixture_pass` to the moments about the origin. */
static void unpack(const em_run *em, em_sums *s) {
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

/* Return whether the origin is so far from some component that its variance has lost half its digits. */
static int lost_digits(const em_run *em, const em_sums *s) {
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

/* Moments and log-likelihood by `mixture_pass`, about the average of the means; returns 0 if they are not finite or
 * would lose digits. */
static int expect_about_origin(em_run *em, const em_model *m, em_sums *s, double *log_likelihood) {
    const int64_t d = em->d, k = em->k;
    for (int64_t j = 0; j < d; j++) {
        double sum = 0.0;
        for (int64_t c = 0; c < k; c++) sum += m->mean[c * d + j];
        em->origin[j] = sum / k;
    }
    if (!em->matrices)
        em->form = column_tables(em, m);
    else if (!product_tables(em, m))
        return 0;
    NAME(mixture_pass)(em->x, 0, em->stride, em->n, d, k, em->weight, em->origin, em->form, em->linear,
                       em->form == TIED ? 0 : em->quadratic, em->constant, em->products, em->left, em->right,
                       em->scratch, em->wide, em->tiles, em->tiles_of_all, em->moments, em->half, log_likelihood);
    unpack(em, s);
    if (em->form == TIED) { /* the quadratic term that all components share */
        const double *pair = em->quadratic;
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = i; j < d; j++) *log_likelihood += *pair++ * s->second[i * d + j];
    }
    return finite_values(log_likelihood, 1) && finite_values(s->count, k) && finite_values(s->first, k * d) &&
           finite_values(s->second, n_second(em)) && !lost_digits(em, s);
}

/* The moments of each component about its mean, under the responsibilities em->share (k×n). */
void moments_of_shares(const em_run *em, em_sums *s) {
    const int64_t d = em->d, k = em->k, n = em->n;
    memset(s->second, 0, n_second(em) * sizeof(double));
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

/* Moments and log-likelihood, with rows taken about the mean of each component; returns 0 if they are not finite. */
static int expect_about_means(const em_run *em, const em_model *m, em_sums *s, double *log_likelihood) {
    const int64_t d = em->d, k = em->k, n = em->n, cells = cells_of_covariance(em);
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
        if (!finite_values(&largest, 1)) return 0;
        for (int64_t c = 0; c < k; c++) sum += em->share[c * n + i] = exp(em->share[c * n + i] - largest);
        for (int64_t c = 0; c < k; c++) em->share[c * n + i] *= weight / sum;
        total += weight * (largest + log(sum));
    }
    moments_of_shares(em, s);
    for (int64_t c = 0; c < k; c++) /* a component without rows keeps its mean */
        if (!(s->count[c] > 0.0)) memcpy(s->center + c * d, m->mean + c * d, d * sizeof(double));
    *log_likelihood = total;
    return finite_values(&total, 1) && finite_values(s->count, k) && finite_values(s->first, k * d) &&
           finite_values(s->second, n_second(em));
}

/* Moments and log-likelihood of the rows under a model; returns 0 if they are not finite. */
int expect(em_run *em, const em_model *m, em_sums *s, double *log_likelihood) {
    return expect_about_origin(em, m, s, log_likelihood) || expect_about_means(em, m, s, log_likelihood);
}
