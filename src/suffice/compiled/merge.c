/* Agglomerative clustering by the likelihood of Gaussian clusters: the two clusters whose merger costs least become
 * one, until one is left. The cost of a merger depends on its two clusters alone, so all pairs are computed once, and
 * those of a new cluster when it is made. */
#include "common.h"

/* The current clusters, one per column of the arrays, which have `room` columns. */
typedef struct {
    int64_t room, d, criterion;
    double alpha;                                  /* keeps the cost of a cluster without scatter finite */
    double *count, *trace, *cost, *mean, *scatter; /* (room); d×room; one row per pair a ≤ b of columns */
    double *delta, *matrix;                        /* work space, d×GROUP and pairs×GROUP */
    float *gain, *least;                           /* of row r > c in gain[r(r−1)/2 + c]; the least of each row */
    int64_t *nearest, *name;
} clusters;

/* determinant[g] *= |matrix_g| of GROUP symmetric matrices, whose upper triangles are stored row by row, by
 * elimination, which overwrites them. */
static void determinants(double *matrix, int64_t d, double *determinant) {
    double *restrict row = matrix; /* cells (a, a), (a, a + 1), … of the matrices, by elimination */
    for (int64_t a = 0; a < d; a++) {
        double inverse[GROUP], *restrict below = row + (d - a) * GROUP;
        for (int64_t g = 0; g < GROUP; g++) {
            const double pivot = row[g] > 0.0 ? row[g] : 0.0; /* 0 if the matrix is singular */
            determinant[g] *= pivot;
            inverse[g] = pivot > 0.0 ? 1.0 / pivot : 0.0;
        }
        for (int64_t b = 1; b < d - a; b++)
            for (int64_t c = b; c < d - a; c++, below += GROUP)
                for (int64_t g = 0; g < GROUP; g++) below[g] -= row[b * GROUP + g] * row[c * GROUP + g] * inverse[g];
        row += (d - a) * GROUP;
    }
}

/* out[g] = the costs of the unions of cluster i with `size` clusters from `begin` on, at most GROUP. With n rows and
 * the scatter matrix W these are tr W (SAME_SPHERES), n log((tr W + α)/n) (OWN_SPHERES) or n log(|W/n| + (tr W + α)/n)
 * (OWN_ELLIPSOIDS), with a determinant only if n > d. */
static void costs_of_unions(const clusters *all, int64_t i, int64_t begin, int64_t size, double *out) {
    const int64_t d = all->d, room = all->room;
    double count[GROUP], factor[GROUP], trace[GROUP], determinant[GROUP], *restrict delta = all->delta, most = 0.0;
    double widest = 0.0, least = INFINITY;
    int64_t other[GROUP];
    for (int64_t g = 0; g < GROUP; g++) {
        other[g] = g < size ? begin + g : begin;
        count[g] = all->count[i] + all->count[other[g]];
        factor[g] = all->count[i] * all->count[other[g]] / count[g];
        trace[g] = all->trace[i] + all->trace[other[g]];
        most = count[g] > most ? count[g] : most;
    }
    for (int64_t j = 0; j < d; j++, delta += GROUP) {
        const double *mean = all->mean + j * room;
        for (int64_t g = 0; g < GROUP; g++) delta[g] = mean[other[g]] - mean[i];
        for (int64_t g = 0; g < GROUP; g++) trace[g] += factor[g] * delta[g] * delta[g];
    }
    if (all->criterion == SAME_SPHERES) {
        for (int64_t g = 0; g < size; g++) out[g] = trace[g];
        return;
    }
    for (int64_t g = 0; g < GROUP; g++) {
        determinant[g] = count[g] > (double)d ? 1.0 : 0.0;
        widest = trace[g] / count[g] > widest ? trace[g] / count[g] : widest;
        least = (trace[g] + all->alpha) / count[g] < least ? (trace[g] + all->alpha) / count[g] : least;
    }
    /* |W/n| ≤ (tr W/(n d))^d, which is negligible beside the trace if there are many columns */
    const int matters = (double)d * log(widest / (double)d) > log(NEGLIGIBLE_DETERMINANT * least);
    if (all->criterion == OWN_ELLIPSOIDS && most > (double)d && matters) {
        double *restrict cell = all->matrix;
        const double *scatter = all->scatter;
        for (int64_t a = 0; a < d; a++)
            for (int64_t b = a; b < d; b++, cell += GROUP, scatter += room) {
                const double *restrict one = all->delta + a * GROUP, *restrict two = all->delta + b * GROUP;
                for (int64_t g = 0; g < GROUP; g++)
                    cell[g] = (scatter[i] + scatter[other[g]] + factor[g] * one[g] * two[g]) / count[g];
            }
        determinants(all->matrix, d, determinant);
    } else {
        for (int64_t g = 0; g < GROUP; g++) determinant[g] = 0.0;
    }
    for (int64_t g = 0; g < size; g++) out[g] = count[g] * log(determinant[g] + (trace[g] + all->alpha) / count[g]);
}

/* Return the place of the gain of two clusters. */
static float *gain_of(const clusters *all, int64_t r, int64_t c) {
    return all->gain + (r > c ? r * (r - 1) / 2 + c : c * (c - 1) / 2 + r);
}

/* Find the least gain of row r again; ties take the last. */
static void rescan(const clusters *all, int64_t r) {
    const float *gain = all->gain + r * (r - 1) / 2;
    float least = INFINITY;
    int64_t nearest = 0;
    for (int64_t c = 0; c < r; c++)
        if (gain[c] <= least) {
            least = gain[c];
            nearest = c;
        }
    all->least[r] = least;
    all->nearest[r] = nearest;
}

/* Update the least gain of row r by a new gain in column c < r. */
static void renew(const clusters *all, int64_t r, int64_t c) {
    const float gain = *gain_of(all, r, c);
    if (all->nearest[r] == c && gain > all->least[r]) {
        rescan(all, r);
    } else if (gain < all->least[r] || (gain == all->least[r] && c > all->nearest[r])) {
        all->least[r] = gain;
        all->nearest[r] = c;
    }
}

/* Compute the gains of cluster i with those from `begin` to `end`. Gains are kept in float, so that those that differ
 * by rounding only are ties on every processor. */
static void compute_gains(const clusters *all, int64_t i, int64_t begin, int64_t end) {
    double cost[GROUP];
    for (int64_t c = begin; c < end; c += GROUP) {
        const int64_t size = end - c < GROUP ? end - c : GROUP;
        costs_of_unions(all, i, c, size, cost);
        for (int64_t g = 0; g < size; g++)
            if (c + g != i) *gain_of(all, i, c + g) = (float)(cost[g] - all->cost[i] - all->cost[c + g]);
    }
}

/* Replace cluster `low` by its union with `high`. */
static void merge_into(const clusters *all, int64_t low, int64_t high) {
    const int64_t d = all->d, room = all->room;
    const double sum = all->count[low] + all->count[high], factor = all->count[low] * all->count[high] / sum;
    double *scatter = all->scatter, cost;
    costs_of_unions(all, low, high, 1, &cost);
    all->cost[low] = cost;
    all->trace[low] += all->trace[high];
    for (int64_t a = 0; a < d; a++) {
        const double one = all->mean[a * room + high] - all->mean[a * room + low];
        all->trace[low] += factor * one * one;
        for (int64_t b = a; b < d; b++, scatter += room)
            scatter[low] += scatter[high] + factor * one * (all->mean[b * room + high] - all->mean[b * room + low]);
    }
    for (int64_t a = 0; a < d; a++) {
        double *mean = all->mean + a * room;
        mean[low] += (mean[high] - mean[low]) * all->count[high] / sum;
    }
    all->count[low] = sum;
}

/* Move cluster `last` to the free place `to`. */
static void move(const clusters *all, int64_t last, int64_t to) {
    const int64_t rows = all->d + all->d * (all->d + 1) / 2;
    all->count[to] = all->count[last];
    all->trace[to] = all->trace[last];
    all->cost[to] = all->cost[last];
    all->name[to] = all->name[last];
    for (int64_t row = 0; row < rows; row++) all->mean[row * all->room + to] = all->mean[row * all->room + last];
    for (int64_t c = 0; c < last; c++)
        if (c != to) *gain_of(all, to, c) = *gain_of(all, last, c);
}

/* Merge clusters until one is left. Cluster c begins as count[c] rows at mean[c] (n×d); the cost of a union is that of
 * `costs_of_unions`, and each merger has the least cost(union) − cost(a) − cost(b), the last pair among ties. Writes
 * the two clusters of each merger to `merged`, (n − 1)×2; the union keeps the number of the first. Scratch: `work` of
 * MERGE_WORK, `gain` of n(n−1)/2, `least` of n, `places` of 2n. NumPy fallback: _merge_clusters in
 * suffice.mixtures.agglomeration. */
EXPORT int64_t NAME(merge_clusters)(const double *count, const double *mean, int64_t n, int64_t d, int64_t criterion,
                                    const double *alpha, double *work, float *gain, float *least, int64_t *places,
                                    int64_t *merged) {
    const int64_t pairs = d * (d + 1) / 2;
    double *means = work + 3 * n, *scatters = means + d * n, *delta = scatters + pairs * n;
    const clusters all = {.room = n,
                          .d = d,
                          .criterion = criterion,
                          .alpha = *alpha,
                          .count = work,
                          .trace = work + n,
                          .cost = work + 2 * n,
                          .mean = means,
                          .scatter = scatters,
                          .delta = delta,
                          .matrix = delta + d * GROUP,
                          .gain = gain,
                          .least = least,
                          .nearest = places,
                          .name = places + n};
    memset(scatters, 0, sizeof(double) * (size_t)(pairs * n));
    for (int64_t c = 0; c < n; c++) {
        all.name[c] = c;
        all.count[c] = count[c];
        all.trace[c] = 0.0;
        all.cost[c] = criterion == SAME_SPHERES ? 0.0 : count[c] * log(*alpha / count[c]);
        for (int64_t j = 0; j < d; j++) all.mean[j * n + c] = mean[c * d + j];
    }
    for (int64_t r = 1; r < n; r++) {
        compute_gains(&all, r, 0, r);
        rescan(&all, r);
    }
    for (int64_t left = n; left > 1; left--, merged += 2) {
        const int64_t last = left - 1;
        int64_t high = 1;
        for (int64_t r = 2; r < left; r++)
            if (least[r] <= least[high]) high = r;
        const int64_t low = all.nearest[high];
        merged[0] = all.name[low];
        merged[1] = all.name[high];
        merge_into(&all, low, high);
        if (high != last) move(&all, last, high);
        if (high < last && high > 0) rescan(&all, high);
        compute_gains(&all, low, 0, last);
        if (low > 0) rescan(&all, low);
        for (int64_t r = low + 1; r < last; r++) {
            /* the gains of column `high` are now those of another cluster */
            if (r > high && all.nearest[r] == high)
                rescan(&all, r);
            else if (r > high)
                renew(&all, r, high);
            renew(&all, r, low);
        }
    }
    return 0;
}
