/* The iterations of EM for a mixture of Gaussians, and their workspace. NumPy fallback: PlainLoop in
 * suffice.mixtures.numpy_loop. */
#include "em.h"
#include "vectors.h"

/* Return the next part of the workspace, which starts at a cache line; without a workspace, only count its cells. */
static double *take_part(double *workspace, int64_t *used, int64_t cells) {
    double *here = workspace ? workspace + *used : 0;
    *used += (cells + 7) / 8 * 8;
    return here;
}

/* Place a model in the workspace. */
static void take_model(const em_run *em, double *workspace, int64_t *used, em_model *m) {
    const int64_t cells = n_covariances(em) * cells_of_covariance(em);
    m->log_share = take_part(workspace, used, em->k);
    m->mean = take_part(workspace, used, em->k * em->d);
    m->covariance = take_part(workspace, used, cells);
    m->whitener = take_part(workspace, used, cells);
    m->log_determinant = take_part(workspace, used, em->k);
    m->axes = take_part(workspace, used, em->d * em->d);
    m->has_axes = 0;
}

/* Place all arrays in the workspace; returns the number of doubles that it must have. */
int64_t divide_workspace(em_run *em, double *workspace, em_model *models) {
    const int64_t d = em->d, k = em->k, angles = d * (d - 1) / 2;
    int64_t used = 0;
    em->matrices = em->structure >= EEE && em->structure != GIVEN_SPHERE;
    em->shared = em->structure == EII || em->structure == EEI || em->structure == EEE || em->structure == GIVEN_SPHERE;
    em->form = !em->matrices ? SCALED : em->shared ? TIED : FULL;
    em->products = em->form == FULL ? (d + 1) * (d + 2) / 2 : em->form == TIED ? d + 1 : 2 * d + 1;
    for (int i = 0; i < 3; i++) take_model(em, workspace, &used, models + i);
    em->left = (int64_t *)take_part(workspace, &used, em->products + PADDING);
    em->right = (int64_t *)take_part(workspace, &used, em->products + PADDING);
    em->origin = take_part(workspace, &used, d);
    em->linear = take_part(workspace, &used, d * k);
    em->quadratic = take_part(workspace, &used, (em->matrices ? d * (d + 1) / 2 : d) * k);
    em->constant = take_part(workspace, &used, k);
    em->scratch = take_part(workspace, &used, (2 * d + k + 1) * STEP);
    em->wide = take_part(workspace, &used, 2 * LANES * d);
    em->tiles = take_part(workspace, &used, SUMS_SIZE(k, em->products));
    em->tiles_of_all = take_part(workspace, &used, SUMS_SIZE(d, d));
    em->moments = take_part(workspace, &used, k * em->products);
    em->half = take_part(workspace, &used, d * d);
    em->scatter = take_part(workspace, &used, n_second(em));
    for (int i = 0; i < 4; i++) em->matrix[i] = take_part(workspace, &used, d * d);
    for (int i = 0; i < 2; i++) em->vector[i] = take_part(workspace, &used, d);
    em->ridged = take_part(workspace, &used, k * cells_of_covariance(em));
    em->rows = take_part(workspace, &used, k);
    em->along = take_part(workspace, &used, k * d);
    em->variance = take_part(workspace, &used, k * d);
    em->shares_of_columns = take_part(workspace, &used, k * d);
    em->white = take_part(workspace, &used, k * cells_of_covariance(em));
    em->whitened = take_part(workspace, &used, k * cells_of_covariance(em));
    for (int i = 0; i < 5; i++) em->newton[i] = take_part(workspace, &used, k);
    for (int i = 0; i < 2; i++) em->hessian[i] = take_part(workspace, &used, k * k);
    em->regular = take_part(workspace, &used, k * k);
    for (int i = 0; i < 2; i++) {
        em->points[i].axes = take_part(workspace, &used, d * d);
        em->points[i].gradient = take_part(workspace, &used, angles);
        em->points[i].curvature = take_part(workspace, &used, angles);
    }
    em->steps = take_part(workspace, &used, LBFGS_STEPS * angles);
    em->changes = take_part(workspace, &used, LBFGS_STEPS * angles);
    em->angles = take_part(workspace, &used, 2 * angles);
    em->share = take_part(workspace, &used, k * em->n);
    em->history = (em_history *)take_part(workspace, &used, sizeof(em_history) / sizeof(double));
    for (int i = 0; i < 4; i++) {
        em_sums *const sums = i < 3 ? em->last + i : &em->others;
        sums->count = take_part(workspace, &used, k);
        sums->center = take_part(workspace, &used, k * d);
        sums->first = take_part(workspace, &used, k * d);
        sums->second = take_part(workspace, &used, n_second(em));
    }
    return used;
}

/* List the products of two columns that are summed for each component; column 0 is all ones. */
static void pair_columns(const em_run *em) {
    int64_t p = 0;
    for (int64_t j = 0; j <= em->d; j++, p++) em->left[p] = 0, em->right[p] = j;
    for (int64_t i = 1; i <= em->d && em->form != TIED; i++)
        for (int64_t j = i; j <= (em->form == FULL ? em->d : i); j++, p++) em->left[p] = i, em->right[p] = j;
    for (int64_t fill = 0; fill < PADDING; fill++) em->left[p + fill] = em->right[p + fill] = 0;
}

/* Return whether some column has one value only, up to rounding. Python leaves such a column out. */
static int has_constant_column(const em_run *em) {
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

/* Copy the parameters of a model to where the caller wants them. */
static void copy_model(const em_run *em, const em_model *from, double *log_share, double *mean, double *covariance) {
    const int64_t cells = n_covariances(em) * cells_of_covariance(em);
    memcpy(log_share, from->log_share, em->k * sizeof(double));
    memcpy(mean, from->mean, em->k * em->d * sizeof(double));
    memcpy(covariance, from->covariance, cells * sizeof(double));
}

/* Return the number of doubles that the workspace of `em_loop` must have. The fallback of that needs no workspace. */
EXPORT int64_t NAME(em_workspace_size)(int64_t n, int64_t d, int64_t k, int64_t structure) {
    em_run em = {.n = n, .d = d, .k = k, .structure = structure};
    em_model models[3];
    return divide_workspace(&em, 0, models);
}

/* Run at most `iterations` of EM over n rows of d columns without missing values: E-step, bound = Σ w log Σ_c
 * π_c N(x; μ_c, Σ_c) + log prior + offset, M-step.
 *
 * `begin` says how: BEGIN_AT_MODEL with the parameters in log_share (k), mean (k×d) and covariance; BEGIN_WITH_LABELS
 * and BEGIN_WITH_SHARES with their estimates from `labels` (n) or responsibilities `shares` (n×k, weights included).
 * The last model, the moments that it was estimated from and the bound of each iteration are written to the arguments
 * after `rate`, which asks for one more bound, the log-likelihood of the last model. `done` is the number of
 * iterations. The workspace of `size` doubles also keeps the state of extrapolation from call to call.
 *
 * Returns how it ended: EM_CONTINUES after all iterations, EM_CONVERGED, EM_NO_ESTIMATE if the moments have no
 * estimate (the model is then the one before), EM_NOT_FINITE if the moments of the model are not finite, or
 * EM_CONSTANT if a column is constant. NumPy fallback: PlainLoop.advance in suffice.mixtures.numpy_loop. */
EXPORT int64_t NAME(em_loop)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *weight,
                             int64_t structure, const double *settings, const double *belief, int64_t begin,
                             const int64_t *labels, const double *shares, int64_t iterations, int64_t rate,
                             double *log_share, double *mean, double *covariance, double *count, double *center,
                             double *first, double *second, double *bounds, int64_t *done, int64_t size,
                             double *workspace) {
    em_run em = {.x = x, .weight = weight, .belief = belief, .stride = stride, .n = n, .d = d, .k = k};
    em_model models[3], *now = models, *next = models + 1, *const ahead = models + 2;
    em_sums sums = {count, center, first, second};
    double before = settings[BOUND_BEFORE], log_likelihood = 0.0;
    int64_t ended = EM_CONTINUES;
    em.structure = structure;
    em.strength = settings[STRENGTH];
    em.given = settings[GIVEN_VARIANCE];
    em.equal = settings[EQUAL_SHARES] != 0.0;
    em.ridge = settings[RIDGE];
    em.least = settings[LEAST];
    if (NAME(em_workspace_size)(n, d, k, structure) > size || (em.strength > 0.0 && !belief)) return OUT_OF_RANGE;
    divide_workspace(&em, workspace, models);
    pair_columns(&em);
    *done = 0;
    if (em.strength > 0.0 && has_constant_column(&em)) return EM_CONSTANT;
    if (begin == BEGIN_AT_MODEL) {
        memcpy(now->log_share, log_share, k * sizeof(double));
        memcpy(now->mean, mean, k * d * sizeof(double));
        memcpy(now->covariance, covariance, n_covariances(&em) * cells_of_covariance(&em) * sizeof(double));
        if (!factorise(&em, now)) return EM_NO_ESTIMATE;
    } else {
        for (int64_t c = 0; c < k; c++)
            for (int64_t i = 0; i < n; i++)
                em.share[c * n + i] = begin == BEGIN_WITH_SHARES ? shares[i * k + c]
                                      : labels[i] != c           ? 0.0
                                      : weight                   ? weight[i]
                                                                 : 1.0;
        moments_of_shares(&em, &sums);
        if (!improve(&em, &sums, 0, now) || !factorise(&em, now)) return EM_NO_ESTIMATE;
    }
    begin_history(em.history, settings[ACCELERATE]);
    while (*done < iterations && ended == EM_CONTINUES) {
        const em_model *const tried = em.history->pending != 0.0 ? ahead : now;
        em_sums *const taken = tried == ahead ? &em.others : &sums;
        const int finite = expect(&em, tried, taken, &log_likelihood);
        const double bound = log_likelihood + log_prior(&em, tried) + settings[OFFSET], change = bound - before;
        if (tried == ahead && !(finite && change >= 0.0)) {
            undo_extrapolation(&em);
            em.history->pending = 0.0;
            bounds[(*done)++] = before;
            continue;
        }
        if (!finite) {
            ended = EM_NOT_FINITE;
            break;
        }
        bounds[(*done)++] = before = bound;
        if (tried == ahead) copy_sums(&em, taken, &sums);
        if (!improve(&em, &sums, tried, next) || !factorise(&em, next)) {
            if (tried == ahead) now = ahead;
            ended = EM_NO_ESTIMATE;
            break;
        }
        em_model *const swapped = now;
        now = next, next = swapped;
        double rows = 0.0; /* the rule by which EM has converged is also in optimize/em.py */
        for (int64_t c = 0; c < k; c++) rows += count[c];
        const int stays = settings[ABSOLUTE] != 0.0 ? fabs(change) < settings[TOL]
                                                    : change <= settings[TOL] * (fmin(1.0, rows) + fabs(bound));
        if (stays && tried != ahead) ended = EM_CONVERGED;
        if (settings[ACCELERATE] != 0.0) em.history->pending = extrapolate_after(&em, &sums, bound, now, ahead);
    }
    copy_model(&em, now, log_share, mean, covariance);
    if (rate && !expect(&em, now, &em.others, bounds + *done)) bounds[*done] = NAN;
    return ended;
}
