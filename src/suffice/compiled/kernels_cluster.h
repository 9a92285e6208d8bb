/* k-means over rows of doubles: seeds by k-means++, and Lloyd's algorithm. Rows and centers are taken about `origin`. */

/* |z − center|² of 2·LANES transposed rows */
INLINE void NAME(squared_distances)(const double *block, int64_t d, const double *center, double *out) {
    lanes low = all(0.0), high = all(0.0);
    for (int64_t j = 0; j < d; j++) {
        const lanes middle = all(center[j]);
        const lanes a = subtract(load(block + j * 2 * LANES), middle);
        const lanes b = subtract(load(block + j * 2 * LANES + LANES), middle);
        low = multiply_add(a, a, low);
        high = multiply_add(b, b, high);
    }
    store(out, low);
    store(out + LANES, high);
}

/* potentials[t] = Σ weight · min(closest, |z − candidate_t|²) for up to MOST_TRIALS candidates (trials×d). `block` has
 * room for 2·LANES·d. */
EXPORT int64_t NAME(seed_potentials)(const double *x, int64_t stride, int64_t n, int64_t d, const double *origin,
                                  const double *candidates, int64_t trials, const double *weight, const double *closest,
                                  double *block, double *potentials) {
    double sums[MOST_TRIALS][2 * LANES] = {{0}}, distance[2 * LANES], nearest[2 * LANES], w[2 * LANES];
    if (trials > MOST_TRIALS) return OUT_OF_RANGE;
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        JOIN(load_block, double, LEVEL)(x + i * stride, stride, rows, d, origin, 2 * LANES, block);
        for (int64_t r = 0; r < 2 * LANES; r++) {
            nearest[r] = r < rows ? closest[i + r] : 0.0;
            w[r] = r < rows ? (weight ? weight[i + r] : 1.0) : 0.0;
        }
        for (int64_t t = 0; t < trials; t++) {
            NAME(squared_distances)(block, d, candidates + t * d, distance);
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

/* closest = min(closest, |z − center|²) */
EXPORT int64_t NAME(seed_take)(const double *x, int64_t stride, int64_t n, int64_t d, const double *origin,
                            const double *center, double *block, double *closest) {
    double distance[2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        JOIN(load_block, double, LEVEL)(x + i * stride, stride, rows, d, origin, 2 * LANES, block);
        NAME(squared_distances)(block, d, center, distance);
        for (int64_t r = 0; r < rows; r++) closest[i + r] = distance[r] < closest[i + r] ? distance[r] : closest[i + r];
    }
    return 0;
}

/* places[t] = the first row up to which Σ weight · closest reaches values[t], or the last; total[0] is the whole sum */
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

/* Put each row to the nearest of k centers: labels, and sums (k×d) and count (k) += those of the rows by weight. The
 * nearest center has the largest z·c − ½|c|²; `linear` (d×k) are the centers and `half` (k) is −½|c|². changed[0] += how
 * many labels are not what they were. `block` has room for 2·LANES·d. */
EXPORT int64_t NAME(lloyd_pass)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *origin,
                             const double *linear, const double *half, const double *weight, double *block,
                             int64_t *labels, double *sums, double *count, int64_t *changed) {
    double scores[MOST * 2 * LANES], best[2 * LANES];
    int64_t nearest[2 * LANES], moved = 0;
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const int64_t rows = n - i < 2 * LANES ? n - i : 2 * LANES;
        JOIN(load_block, double, LEVEL)(x + i * stride, stride, rows, d, origin, 2 * LANES, block);
        for (int r = 0; r < 2 * LANES; r++) best[r] = -INFINITY, nearest[r] = 0;
        for (int64_t c = 0; c < k;) {
            const int64_t group = group_size(k - c);
#define RUN(G) JOIN(linear_group, double, LEVEL)(block, d, linear + c, k, scores, G)
            BY_SIZE(group, RUN)
#undef RUN
            for (int64_t g = 0; g < group; g++)
                for (int r = 0; r < 2 * LANES; r++) {
                    const double score = scores[g * 2 * LANES + r] + half[c + g];
                    nearest[r] = score > best[r] ? c + g : nearest[r];
                    best[r] = score > best[r] ? score : best[r];
                }
            c += group;
        }
        for (int64_t r = 0; r < rows; r++) {
            const double w = weight ? weight[i + r] : 1.0, *row = x + (i + r) * stride;
            double *restrict own = sums + nearest[r] * d;
            moved += labels[i + r] != nearest[r];
            labels[i + r] = nearest[r];
            count[nearest[r]] += w;
            for (int64_t j = 0; j < d; j++) own[j] += w * (row[j] - origin[j]);
        }
    }
    *changed += moved;
    return 0;
}

/* linear (d×k) and half (k) of centers (k×d) */
static void NAME(place_centers)(const double *centers, int64_t k, int64_t d, double *linear, double *half) {
    for (int64_t c = 0; c < k; c++) {
        half[c] = 0.0;
        for (int64_t j = 0; j < d; j++) {
            linear[j * k + c] = centers[c * d + j];
            half[c] -= 0.5 * centers[c * d + j] * centers[c * d + j];
        }
    }
}

/* Give each cluster without rows the row that is farthest from the center of its own, and take it off there. */
static void NAME(fill_empty)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *origin,
                             const double *weight, const double *centers, const int64_t *labels, double *distance,
                             double *sums, double *count) {
    int ready = 0;
    for (int64_t c = 0; c < k; c++) {
        if (count[c] > 0.0) continue;
        for (int64_t i = 0; !ready && i < n; i++) {
            distance[i] = 0.0;
            for (int64_t j = 0; j < d; j++) {
                const double z = x[i * stride + j] - origin[j] - centers[labels[i] * d + j];
                distance[i] += z * z;
            }
        }
        ready = 1;
        int64_t farthest = 0;
        for (int64_t i = 1; i < n; i++) farthest = distance[i] > distance[farthest] ? i : farthest;
        if (!(distance[farthest] > 0.0)) return; /* fewer distinct rows than clusters */
        const double w = weight ? weight[farthest] : 1.0;
        for (int64_t j = 0; j < d; j++) {
            const double z = w * (x[farthest * stride + j] - origin[j]);
            sums[labels[farthest] * d + j] -= z;
            sums[c * d + j] = z;
        }
        count[labels[farthest]] -= w;
        count[c] = w;
        distance[farthest] = -1.0;
    }
}

/* centers = sums / count (k×d); a cluster without rows gets the center of the largest. Returns Σ|change|². */
static double NAME(average_centers)(const double *sums, const double *count, int64_t k, int64_t d, double *centers) {
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

/* After a pass of Lloyd's algorithm over all rows: the next centers (k×d); shift[0] is the squared way that they went.
 * `distance` is scratch of n. */
EXPORT int64_t NAME(lloyd_centers)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *origin,
                                const double *weight, const int64_t *labels, double *distance, double *sums,
                                double *count, double *centers, double *shift) {
    if (!codes_within(labels, n, k)) return OUT_OF_RANGE;
    NAME(fill_empty)(x, stride, n, d, k, origin, weight, centers, labels, distance, sums, count);
    *shift = NAME(average_centers)(sums, count, k, d, centers);
    return 0;
}

/* All of k-means for rows that are few: seeds beginning with the row `first` and then the best of `trials` that
 * `uniforms` ((k − 1)×trials, between 0 and 1) draw, and up to `rounds` of Lloyd's algorithm, until no label changes or
 * the centers move by no more than √tol. `work` has room for K_MEANS_WORK. */
EXPORT int64_t NAME(k_means)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *origin,
                             const double *weight, int64_t first, const double *uniforms, int64_t trials,
                             int64_t rounds, const double *tol, double *work, int64_t *labels, double *centers) {
    double *block = work, *closest = block + 2 * LANES * d, *candidates = closest + n, *linear = candidates + trials * d;
    double *sums = linear + k * d, *half = sums + k * d, *count = half + k;
    double values[MOST_TRIALS], potentials[MOST_TRIALS], total;
    int64_t places[MOST_TRIALS], round = 0, changed = 1;
    if (!within(first, n) || trials < 1 || trials > MOST_TRIALS) return OUT_OF_RANGE;
    for (int64_t i = 0; i < n; i++) closest[i] = INFINITY, labels[i] = -1;
    for (int64_t j = 0; j < d; j++) centers[j] = x[first * stride + j] - origin[j];
    NAME(seed_take)(x, stride, n, d, origin, centers, block, closest);
    NAME(seed_places)(closest, weight, n, values, 0, places, &total);
    for (int64_t c = 1; c < k; c++) {
        int64_t best = 0;
        for (int64_t t = 0; t < trials; t++) values[t] = uniforms[(c - 1) * trials + t] * total;
        NAME(seed_places)(closest, weight, n, values, trials, places, &total);
        for (int64_t t = 0; t < trials; t++)
            for (int64_t j = 0; j < d; j++) candidates[t * d + j] = x[places[t] * stride + j] - origin[j];
        NAME(seed_potentials)(x, stride, n, d, origin, candidates, trials, weight, closest, block, potentials);
        for (int64_t t = 1; t < trials; t++) best = potentials[t] < potentials[best] ? t : best;
        memcpy(centers + c * d, candidates + best * d, sizeof(double) * (size_t)d);
        NAME(seed_take)(x, stride, n, d, origin, centers + c * d, block, closest);
        total = potentials[best];
    }
    while (changed) {
        const int last = round == rounds;
        changed = 0;
        memset(sums, 0, sizeof(double) * (size_t)(k * d));
        memset(count, 0, sizeof(double) * (size_t)k);
        NAME(place_centers)(centers, k, d, linear, half);
        NAME(lloyd_pass)(x, stride, n, d, k, origin, linear, half, weight, block, labels, sums, count, &changed);
        if (last || !changed) break;
        NAME(fill_empty)(x, stride, n, d, k, origin, weight, centers, labels, closest, sums, count);
        if (NAME(average_centers)(sums, count, k, d, centers) <= *tol) rounds = round + 1;
        round++;
    }
    return round;
}
