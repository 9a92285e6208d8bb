/* Several starts of EM in one call: all run a few iterations, the best ones some more, and the best is kept. */
#include "em.h"

/* A start: its parameters and moments in the order of `em_loop`, the bounds of its iterations, how many there were,
 * how they ended, and whether it ran the further iterations. */
typedef struct {
    double *log_share, *mean, *covariance, *count, *center, *first, *second, *bounds;
    int64_t made, ended, went_on;
} em_start;

/* whether a start has an estimate, and its last bound */
static int has_estimate(const em_start *s) { return s->ended == EM_CONTINUES || s->ended == EM_CONVERGED; }
static double last_bound(const em_start *s) { return has_estimate(s) ? s->bounds[s->made - 1] : -INFINITY; }

/* Return whether two starts have almost stopped rising, at almost the same bound. */
static int agree(const em_start *a, const em_start *b) {
    if (!has_estimate(a) || !has_estimate(b) || a->made < 2 || b->made < 2) return 0;
    const double near = SETTLED * (1.0 + fabs(last_bound(a)));
    return fabs(last_bound(a) - last_bound(b)) <= near && last_bound(a) - a->bounds[a->made - 2] <= near &&
           last_bound(b) - b->bounds[b->made - 2] <= near;
}

/* The best of up to MOST_STARTS starts, each given by the component of each row (labels, starts×n). All run
 * `iterations` iterations, and the `kept` best of them `more`; a start that agrees with an earlier one is chosen at
 * once. Its model, moments and bounds are written as by `em_loop`, and how it ended to `ended`. Returns 1 if some
 * start has an estimate. Scratch: `sets` for the parameters and moments of every start, `rises` for its bounds and one
 * more. NumPy fallback: the starts of suffice.mixtures.best_start, one by one. */
EXPORT int64_t NAME(em_race)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *weight,
                             int64_t structure, const double *settings, const double *belief, int64_t starts,
                             const int64_t *labels, int64_t iterations, int64_t more, int64_t kept, double *sets,
                             double *rises, double *log_share, double *mean, double *covariance, double *count,
                             double *center, double *first, double *second, double *bounds, int64_t *done,
                             int64_t *ended, int64_t size, double *workspace) {
    em_run em = {.n = n, .d = d, .k = k, .structure = structure};
    em_model models[3];
    if (starts > MOST_STARTS || divide_workspace(&em, 0, models) > size) return OUT_OF_RANGE;
    const int64_t cells = n_covariances(&em) * cells_of_covariance(&em), moments = n_second(&em);
    em_start all_starts[MOST_STARTS], *best = 0, *s;
    double own[N_SETTINGS];
    int64_t tried = 0, made = 0;
    memcpy(own, settings, sizeof own);
    for (; tried < starts && !best; tried++) {
        double *set = sets + tried * (2 * k + 3 * k * d + cells + moments);
        s = all_starts + tried;
        s->log_share = set, s->mean = set + k, s->covariance = s->mean + k * d, s->count = s->covariance + cells;
        s->center = s->count + k, s->first = s->center + k * d, s->second = s->first + k * d;
        s->bounds = rises + tried * (iterations + more + 1), s->went_on = 0;
        own[BOUND_BEFORE] = -INFINITY;
        s->ended = NAME(em_loop)(x, stride, n, d, k, weight, structure, own, belief, BEGIN_WITH_LABELS,
                                 labels + tried * n, 0, iterations, 0, s->log_share, s->mean, s->covariance, s->count,
                                 s->center, s->first, s->second, s->bounds, &s->made, size, workspace);
        if (s->ended == OUT_OF_RANGE) return OUT_OF_RANGE;
        for (int64_t other = 0; other < tried; other++)
            if (agree(s, all_starts + other)) best = s;
    }
    for (int64_t place = 0; place < kept && !best && more > 0; place++) {
        em_start *next = 0;
        for (s = all_starts; s < all_starts + tried; s++)
            if (has_estimate(s) && !s->went_on && (!next || last_bound(s) > last_bound(next))) next = s;
        if (!next) break;
        next->went_on = 1;
        if (next->ended != EM_CONTINUES) continue;
        own[BOUND_BEFORE] = last_bound(next);
        next->ended = NAME(em_loop)(x, stride, n, d, k, weight, structure, own, belief, BEGIN_AT_MODEL, 0, 0, more, 0,
                                    next->log_share, next->mean, next->covariance, next->count, next->center,
                                    next->first, next->second, next->bounds + next->made, &made, size, workspace);
        next->made += made;
    }
    const int agreed = best != 0;
    for (s = all_starts; s < all_starts + tried && !agreed; s++)
        if (has_estimate(s) && (!best || last_bound(s) > last_bound(best))) best = s;
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
