/* Extrapolation steps of EM: S = (1 − a)² S₀ + 2a (1 − a) S₁ + a² S₂ of the moments of three iterations, with the
 * length a taken from the gains of the bound, as Squarem in suffice.optimize.extrapolation does (NumPy fallback). */
#include "em.h"

/* Start without any iterations, unless the state of an earlier call is to be continued and is valid. */
void begin_history(em_history *l, double how) {
    if (how == EXTRAPOLATION_CONTINUES) { /* the states that `extrapolate_after` leaves */
        if (l->kept == 0.0 || l->kept == 1.0 || l->kept == 2.0 || (l->kept == 3.0 && l->length > 0.0)) return;
    }
    *l = (em_history){.longest = LONGEST_FIRST_STEP};
}

/* Copy moments. */
void copy_sums(const em_run *em, const em_sums *from, const em_sums *to) {
    memcpy(to->count, from->count, em->k * sizeof(double));
    memcpy(to->center, from->center, em->k * em->d * sizeof(double));
    memcpy(to->first, from->first, em->k * em->d * sizeof(double));
    memcpy(to->second, from->second, n_second(em) * sizeof(double));
}

/* Add `weight` times the moments of `part` to `sums`, about the centers of `sums`. */
static void add_moved(const em_run *em, const em_sums *part, double weight, const em_sums *sums) {
    const int64_t d = em->d;
    double *delta = em->vector[0];
    for (int64_t i = 0; i < n_second(em); i++) sums->second[i] += weight * part->second[i];
    for (int64_t c = 0; c < em->k; c++) {
        const double count = part->count[c], *first = part->first + c * d;
        double *second = sums->second + (!em->matrices ? c * d : em->structure == EEE ? 0 : c * d * d);
        for (int64_t j = 0; j < d; j++) delta[j] = part->center[c * d + j] - sums->center[c * d + j];
        for (int64_t i = 0; i < d; i++) {
            sums->first[c * d + i] += weight * (first[i] + count * delta[i]);
            if (!em->matrices) second[i] += weight * (2.0 * first[i] + count * delta[i]) * delta[i];
            for (int64_t j = 0; em->matrices && j < d; j++)
                second[i * d + j] += weight * (first[i] * delta[j] + delta[i] * first[j] + count * delta[i] * delta[j]);
        }
        sums->count[c] += weight * count;
    }
}

/* Keep only the last `kept` iterations, 0 or 1. */
static void restart_history(const em_run *em, int64_t kept) {
    em_history *const l = em->history;
    const int64_t last = (int64_t)l->kept - 1;
    if (kept && last > 0) copy_sums(em, em->last + last, em->last);
    if (kept) l->bounds[0] = l->bounds[last];
    l->kept = (double)kept, l->length = 0.0;
}

/* ahead = the model of the longest step that gives one; a step that gives none is halved towards the last moments. */
static int extrapolate(em_run *em, const em_model *now, em_model *ahead) {
    em_history *const l = em->history;
    const double first = l->bounds[1] - l->bounds[0], second = l->bounds[2] - l->bounds[1];
    double a = first <= 0.0 || second <= 0.0 ? 1.0 : second >= first ? INFINITY : 1.0 / (1.0 - sqrt(second / first));
    for (a = a < l->longest ? a : l->longest; a >= SHORTEST_STEP; a = 0.5 * (1.0 + a)) {
        const double weights[3] = {(1.0 - a) * (1.0 - a), 2.0 * a * (1.0 - a), a * a};
        int possible = 1;
        memset(em->others.count, 0, em->k * sizeof(double));
        memcpy(em->others.center, em->last[2].center, em->k * em->d * sizeof(double));
        memset(em->others.first, 0, em->k * em->d * sizeof(double));
        memset(em->others.second, 0, n_second(em) * sizeof(double));
        for (int i = 0; i < 3; i++) add_moved(em, em->last + i, weights[i], &em->others);
        for (int64_t c = 0; c < em->k; c++) possible = possible && em->others.count[c] >= 0.0;
        l->length = a;
        if (possible && improve(em, &em->others, now, ahead) && factorise(em, ahead)) return 1;
    }
    return 0;
}

/* Record an iteration that did not lower the bound; returns whether to continue from the extrapolated model `ahead`. */
int extrapolate_after(em_run *em, const em_sums *sums, double bound, const em_model *now, em_model *ahead) {
    em_history *const l = em->history;
    if (l->length > 0.0) {
        l->longest *= l->length == l->longest ? LONGEST_FIRST_STEP : 1.0;
        restart_history(em, 0);
    }
    copy_sums(em, sums, em->last + (int64_t)l->kept);
    l->bounds[(int64_t)l->kept] = bound;
    l->kept += 1.0;
    if (l->kept < 3.0) return 0;
    if (l->bounds[2] - l->bounds[1] <= SETTLED * (1.0 + fabs(bound)) && extrapolate(em, now, ahead)) return 1;
    restart_history(em, 1);
    return 0;
}

/* Continue from before the last step, which lowered the bound, with shorter steps. */
void undo_extrapolation(const em_run *em) {
    const double shorter = em->history->longest / LONGEST_FIRST_STEP;
    em->history->longest = shorter > LONGEST_FIRST_STEP ? shorter : LONGEST_FIRST_STEP;
    restart_history(em, 1);
}
