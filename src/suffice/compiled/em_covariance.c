/* The M-step of `em_loop`: means and covariances from the moments, as suffice.families.gaussian.covariance estimates
 * them (NumPy fallback). */
#include "em.h"
#include "matrices.h"

/* em->scatter = Σ r (x − mean)(x − mean)ᵀ = second − first firstᵀ / count, in the layout of the second moments. */
static void scatters(const em_run *em, const em_sums *s) {
    const int64_t d = em->d, k = em->k;
    memcpy(em->scatter, s->second, n_second(em) * sizeof(double));
    for (int64_t c = 0; c < k; c++) {
        const double *first = s->first + c * d;
        double *scatter = em->scatter + (!em->matrices ? c * d : em->structure == EEE ? 0 : c * d * d);
        if (!(s->count[c] > 0.0)) continue;
        for (int64_t i = 0; i < d; i++) {
            const double mean = first[i] / s->count[c];
            if (em->matrices) {
                for (int64_t j = 0; j < d; j++) scatter[i * d + j] -= mean * first[j];
            } else {
                scatter[i] -= mean * first[i];
                scatter[i] = scatter[i] > 0.0 ? scatter[i] : 0.0;
            }
        }
    }
}

/* covariance = (aV + S) / (a + n) of matrices, with a ridge that keeps correlations a little below 1 if there is a
 * prior. */
static void averaged_matrix(const em_run *em, const double *scatter, double count, double *covariance) {
    const int64_t d = em->d;
    const double a = em->strength, rows = a + count;
    for (int64_t i = 0; i < d * d; i++)
        covariance[i] = rows > 0.0 ? ((a > 0.0 ? a * em->belief[i] : 0.0) + scatter[i]) / rows : 0.0;
    for (int64_t j = 0; a > 0.0 && j < d; j++) covariance[j * (d + 1)] *= 1.0 + LEAST_RIDGE;
}

/* The covariances that are averages of scatters, or given: EII, VII, EEI, VVI, EEE, VVV and GIVEN_SPHERE. In Python:
 * suffice.families.gaussian.covariance.structure and fixed_sphere. */
static void averages(const em_run *em, const em_sums *s, double *covariance) {
    const int64_t d = em->d, k = em->k;
    const double a = em->strength;
    double total = 0.0, believed = 0.0, sum_of_all = 0.0;
    for (int64_t c = 0; c < k; c++) total += s->count[c];
    for (int64_t j = 0; a > 0.0 && !em->matrices && j < d; j++) believed += em->belief[j];
    switch (em->structure) {
        case GIVEN_SPHERE:
            for (int64_t j = 0; j < d; j++) covariance[j] = em->given;
            return;
        case EEE: averaged_matrix(em, em->scatter, total, covariance); return;
        case VVV:
            for (int64_t c = 0; c < k; c++)
                averaged_matrix(em, em->scatter + c * d * d, s->count[c], covariance + c * d * d);
            return;
        case EEI:
            for (int64_t j = 0; j < d; j++) {
                double sum = a > 0.0 ? a * em->belief[j] : 0.0;
                for (int64_t c = 0; c < k; c++) sum += em->scatter[c * d + j];
                covariance[j] = sum / (a + total);
            }
            return;
        case EII:
            for (int64_t i = 0; i < k * d; i++) sum_of_all += em->scatter[i];
            for (int64_t j = 0; j < d; j++) covariance[j] = (a * believed + sum_of_all) / (d * (a + total));
            return;
        default:
            for (int64_t c = 0; c < k; c++) { /* VII, VVI */
                const double *scatter = em->scatter + c * d, rows = a + s->count[c];
                double sum = a * believed;
                for (int64_t j = 0; j < d; j++) sum += scatter[j];
                for (int64_t j = 0; j < d; j++) {
                    const double own = (a > 0.0 ? a * em->belief[j] : 0.0) + scatter[j];
                    covariance[c * d + j] = em->structure == VII ? sum / (d * rows) : own / rows;
                }
            }
    }
}

/* Return Σ_c −½ n_c log|Σ_c| − ½ tr(Σ_c⁻¹ S_c) of em->rows and em->scatter; −∞ if a covariance is not positive
 * definite. At a maximum of the likelihood Σ_c tr(Σ_c⁻¹ S_c) = n d, so that a `maximal` one needs no products with
 * scatters, which rounding spoils if one is almost singular. */
static double expected_log_likelihood(const em_run *em, const double *covariance, int maximal) {
    const int64_t d = em->d, cells = cells_of_covariance(em);
    double sum = 0.0;
    for (int64_t c = 0; c < em->k; c++) {
        const double *own = covariance + c * cells, *scatter = em->scatter + c * cells;
        if (em->matrices) {
            if (!(cholesky(own, d, em->matrix[0]) > 0.0)) return -INFINITY;
            sum += 2.0 * em->rows[c] * half_log_determinant(em->matrix[0], d) + (maximal ? em->rows[c] * d : 0.0);
            if (maximal) continue;
            invert_lower(em->matrix[0], d, em->matrix[1]);
            sum += whitened_trace(em->matrix[1], scatter, d, em->matrix[2]);
        } else {
            for (int64_t j = 0; j < d; j++) {
                if (!(own[j] > 0.0)) return -INFINITY;
                sum += em->rows[c] * log(own[j]) + (maximal ? em->rows[c] : scatter[j] / own[j]);
            }
        }
    }
    return -0.5 * sum;
}

/* Add the rows of the prior to em->scatter; em->ridged = the scatters to fit. With a prior, their correlations are a
 * little below 1, and they have a little variance along every axis if they will be rotated. */
static void add_prior(const em_run *em, const em_sums *s) {
    const int64_t d = em->d, k = em->k, cells = cells_of_covariance(em);
    const double a = em->strength;
    for (int64_t c = 0; c < k; c++) {
        em->rows[c] = a + s->count[c] > SMALLEST_NUMBER ? a + s->count[c] : SMALLEST_NUMBER;
        for (int64_t i = 0; a > 0.0 && i < cells; i++) em->scatter[c * cells + i] += a * em->belief[i];
    }
    memcpy(em->ridged, em->scatter, k * cells * sizeof(double));
    for (int64_t c = 0; a > 0.0 && em->matrices && c < k; c++) {
        double trace = 0.0;
        const int rotated = em->structure != VEE && em->structure != EVV;
        for (int64_t j = 0; j < d; j++) trace += em->scatter[c * cells + j * (d + 1)];
        for (int64_t j = 0; j < d; j++) {
            double *variance = em->ridged + c * cells + j * (d + 1);
            *variance = *variance * (1.0 + LEAST_RIDGE) + (rotated ? LEAST_EIGENVALUE * trace : 0.0);
        }
    }
}

/* EEV and VEV: each component has the axes of its scatter, from the shortest to the longest. In Python: OwnAxes in
 * suffice.families.gaussian.covariance.constrained. */
static int own_axes(const em_run *em, const em_model *before, double *covariance) {
    const int64_t d = em->d, k = em->k, cells = d * d;
    double rows = 0.0;
    for (int64_t c = 0; c < k; c++) {
        memcpy(em->matrix[0], em->ridged + c * cells, cells * sizeof(double));
        eigen(em->matrix[0], d, em->along + c * d, em->white + c * cells);
        for (int64_t j = 0; j < d; j++) em->along[c * d + j] = em->along[c * d + j] > 0.0 ? em->along[c * d + j] : 0.0;
        rows += em->rows[c];
    }
    if (em->structure == VEV) {
        if (!shared_shape(em, before, em->variance)) return 0;
    } else {
        for (int64_t j = 0; j < d; j++) {
            double sum = 0.0;
            for (int64_t c = 0; c < k; c++) sum += em->along[c * d + j];
            for (int64_t c = 0; c < k; c++) em->variance[c * d + j] = sum / rows;
        }
    }
    for (int64_t c = 0; c < k; c++)
        compose_symmetric(em->white + c * cells, em->variance + c * d, d, covariance + c * cells);
    return 1;
}

/* The covariances of largest likelihood that share some of volume, shape and orientation; returns 0 if there are none.
 * Iterative estimates start from `before`, and keep it if it is better: without a prior there is no estimate if they
 * become singular; with a prior there is one, which rounding then hides. In Python: Constrained in
 * suffice.families.gaussian.covariance.constrained. */
static int constrained(em_run *em, const em_sums *s, const em_model *before, em_model *after) {
    const int64_t cells = cells_of_covariance(em);
    int found = 0, iterative = 1;
    add_prior(em, s);
    if (!em->matrices) memcpy(em->along, em->ridged, em->k * cells * sizeof(double));
    switch (em->structure) {
        case VEI: found = shared_shape(em, before, after->covariance); break;
        case EVI: found = equal_volume(em, after->covariance), iterative = 0; break;
        case VEE: found = shared_matrix(em, em->ridged, before, after->covariance); break;
        case EVV: found = equal_determinant(em, em->ridged, after->covariance), iterative = 0; break;
        case EEV: found = own_axes(em, before, after->covariance), iterative = 0; break;
        case VEV: found = own_axes(em, before, after->covariance); break;
        default: found = common_axes(em, em->ridged, before, after);
    }
    if (!before || !iterative) return found;
    const double was = expected_log_likelihood(em, before->covariance, 0);
    if (found && !(was > expected_log_likelihood(em, after->covariance, 0))) return 1;
    if (em->strength == 0.0) {
        double rows = 0.0;
        for (int64_t c = 0; c < em->k; c++) rows += em->rows[c];
        const double attained = found ? expected_log_likelihood(em, after->covariance, 1) : -INFINITY;
        if (!(attained > -INFINITY)) return 0;
        if (attained > was + SPOILT_LOG_LIKELIHOOD * rows) return 1;
    }
    memcpy(after->covariance, before->covariance, em->k * cells * sizeof(double));
    after->has_axes = before->has_axes;
    if (before->has_axes) memcpy(after->axes, before->axes, em->d * em->d * sizeof(double));
    return 1;
}

/* after = the model of the moments: log_share = log(count / Σ count), mean = center + first / count, and the
 * covariances of the structure. Iterative estimates start from `before`, if there is one. Returns 0 if there is no
 * estimate; that a covariance is singular only `factorise` finds. */
int improve(em_run *em, const em_sums *s, const em_model *before, em_model *after) {
    const int64_t d = em->d, k = em->k;
    double total = 0.0;
    if (!finite_values(s->count, k) || !finite_values(s->second, n_second(em))) return 0;
    for (int64_t c = 0; c < k; c++) {
        if (em->strength == 0.0 && !(s->count[c] > em->least)) return 0;
        total += s->count[c];
    }
    for (int64_t c = 0; c < k; c++) {
        const double count = s->count[c];
        after->log_share[c] = em->equal ? -log((double)k) : log(count / total);
        for (int64_t j = 0; j < d; j++)
            after->mean[c * d + j] = s->center[c * d + j] + (count > 0.0 ? s->first[c * d + j] / count : 0.0);
    }
    scatters(em, s);
    switch (em->structure) {
        case EII:
        case VII:
        case EEI:
        case VVI:
        case EEE:
        case VVV:
        case GIVEN_SPHERE:
            averages(em, s, after->covariance);
            for (int64_t c = 0; c < n_covariances(em); c++)
                for (int64_t j = 0; j < d; j++)
                    after->covariance[c * cells_of_covariance(em) + j * (em->matrices ? d + 1 : 1)] += em->ridge;
            return 1;
        default: return constrained(em, s, before, after);
    }
}
