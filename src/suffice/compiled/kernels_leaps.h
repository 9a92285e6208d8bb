/* Extrapolation steps of EM, as in `suffice.acceleration.Squarem`: S = (1 − a)² S₀ + 2a (1 − a) S₁ + a² S₂ of the moments
 * of three iterations, with a read from the gains of the bound. */
#define SMALL_GAIN 1e-4 /* steps begin when an iteration gains no more than this of the bound */
#define FIRST_STEP 4.0  /* the longest first step, and how much longer, or shorter, the next one may be */
#define SHORTEST 1.2    /* a shorter step is not worth its pass */

/* Begin to remember, unless what is there is to be gone on with. */
static void NAME(begin_leaps)(NAME(leaps) *l, double how) {
    if (how == LEAPS_CONTINUE) { /* what `leap_after` leaves */
        if (l->kept == 0.0 || l->kept == 1.0 || l->kept == 2.0 || (l->kept == 3.0 && l->length > 0.0)) return;
    }
    *l = (NAME(leaps)){.longest = FIRST_STEP};
}

static void NAME(copy_sums)(const NAME(em) *em, const NAME(sums) *from, const NAME(sums) *to) {
    memcpy(to->count, from->count, em->k * sizeof(double));
    memcpy(to->center, from->center, em->k * em->d * sizeof(double));
    memcpy(to->first, from->first, em->k * em->d * sizeof(double));
    memcpy(to->second, from->second, NAME(n_second)(em) * sizeof(double));
}

/* Add `weight` times the moments of a part to `sums`, about the centres of these. */
static void NAME(add_moved)(const NAME(em) *em, const NAME(sums) *part, double weight, const NAME(sums) *sums) {
    const int64_t d = em->d;
    double *delta = em->vector[0];
    for (int64_t i = 0; i < NAME(n_second)(em); i++) sums->second[i] += weight * part->second[i];
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

/* Go on with the last `kept` iterations. */
static void NAME(restart_leaps)(const NAME(em) *em, int64_t kept) {
    NAME(leaps) *const l = em->leaps;
    const int64_t last = (int64_t)l->kept - 1;
    if (kept && last > 0) NAME(copy_sums)(em, em->last + last, em->last);
    if (kept) l->bounds[0] = l->bounds[last];
    l->kept = (double)kept, l->length = 0.0;
}

/* The model of the longest step that gives one, to `leap`; each that gives none is halved towards the last moments. */
static int NAME(extrapolate)(NAME(em) *em, const NAME(model) *now, NAME(model) *leap) {
    NAME(leaps) *const l = em->leaps;
    const double first = l->bounds[1] - l->bounds[0], second = l->bounds[2] - l->bounds[1];
    double a = first <= 0.0 || second <= 0.0 ? 1.0 : second >= first ? INFINITY : 1.0 / (1.0 - sqrt(second / first));
    for (a = a < l->longest ? a : l->longest; a >= SHORTEST; a = 0.5 * (1.0 + a)) {
        const double weights[3] = {(1.0 - a) * (1.0 - a), 2.0 * a * (1.0 - a), a * a};
        int possible = 1;
        memset(em->others.count, 0, em->k * sizeof(double));
        memcpy(em->others.center, em->last[2].center, em->k * em->d * sizeof(double));
        memset(em->others.first, 0, em->k * em->d * sizeof(double));
        memset(em->others.second, 0, NAME(n_second)(em) * sizeof(double));
        for (int i = 0; i < 3; i++) NAME(add_moved)(em, em->last + i, weights[i], &em->others);
        for (int64_t c = 0; c < em->k; c++) possible = possible && em->others.count[c] >= 0.0;
        l->length = a;
        if (possible && NAME(improve)(em, &em->others, now, leap) && NAME(factorise)(em, leap)) return 1;
    }
    return 0;
}

/* What follows an iteration that did not lower the bound: whether `leap` is where to go on. */
static int NAME(leap_after)(NAME(em) *em, const NAME(sums) *sums, double bound, const NAME(model) *now,
                            NAME(model) *leap) {
    NAME(leaps) *const l = em->leaps;
    if (l->length > 0.0) {
        l->longest *= l->length == l->longest ? FIRST_STEP : 1.0;
        NAME(restart_leaps)(em, 0);
    }
    NAME(copy_sums)(em, sums, em->last + (int64_t)l->kept);
    l->bounds[(int64_t)l->kept] = bound;
    l->kept += 1.0;
    if (l->kept < 3.0) return 0;
    if (l->bounds[2] - l->bounds[1] <= SMALL_GAIN * (1.0 + fabs(bound)) && NAME(extrapolate)(em, now, leap)) return 1;
    NAME(restart_leaps)(em, 1);
    return 0;
}

/* Go on from before the last step, which lowered the bound, and step less far. */
static void NAME(take_back)(const NAME(em) *em) {
    const double shorter = em->leaps->longest / FIRST_STEP;
    em->leaps->longest = shorter > FIRST_STEP ? shorter : FIRST_STEP;
    NAME(restart_leaps)(em, 1);
}
#undef FIRST_STEP
#undef SMALL_GAIN
#undef SHORTEST
