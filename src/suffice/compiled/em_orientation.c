/* Axes that all components share: an orthogonal matrix D for which the matrices Dᵀ W_c D are as diagonal as possible,
 * found by L-BFGS in the angles of all pairs of axes. NumPy fallback: common_axes in
 * suffice.families.gaussian.covariance.orientation.
 *
 * The criterion is Σ_c n_c Σ_j log q_cj for free volumes, and n d log Σ_c exp(Σ_j log q_cj / d) for equal volumes,
 * with q_cj the diagonal of Dᵀ W_c D. */
#include "em.h"
#include "matrices.h"

/* The criterion: scatters W_c (k×d×d), the rows n_c (k), and whether all volumes are equal. */
typedef struct {
    const double *scatter, *count;
    int equal;
} axes_criterion;

/* The criterion and its derivatives in the angles of the pairs i < j, at the axes of a point. */
static void expand_axes(const em_run *em, const axes_criterion *of, em_point *at) {
    const int64_t k = em->k, d = em->d, cells = d * d;
    double *q = em->along, *v = em->newton[0], *half = em->matrix[0], *ratios = em->matrix[1];
    double most = -INFINITY, sum = 0.0, rows = 0.0;
    at->value = 0.0;
    for (int64_t c = 0; c < k; c++) {
        double *rotated = em->whitened + c * cells, largest = 0.0;
        product(of->scatter + c * cells, at->axes, d, half);
        transposed_product(at->axes, half, d, rotated);
        for (int64_t j = 0; j < d; j++) largest = rotated[j * (d + 1)] > largest ? rotated[j * (d + 1)] : largest;
        v[c] = 0.0; /* Σ_j log q_cj, until the derivative takes its place */
        for (int64_t j = 0; j < d; j++) {
            const double least = LEAST_SHARE * largest + 1e-280, own = rotated[j * (d + 1)];
            q[c * d + j] = own > least ? own : least;
            v[c] += log(q[c * d + j]);
        }
        rows += of->count[c];
        at->value += of->count[c] * v[c];
        most = v[c] / d > most ? v[c] / d : most;
    }
    if (of->equal) {
        for (int64_t c = 0; c < k; c++) sum += v[c] = exp(v[c] / d - most);
        at->value = rows * d * (most + log(sum));
    }
    for (int64_t c = 0; c < k; c++) v[c] = of->equal ? rows * v[c] / sum : of->count[c];
    memset(half, 0, cells * sizeof(double));
    memset(ratios, 0, cells * sizeof(double));
    at->rows = rows, at->rounding = 0.0, at->steepest = 0.0;
    for (int64_t c = 0; c < k; c++) {
        const double *rotated = em->whitened + c * cells, *own = q + c * d, largest = largest_of(own, d);
        for (int64_t j = 0; j < d; j++) {
            const double inverse = v[c] / own[j];
            at->rounding += 4.0 * EPSILON * largest * inverse;
            for (int64_t i = 0; i < d; i++) {
                half[i * d + j] += rotated[i * d + j] * inverse;
                ratios[i * d + j] += own[i] * inverse;
            }
        }
    }
    for (int64_t i = 0, p = 0; i < d; i++)
        for (int64_t j = i + 1; j < d; j++, p++) {
            const double curvature = 2.0 * (ratios[i * d + j] + ratios[j * d + i] - 2.0 * rows);
            at->gradient[p] = 2.0 * (half[i * d + j] - half[j * d + i]);
            at->curvature[p] = curvature > LEAST_CURVATURE * rows ? curvature : LEAST_CURVATURE * rows;
            at->steepest = fabs(at->gradient[p]) > at->steepest ? fabs(at->gradient[p]) : at->steepest;
        }
}

/* Return a·b. */
static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* direction = −H⁻¹g by the two loops of L-BFGS, over the last `kept` of `taken` steps. */
static void quasi_newton(const em_run *em, const em_point *at, int64_t taken, int64_t kept, double *direction) {
    const int64_t p = em->d * (em->d - 1) / 2;
    double shares[LBFGS_STEPS];
    for (int64_t i = 0; i < p; i++) direction[i] = -at->gradient[i];
    for (int64_t s = taken - 1; s >= taken - kept; s--) {
        const double *step = em->steps + s % LBFGS_STEPS * p, *change = em->changes + s % LBFGS_STEPS * p;
        const double share = dot(step, direction, p) / dot(step, change, p);
        shares[s % LBFGS_STEPS] = share;
        for (int64_t i = 0; i < p; i++) direction[i] -= share * change[i];
    }
    for (int64_t i = 0; i < p; i++) direction[i] /= at->curvature[i];
    for (int64_t s = taken - kept; s < taken; s++) {
        const double *step = em->steps + s % LBFGS_STEPS * p, *change = em->changes + s % LBFGS_STEPS * p;
        const double share = dot(change, direction, p) / dot(step, change, p);
        for (int64_t i = 0; i < p; i++) direction[i] += (shares[s % LBFGS_STEPS] - share) * step[i];
    }
}

/* after.axes = axes·(I − A/2)⁻¹(I + A/2), with A the skew-symmetric matrix of share·angles (Cayley's rotation);
 * returns 0 if that is singular. */
static int turn(const em_run *em, const em_point *at, const double *angles, double share, em_point *after) {
    const int64_t d = em->d;
    double *left = em->matrix[0], *right = em->matrix[1];
    for (int64_t i = 0, p = 0; i < d; i++) {
        left[i * (d + 1)] = right[i * (d + 1)] = 1.0;
        for (int64_t j = i + 1; j < d; j++, p++) {
            const double half = 0.5 * share * angles[p];
            left[i * d + j] = right[j * d + i] = -half;
            left[j * d + i] = right[i * d + j] = half;
        }
    }
    if (!solve(left, d, right, d)) return 0;
    product(at->axes, right, d, after->axes);
    return 1;
}

/* Return the share of the step that leads to `after`, or 0 if the gain of every share is lost in rounding. */
static double search_line(const em_run *em, const axes_criterion *of, const em_point *at, const double *step,
                          em_point *after) {
    const double slope = dot(step, at->gradient, em->d * (em->d - 1) / 2);
    const double rounding = at->rounding + 4.0 * EPSILON * fabs(at->value);
    double share = 1.0;
    for (int tries = 0; tries < 30; tries++, share *= 0.5) {
        if (!turn(em, at, step, share, after)) return 0.0;
        expand_axes(em, of, after);
        if (after->value <= at->value + 1e-4 * share * slope) return share;
        if (-share * slope <= rounding) /* rounding hides the gain in the value, but not in the gradient */
            return after->value <= at->value + rounding && after->steepest < 0.8 * at->steepest ? share : 0.0;
    }
    return 0.0;
}

/* Turn the axes of em->points[0], which is expanded, to a local minimum of the criterion. */
static void descend(em_run *em, const axes_criterion *of, int iterations) {
    const int64_t p = em->d * (em->d - 1) / 2;
    double *step = em->angles;
    int64_t taken = 0, kept = 0;
    for (int iteration = 0; p > 0 && iteration < iterations; iteration++) {
        em_point *const at = em->points, *const after = em->points + 1;
        const double least = SMALLEST_GRADIENT * at->rows;
        double longest = 0.0;
        if (!(at->steepest > (at->rounding > least ? at->rounding : least))) return;
        quasi_newton(em, at, taken, kept, step);
        if (dot(step, at->gradient, p) >= 0.0) {
            kept = 0;
            quasi_newton(em, at, taken, kept, step);
        }
        for (int64_t i = 0; i < p; i++) longest = fabs(step[i]) > longest ? fabs(step[i]) : longest;
        for (int64_t i = 0; longest > LARGEST_ANGLE && i < p; i++) step[i] *= LARGEST_ANGLE / longest;
        const double share = search_line(em, of, at, step, after);
        if (share == 0.0) return;
        double *const newest = em->steps + taken % LBFGS_STEPS * p;
        double *const change = em->changes + taken % LBFGS_STEPS * p, *const spare = em->angles + p;
        for (int64_t i = 0; i < p; i++) spare[i] = after->gradient[i] - at->gradient[i];
        if (dot(spare, step, p) > 0.0) {
            for (int64_t i = 0; i < p; i++) newest[i] = share * step[i], change[i] = spare[i];
            taken++;
            kept = kept < LBFGS_STEPS ? kept + 1 : LBFGS_STEPS;
        }
        const em_point swapped = *at;
        *at = *after, *after = swapped;
    }
}

/* Make the columns of d×d axes orthonormal again, by Gram and Schmidt. */
static void orthonormalise(double *axes, int64_t d) {
    for (int64_t j = 0; j < d; j++) {
        double square = 0.0;
        for (int64_t t = 0; t < j; t++) {
            double sum = 0.0;
            for (int64_t i = 0; i < d; i++) sum += axes[i * d + t] * axes[i * d + j];
            for (int64_t i = 0; i < d; i++) axes[i * d + j] -= sum * axes[i * d + t];
        }
        for (int64_t i = 0; i < d; i++) square += axes[i * d + j] * axes[i * d + j];
        for (int64_t i = 0; i < d; i++) axes[i * d + j] /= sqrt(square);
    }
}

/* Expand the criterion at the eigenvectors of a symmetric matrix, which is overwritten, and keep them in em->points[0]
 * if they are the first or better. */
static void try_axes(em_run *em, const axes_criterion *of, double *matrix, int is_first) {
    em_point *at = em->points + (is_first ? 0 : 1);
    eigen(matrix, em->d, em->vector[0], at->axes);
    expand_axes(em, of, at);
    if (is_first || !(at->value < em->points[0].value)) return;
    const em_point swapped = em->points[0];
    em->points[0] = *at, *at = swapped;
}

/* em->points[0] = the axes that covariances share: eigenvectors of a sum with unequal weights, refined on the
 * covariances. In Python: axes_of. */
static void axes_of(em_run *em, const double *covariance) {
    const int64_t k = em->k, d = em->d, cells = d * d;
    double *weighted = em->matrix[2], *scaled = em->white, *ones = em->newton[1];
    memset(weighted, 0, cells * sizeof(double));
    for (int64_t c = 0; c < k; c++) {
        const double part = (c + 1) * 0.6180339887498949, weight = 1.0 + (part - floor(part));
        double trace = 0.0;
        for (int64_t j = 0; j < d; j++) trace += covariance[c * cells + j * (d + 1)];
        for (int64_t i = 0; i < cells; i++) {
            scaled[c * cells + i] = covariance[c * cells + i] / trace;
            weighted[i] += weight * scaled[c * cells + i];
        }
        ones[c] = 1.0;
    }
    const axes_criterion of = {scaled, ones, 0};
    try_axes(em, &of, weighted, 1);
    descend(em, &of, 200);
}

/* Axes to start from without any: the best of those of all components together and of each of the largest. */
static void first_axes(em_run *em, const axes_criterion *of, double *covariance) {
    const int64_t k = em->k, cells = em->d * em->d;
    double *matrix = em->matrix[2];
    memset(matrix, 0, cells * sizeof(double));
    for (int64_t c = 0; c < k; c++)
        for (int64_t i = 0; i < cells; i++) matrix[i] += of->scatter[c * cells + i];
    try_axes(em, of, matrix, 1);
    if (shared_matrix(em, of->scatter, 0, covariance)) {
        memcpy(matrix, covariance, cells * sizeof(double));
        try_axes(em, of, matrix, 0);
    }
    int64_t last = -1;
    for (int rank = 0; rank < 3 && rank < k; rank++) { /* in the order of their rows */
        int64_t next = -1;
        for (int64_t c = 0; c < k; c++) {
            const int after = last < 0 || em->rows[c] < em->rows[last] || (em->rows[c] == em->rows[last] && c > last);
            if (after && (next < 0 || em->rows[c] > em->rows[next])) next = c;
        }
        memcpy(matrix, of->scatter + next * cells, cells * sizeof(double));
        try_axes(em, of, matrix, 0);
        last = next;
    }
}

/* The covariances (k×d×d) of largest likelihood that have the same axes, and these axes, to `after`; returns 0 if
 * there are none. */
int common_axes(em_run *em, const double *scatter, const em_model *before, em_model *after) {
    const int64_t k = em->k, d = em->d, cells = d * d;
    const axes_criterion of = {scatter, em->rows, em->structure == EVE};
    if (!before) {
        first_axes(em, &of, after->covariance);
        descend(em, &of, 200);
    } else {
        if (before->has_axes) {
            memcpy(em->points[0].axes, before->axes, cells * sizeof(double));
            orthonormalise(em->points[0].axes, d);
        } else {
            axes_of(em, before->covariance);
        }
        expand_axes(em, &of, em->points);
        descend(em, &of, 50); /* the next estimate continues */
    }
    const double *axes = em->points[0].axes;
    memcpy(after->axes, axes, cells * sizeof(double));
    after->has_axes = 1;
    for (int64_t c = 0; c < k; c++) {
        product(scatter + c * cells, axes, d, em->matrix[0]);
        for (int64_t j = 0; j < d; j++) {
            double sum = 0.0;
            for (int64_t i = 0; i < d; i++) sum += axes[i * d + j] * em->matrix[0][i * d + j];
            em->along[c * d + j] = sum > 0.0 ? sum : 0.0;
        }
    }
    if (of.equal) {
        if (!equal_volume(em, em->variance)) return 0;
    } else {
        for (int64_t c = 0; c < k; c++)
            for (int64_t j = 0; j < d; j++) em->variance[c * d + j] = em->along[c * d + j] / em->rows[c];
    }
    for (int64_t c = 0; c < k; c++) compose_symmetric(axes, em->variance + c * d, d, after->covariance + c * cells);
    return 1;
}
