/* One pass of Newton's method for a generalised linear model over rows of doubles, block by block in the cache. The
 * NumPy fallbacks are in suffice.glm. */
#include "scatter.h"

/* z = (1, x − c, 0 …) of each row, D cells, and eta = z·θ unless `theta` is null. The rows are padded with zeros to
 * whole registers. */
INLINE void centre_and_multiply(const double *x, int64_t stride, int64_t n, int64_t d, const double *center,
                                const double *theta, int64_t D, double *z, double *eta) {
    for (int64_t i = 0; i < n; i += LANES) {
        doubles sums[LANES];
        for (int64_t r = 0; r < LANES; r++) {
            double *restrict out = z + (i + r) * D;
            sums[r] = broadcast(0.0);
            if (i + r >= n) {
                memset(out, 0, sizeof(double) * (size_t)D);
                continue;
            }
            const double *restrict row = x + (i + r) * stride;
            out[0] = 1.0;
            for (int64_t j = 0; j < d; j++) out[1 + j] = row[j] - center[j];
            for (int64_t j = d + 1; j < D; j++) out[j] = 0.0;
            if (theta)
                for (int64_t j = 0; j < D; j += LANES) sums[r] = load(out + j) * load(theta + j) + sums[r];
        }
        if (theta) store(eta + i, row_sums(sums));
    }
}

/* Return −ℓ of ℓ = yη − log(1 + e^η); score = dℓ/dη = y − p, curvature = −d²ℓ/dη² = p (1 − p), p = 1 / (1 + e^−η). */
INLINE doubles logistic(doubles eta, doubles y, doubles *score, doubles *curvature) {
    const int64s positive = eta >= broadcast(0.0);
    const doubles size = where(positive, eta, broadcast(0.0) - eta), small = exponential(broadcast(0.0) - size, -700.0);
    const doubles more = 1.0 + small, upper = 1.0 / more, lower = small * upper, added = more - 1.0;
    const int64s lost = added == broadcast(0.0);
    const doubles log_more =
        where(lost, small, logarithm(more) * (small / where(lost, broadcast(1.0), added))); /* log1p */
    *score = y - where(positive, upper, lower);
    *curvature = upper * lower;
    return log_more + where(positive, eta, broadcast(0.0)) - y * eta;
}

/* Return ℓ(log y) − ℓ of ℓ = yη − e^η; score = dℓ/dη = y − e^η, curvature = −d²ℓ/dη² = e^η. */
INLINE doubles log_linear(doubles eta, doubles y, doubles *score, doubles *curvature) {
    const doubles mu = exponential(eta, -700.0), counted = where(y > broadcast(0.0), y, broadcast(1.0));
    *score = y - mu;
    *curvature = mu;
    return y * (logarithm(counted) - eta) - *score;
}

/* With z = (1, x − c) and η = z·θ + offset: total[0] += Σ w loss, gradient (D) −= Σ w score z and second (D×D, on and
 * above its diagonal) += Σ w curvature z zᵀ, for the LOGISTIC or the LOG_LINEAR model. PREDICTOR writes η to
 * `predictor` and sums nothing; GIVEN takes score and curvature (n), weights included, from the caller. Scratch: z of
 * size×D cells, `work` of 3·size, with size a multiple of the registers. Returns NOT_FINITE if a mean is too large.
 * NumPy fallback: _block_sums in suffice.glm.sums with LogisticPair and LogLinearPair of suffice.glm.pairs. */
EXPORT int64_t NAME(linear_pass)(const double *x, int64_t stride, int64_t n, int64_t d, const double *center,
                                 const double *theta, const double *y, const double *weight, const double *offset,
                                 int64_t mode, int64_t D, int64_t size, double *z, double *work, double *predictor,
                                 const double *score, const double *curvature, double *total, double *gradient,
                                 double *second) {
    if (size < 1 || size % LANES || d >= D || D % MOST_LANES) return OUT_OF_RANGE;
    double *eta = work, *scores = work + size, *roots = work + 2 * size;
    doubles loss = broadcast(0.0);
    for (int64_t begin = 0; begin < n; begin += size) {
        const int64_t rows = n - begin < size ? n - begin : size;
        centre_and_multiply(x + begin * stride, stride, rows, d, center, mode == GIVEN ? 0 : theta, D, z, eta);
        if (mode != GIVEN && offset)
            for (int64_t i = 0; i < rows; i++) eta[i] += offset[begin + i];
        if (mode == PREDICTOR) {
            memcpy(predictor + begin, eta, sizeof(double) * (size_t)rows);
            continue;
        }
        if (mode == GIVEN) {
            for (int64_t i = 0; i < rows; i++) {
                scores[i] = score[begin + i];
                roots[i] = sqrt(curvature[begin + i]);
            }
        } else {
            for (int64_t i = 0; i < rows; i += LANES) {
                double some_y[LANES] = {0}, some_weight[LANES] = {0};
                const int64_t valid = rows - i < LANES ? rows - i : LANES;
                for (int64_t r = 0; r < valid; r++) {
                    some_y[r] = y[begin + i + r];
                    some_weight[r] = weight ? weight[begin + i + r] : 1.0;
                    if (mode == LOG_LINEAR && eta[i + r] > LARGEST_LOG_MEAN) return NOT_FINITE;
                }
                for (int64_t r = valid; r < LANES; r++) eta[i + r] = 0.0;
                const doubles w = load(some_weight);
                doubles slope, bend;
                const doubles lost = mode == LOGISTIC ? logistic(load(eta + i), load(some_y), &slope, &bend)
                                                      : log_linear(load(eta + i), load(some_y), &slope, &bend);
                loss += w * lost;
                store(scores + i, w * slope);
                store(roots + i, w * bend);
            }
            for (int64_t i = 0; i < rows; i++) roots[i] = sqrt(roots[i]);
        }
        for (int64_t i = 0; i < rows; i++) {
            double *restrict row = z + i * D;
            const doubles s = broadcast(scores[i]), root = broadcast(roots[i]);
            for (int64_t j = 0; j < D; j += LANES) {
                const doubles cells = load(row + j);
                store(gradient + j, load(gradient + j) - s * cells);
                store(row + j, root * cells);
            }
        }
        if (second) scatter(z, rows, D, second);
    }
    double sums[LANES];
    store(sums, loss);
    for (int r = 0; r < LANES; r++) total[0] += sums[r];
    return 0;
}
