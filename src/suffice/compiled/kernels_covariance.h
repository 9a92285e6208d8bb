/* The maximisation step of `em_loop`: means and covariances of the moments, as `suffice.covariance` estimates them. */

/* Σ r (x − mean)(x − mean)ᵀ in the layout of the second moments */
static void NAME(scatters)(const NAME(em) *em, const NAME(sums) *s) {
    const int64_t d = em->d, k = em->k;
    memcpy(em->scatter, s->second, NAME(n_second)(em) * sizeof(double));
    for (int64_t c = 0; c < k; c++) {
        const double *first = s->first + c * d;
        double *scatter = em->scatter + (!em->matrices ? c * d : em->structure == NAME(EEE) ? 0 : c * d * d);
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

/* (aV + S) / (a + n) of matrices, with a ridge that keeps correlations a little below 1 where there is a prior */
static void NAME(averaged_matrix)(const NAME(em) *em, const double *scatter, double count, double *covariance) {
    const int64_t d = em->d;
    const double a = em->strength, rows = a + count;
    for (int64_t i = 0; i < d * d; i++)
        covariance[i] = rows > 0.0 ? ((a > 0.0 ? a * em->belief[i] : 0.0) + scatter[i]) / rows : 0.0;
    for (int64_t j = 0; a > 0.0 && j < d; j++) covariance[j * (d + 1)] *= 1.0 + LEAST_RIDGE;
}

/* The covariances that are averages of scatters. */
static void NAME(averages)(const NAME(em) *em, const NAME(sums) *s, double *covariance) {
    const int64_t d = em->d, k = em->k;
    const double a = em->strength;
    double total = 0.0, believed = 0.0, sum_of_all = 0.0;
    for (int64_t c = 0; c < k; c++) total += s->count[c];
    for (int64_t j = 0; a > 0.0 && !em->matrices && j < d; j++) believed += em->belief[j];
    switch (em->structure) {
        case NAME(GIVEN_SPHERE):
            for (int64_t j = 0; j < d; j++) covariance[j] = em->given;
            return;
        case NAME(EEE): NAME(averaged_matrix)(em, em->scatter, total, covariance); return;
        case NAME(VVV):
            for (int64_t c = 0; c < k; c++)
                NAME(averaged_matrix)(em, em->scatter + c * d * d, s->count[c], covariance + c * d * d);
            return;
        case NAME(EEI):
            for (int64_t j = 0; j < d; j++) {
                double sum = a > 0.0 ? a * em->belief[j] : 0.0;
                for (int64_t c = 0; c < k; c++) sum += em->scatter[c * d + j];
                covariance[j] = sum / (a + total);
            }
            return;
        case NAME(EII):
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
                    covariance[c * d + j] = em->structure == NAME(VII) ? sum / (d * rows) : own / rows;
                }
            }
    }
}

/* Doubles that `improve` needs for itself. */
static int64_t NAME(fit_memory)(const NAME(em) *em) {
    (void)em;
    return 0;
}

/* The model that the moments give; what has no closed form goes on from `before`, if there is one. 0 where there is none,
 * or where `factorise` would find out. */
static int NAME(improve)(const NAME(em) *em, const NAME(sums) *s, const NAME(model) *before, NAME(model) *after) {
    const int64_t d = em->d, k = em->k;
    double total = 0.0;
    (void)before;
    for (int64_t c = 0; c < k; c++) {
        if (em->strength == 0.0 && !(s->count[c] > 0.0)) return 0;
        total += s->count[c];
    }
    for (int64_t c = 0; c < k; c++) {
        const double count = s->count[c];
        after->log_share[c] = em->equal ? -log((double)k) : log(count / total);
        for (int64_t j = 0; j < d; j++)
            after->mean[c * d + j] = s->center[c * d + j] + (count > 0.0 ? s->first[c * d + j] / count : 0.0);
    }
    NAME(scatters)(em, s);
    NAME(averages)(em, s, after->covariance);
    return 1;
}
