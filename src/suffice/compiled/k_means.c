/* k-means over rows of doubles: seeds by k-means++, then Lloyd's algorithm. The rows are transposed once, BLOCK_ROWS
 * at a time, about their mean: blocks[n / BLOCK_ROWS rounded up][d][BLOCK_ROWS]. Fallback: scikit-learn, by
 * _scikit_learns_k_means in suffice.mixtures.kmeans. */
#include "rows.h"

/* blocks = x − origin, transposed; rows that do not exist repeat others. Fallback: that of `k_means`. */
EXPORT int64_t NAME(to_blocks)(const double *x, int64_t stride, int64_t n, int64_t d, const double *origin,
                               double *blocks) {
    for (int64_t i = 0; i < n; i += BLOCK_ROWS, blocks += BLOCK_ROWS * d)
        for (int64_t r = 0; r < BLOCK_ROWS; r += 2 * LANES) {
            const int64_t begin = i + r < n ? i + r : n - 1, rows = n - begin < 2 * LANES ? n - begin : 2 * LANES;
            load_block(x + begin * stride, 0, stride, rows, d, origin, BLOCK_ROWS, blocks + r);
        }
    return 0;
}

/* Return row i of the blocks, whose columns are BLOCK_ROWS apart. */
INLINE const double *row_of(const double *blocks, int64_t d, int64_t i) {
    return blocks + i / BLOCK_ROWS * BLOCK_ROWS * d + i % BLOCK_ROWS;
}
INLINE void copy_row(const double *blocks, int64_t d, int64_t i, double *out) {
    const double *row = row_of(blocks, d, i);
    for (int64_t j = 0; j < d; j++) out[j] = row[j * BLOCK_ROWS];
}

/* out[r] = |z_r − center|² of 2·LANES rows of a block. */
INLINE void squared_distances(const double *block, int64_t d, const double *center, double *out) {
    doubles low = broadcast(0.0), high = broadcast(0.0);
    for (int64_t j = 0; j < d; j++) {
        const doubles middle = broadcast(center[j]);
        const doubles a = load(block + j * BLOCK_ROWS) - middle;
        const doubles b = load(block + j * BLOCK_ROWS + LANES) - middle;
        low += a * a;
        high += b * b;
    }
    store(out, low);
    store(out + LANES, high);
}

/* potentials[t] = Σ_i w_i min(closest_i, |z_i − candidate_t|²) for up to MOST_TRIALS candidates (trials×d). Fallback:
 * that of `k_means`. */
EXPORT int64_t NAME(seed_potentials)(const double *blocks, int64_t n, int64_t d, const double *candidates,
                                     int64_t trials, const double *weight, const double *closest, double *potentials) {
    double sums[MOST_TRIALS][2 * LANES] = {{0}}, distance[2 * LANES], nearest[2 * LANES], w[2 * LANES];
    if (trials > MOST_TRIALS) return OUT_OF_RANGE;
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        const double *block = row_of(blocks, d, i);
        for (int64_t r = 0; r < 2 * LANES; r++) {
            nearest[r] = r < rows ? closest[i + r] : 0.0;
            w[r] = r < rows ? (weight ? weight[i + r] : 1.0) : 0.0;
        }
        for (int64_t t = 0; t < trials; t++) {
            squared_distances(block, d, candidates + t * d, distance);
            for (int r = 0; r < 2 * LANES; r++)
                sums[t][r] += w[r] * (distance[r] < nearest[r] ? distance[r] : nearest[r]);
        }
    }
    for (int64_t t = 0; t < trials; t++) {
        potentials[t] = 0.0;
        for (int r = 0; r < 2 * LANES; r++) potentials[t] += sums[t][r];
    }
    return 0;
}

/* closest_i = min(closest_i, |z_i − center|²), (n,). Fallback: that of `k_means`. */
EXPORT int64_t NAME(seed_take)(const double *blocks, int64_t n, int64_t d, const double *center, double *closest) {
    double distance[2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        squared_distances(row_of(blocks, d, i), d, center, distance);
        for (int64_t r = 0; r < rows; r++) closest[i + r] = distance[r] < closest[i + r] ? distance[r] : closest[i + r];
    }
    return 0;
}

/* places[t] = the first row up to which Σ_i w_i closest_i reaches values[t], otherwise the last row; total[0] = the
 * whole sum. Fallback: that of `k_means`. */
EXPORT int64_t NAME(seed_places)(const double *closest, const double *weight, int64_t n, const double *values,
                                 int64_t trials, int64_t *places, double *total) {
    double sum = 0.0, least = INFINITY;
    for (int64_t t = 0; t < trials; t++) {
        places[t] = -1;
        least = values[t] < least ? values[t] : least;
    }
    for (int64_t i = 0; i < n; i++) {
        sum += weight ? weight[i] * closest[i] : closest[i];
        if (sum >= least) {
            least = INFINITY;
            for (int64_t t = 0; t < trials; t++) {
                if (places[t] < 0 && sum >= values[t]) places[t] = i;
                if (places[t] < 0 && values[t] < least) least = values[t];
            }
        }
    }
    for (int64_t t = 0; t < trials; t++)
        if (places[t] < 0) places[t] = n - 1;
    *total = sum;
    return 0;
}

/* Update the largest z·c − ½|c|² over the centers so far, `best`, and its center, `nearest`, by G more centers, from
 * number `first` on. */
INLINE void nearest_group(const double *block, int64_t d, const double *linear, const double *half, int64_t K,
                          int64_t first, doubles *best, doubles *nearest, const int G) {
    doubles low[MAX_CLASSES], high[MAX_CLASSES];
    for (int g = 0; g < G; g++) low[g] = high[g] = broadcast(half[g]);
    for (int64_t j = 0; j < d; j++) {
        const doubles z = load(block + j * BLOCK_ROWS), y = load(block + j * BLOCK_ROWS + LANES);
        for (int g = 0; g < G; g++) {
            const doubles coefficient = broadcast(linear[j * K + g]);
            low[g] += z * coefficient;
            high[g] += y * coefficient;
        }
    }
    for (int g = 0; g < G; g++) {
        const doubles number = broadcast((double)(first + g));
        nearest[0] = where(low[g] > best[0], number, nearest[0]);
        nearest[1] = where(high[g] > best[1], number, nearest[1]);
        best[0] = maximum(low[g], best[0]);
        best[1] = maximum(high[g], best[1]);
    }
}

/* sums (d) += sign · w · row and count += sign · w, for one cluster. */
INLINE void count_row(const double *row, int64_t d, double w, double sign, double *restrict sums,
                      double *restrict count) {
    *count += sign * w;
    for (int64_t j = 0; j < d; j++) sums[j] += sign * w * row[j * BLOCK_ROWS];
}

/* labels[i] = the nearest of k centers: that with the largest z·c − ½|c|², with the centers in `linear` (d×k) and
 * −½|c|² in `half` (k). sums (k×d) and count (k), those of the previous labels, are updated by the rows that change
 * their cluster; if `fresh`, all rows are added to them. changed[0] += the number of labels that change. Fallback:
 * that of `k_means`. */
EXPORT int64_t NAME(lloyd_pass)(const double *blocks, int64_t n, int64_t d, int64_t k, const double *linear,
                                const double *half, const double *weight, int64_t fresh, int64_t *labels, double *sums,
                                double *count, int64_t *changed) {
    int64_t moved = 0;
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        const double *block = row_of(blocks, d, i);
        doubles best[2] = {broadcast(-INFINITY), broadcast(-INFINITY)}, nearest[2] = {broadcast(0.0), broadcast(0.0)};
        double found[2 * LANES];
        for (int64_t c = 0; c < k;) {
            const int64_t group = group_size(k - c);
            BY_SIZE(group, nearest_group(block, d, linear + c, half + c, k, c, best, nearest, G));
            c += group;
        }
        store(found, nearest[0]);
        store(found + LANES, nearest[1]);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t before = labels[i + r], now = (int64_t)found[r];
            const double w = weight ? weight[i + r] : 1.0;
            if (before == now && !fresh) continue;
            moved += before != now;
            labels[i + r] = now;
            count_row(block + r, d, w, 1.0, sums + now * d, count + now);
            if (!fresh && within(before, k)) count_row(block + r, d, w, -1.0, sums + before * d, count + before);
        }
    }
    *changed += moved;
    return 0;
}

/* linear (d×k) and half (k) of centers (k×d), as `lloyd_pass` reads them. */
static void place_centers(const double *centers, int64_t k, int64_t d, double *linear, double *half) {
    for (int64_t c = 0; c < k; c++) {
        half[c] = 0.0;
        for (int64_t j = 0; j < d; j++) {
            linear[j * k + c] = centers[c * d + j];
            half[c] -= 0.5 * centers[c * d + j] * centers[c * d + j];
        }
    }
}

/* Move to each cluster without rows the row that is farthest from its own center; returns whether there was such a
 * cluster. */
static int fill_empty(const double *blocks, int64_t n, int64_t d, int64_t k, const double *weight,
                      const double *centers, const int64_t *labels, double *distance, double *sums, double *count) {
    int filled = 0;
    for (int64_t c = 0; c < k; c++) {
        if (count[c] > 0.0) continue;
        for (int64_t i = 0; !filled && i < n; i++) {
            const double *row = row_of(blocks, d, i);
            distance[i] = 0.0;
            for (int64_t j = 0; j < d; j++) {
                const double z = row[j * BLOCK_ROWS] - centers[labels[i] * d + j];
                distance[i] += z * z;
            }
        }
        filled = 1;
        int64_t farthest = 0;
        for (int64_t i = 1; i < n; i++) farthest = distance[i] > distance[farthest] ? i : farthest;
        if (!(distance[farthest] > 0.0)) break; /* fewer distinct rows than clusters */
        const double w = weight ? weight[farthest] : 1.0, *row = row_of(blocks, d, farthest);
        count_row(row, d, w, -1.0, sums + labels[farthest] * d, count + labels[farthest]);
        memset(sums + c * d, 0, sizeof(double) * (size_t)d);
        count[c] = 0.0;
        count_row(row, d, w, 1.0, sums + c * d, count + c);
        distance[farthest] = -1.0;
    }
    return filled;
}

/* centers = sums / count (k×d); a cluster without rows gets the center of the largest. Returns Σ|change|². */
static double average_centers(const double *sums, const double *count, int64_t k, int64_t d, double *centers) {
    int64_t largest = 0;
    double shift = 0.0;
    for (int64_t c = 1; c < k; c++) largest = count[c] > count[largest] ? c : largest;
    for (int64_t c = 0; c < k; c++) {
        const int64_t from = count[c] > 0.0 ? c : largest;
        for (int64_t j = 0; j < d; j++) {
            const double mean = sums[from * d + j] / count[from], moved = mean - centers[c * d + j];
            shift += moved * moved;
            centers[c * d + j] = mean;
        }
    }
    return shift;
}

/* The centers (k×d) after a pass over all rows; shift[0] = Σ|change|². If clusters without rows are filled, sums and
 * count no longer match the labels. `distance` is scratch of n. Fallback: that of `k_means`. */
EXPORT int64_t NAME(lloyd_centers)(const double *blocks, int64_t n, int64_t d, int64_t k, const double *weight,
                                   const int64_t *labels, double *distance, double *sums, double *count,
                                   double *centers, double *shift) {
    if (!codes_within(labels, n, k)) return OUT_OF_RANGE;
    fill_empty(blocks, n, d, k, weight, centers, labels, distance, sums, count);
    *shift = average_centers(sums, count, k, d, centers);
    return 0;
}

/* All of k-means for few rows: the first seed is the row `first`, each further one the best of `trials` rows that
 * `uniforms` ((k − 1)×trials, between 0 and 1) draw in proportion to their squared distance; then at most `iterations`
 * iterations of Lloyd's algorithm, until no label changes or the centers move by at most √tol. Returns the number of
 * iterations. `work` is scratch of K_MEANS_WORK. Fallback: _scikit_learns_k_means in suffice.mixtures.kmeans. */
EXPORT int64_t NAME(k_means)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *origin,
                             const double *weight, int64_t first, const double *uniforms, int64_t trials,
                             int64_t iterations, const double *tol, double *work, int64_t *labels, double *centers) {
    double *blocks = work, *closest = blocks + (n + BLOCK_ROWS) * d, *candidates = closest + n;
    double *linear = candidates + trials * d, *sums = linear + k * d, *half = sums + k * d, *count = half + k;
    double values[MOST_TRIALS], potentials[MOST_TRIALS], total;
    int64_t places[MOST_TRIALS], iteration = 0, changed = 1;
    int fresh = 1;
    if (!within(first, n) || trials < 1 || trials > MOST_TRIALS) return OUT_OF_RANGE;
    NAME(to_blocks)(x, stride, n, d, origin, blocks);
    for (int64_t i = 0; i < n; i++) closest[i] = INFINITY, labels[i] = -1;
    copy_row(blocks, d, first, centers);
    NAME(seed_take)(blocks, n, d, centers, closest);
    NAME(seed_places)(closest, weight, n, values, 0, places, &total);
    for (int64_t c = 1; c < k; c++) {
        int64_t best = 0;
        for (int64_t t = 0; t < trials; t++) values[t] = uniforms[(c - 1) * trials + t] * total;
        NAME(seed_places)(closest, weight, n, values, trials, places, &total);
        for (int64_t t = 0; t < trials; t++) copy_row(blocks, d, places[t], candidates + t * d);
        NAME(seed_potentials)(blocks, n, d, candidates, trials, weight, closest, potentials);
        for (int64_t t = 1; t < trials; t++) best = potentials[t] < potentials[best] ? t : best;
        memcpy(centers + c * d, candidates + best * d, sizeof(double) * (size_t)d);
        NAME(seed_take)(blocks, n, d, centers + c * d, closest);
        total = potentials[best];
    }
    while (changed) {
        const int last = iteration == iterations;
        changed = 0;
        if (fresh) {
            memset(sums, 0, sizeof(double) * (size_t)(k * d));
            memset(count, 0, sizeof(double) * (size_t)k);
        }
        place_centers(centers, k, d, linear, half);
        NAME(lloyd_pass)(blocks, n, d, k, linear, half, weight, fresh, labels, sums, count, &changed);
        if (last || !changed) break;
        fresh = fill_empty(blocks, n, d, k, weight, centers, labels, closest, sums, count);
        fresh |= weight != 0; /* weights that are added and subtracted again may not sum to 0 */
        if (average_centers(sums, count, k, d, centers) <= *tol) iterations = iteration + 1;
        iteration++;
    }
    return iteration;
}
