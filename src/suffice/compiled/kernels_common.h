/* What every translation unit of the kernels needs: exports, and the numbers that Python declares too (signatures.py).
 *
 * Plain C with the vector extensions of GCC and clang: no Python or NumPy headers, so one library serves every Python.
 * Called through ctypes, which lets other threads run meanwhile. Every kernel has a NumPy fallback with the same results.
 * Sums are kept in double whatever the rows are. Rows are row-major; `stride` counts cells from row to row.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#if !defined(__GNUC__)
#error "the kernels need the vector extensions of GCC or clang; without them their NumPy fallbacks are used"
#endif
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define INLINE static inline __attribute__((always_inline))
#define prefetch(address) __builtin_prefetch(address)

#define JOIN_(function, type, level) function##_##type##_##level
#define JOIN(function, type, level) JOIN_(function, type, level)

/* Every kernel returns an int64_t: 0, some of these flags, or a number of rows; and one of the negative ones on failure. */
enum { NOT_FINITE = 1, NEGATIVE = 2, NOT_BINARY = 4 };
enum { INFINITE = -1, OUT_OF_RANGE = -2 };

enum { LOGISTIC, LOG_LINEAR, PREDICTOR, GIVEN };    /* what a pass of a linear model is for */
enum { FULL, TIED, SCALED, DIAGONAL, SPHERE };      /* the form of a mixture's scores */
/* covariance structures of a mixture, by mclust's codes; GIVEN_SPHERE is one given variance */
enum { EII, VII, EEI, VEI, EVI, VVI, EEE, VEE, EVE, VVE, EEV, VEV, EVV, VVV, GIVEN_SPHERE };
/* where the iterations of EM begin, their settings by place in an array, and how they ended */
enum { BEGIN_AT_MODEL, BEGIN_WITH_LABELS, BEGIN_WITH_SHARES };
enum {
    TOL, STRENGTH, GIVEN_VARIANCE, BOUND_BEFORE, EQUAL_SHARES, RIDGE, ABSOLUTE, LEAST, OFFSET, ACCELERATE, N_SETTINGS
};
enum { NO_LEAPS, LEAPS_BEGIN, LEAPS_CONTINUE }; /* what ACCELERATE may be */
enum { EM_CONTINUES, EM_CONVERGED, EM_NO_ESTIMATE, EM_NOT_FINITE, EM_CONSTANT };
enum { SAME_SPHERES, OWN_SPHERES, OWN_ELLIPSOIDS }; /* what a cluster costs that two are merged to */
enum { GROUP = 8 };                                 /* clusters whose mergers are computed side by side */
enum { MOST_TRIALS = 16 };                          /* candidates for one seed of k-means */
enum { MOST_STARTS = 16 };                          /* starts of EM that race against each other */
enum { LINE_BYTES = 64 };                           /* of a cache line, and of the widest register */
enum { MOST_LANES = LINE_BYTES / sizeof(double) };  /* doubles in the widest register of any level */
enum { BLOCK_ROWS = 2 * MOST_LANES };                 /* rows that lie transposed side by side for k-means */
enum { FEW = 5 };                                   /* columns whose products `quadratic_scores` sums together */
enum { SPARE = 8 };                                 /* entries that fill up the last tile of a list of products */
enum { BLOCK_BYTES = 2048 };                        /* of a column of a block of rows in a pass of EM */
enum { STEP_BYTES = BLOCK_BYTES + 128 };            /* between columns, which begin at different places of the cache */
enum { AHEAD = 8 };                                 /* cells of a sparse row whose parameters are prefetched */

/* Sizes of scratch memory, which Python allocates (and compares its formulas with these when it loads the library) */
#define ROOM(k, products) (2 * (k) * ((products) + SPARE) + 64) /* sums of products, filled up to whole tiles */
#define CONDITIONAL_SIZE(d) (3 * (d) * (d) + 1)
#define PATTERNS_WORK(d, k, forms)                                                                                     \
    (3 * (d) * (d) + 2 * (d) + (forms) * CONDITIONAL_SIZE(d) + (k) + (k) * (d) + (k) * ((d) * ((d) + 1) / 2))
#define PATTERNS_PLACES(d) (2 * (d) + ((d) + 1) * ((d) + 2) + 2 * SPARE)
#define K_MEANS_WORK(n, d, k, trials) (((n) + BLOCK_ROWS) * (d) + (n) + ((trials) + 2 * (k)) * (d) + 2 * (k))
#define MERGE_WORK(n, d) (3 * (n) + ((d) + (d) * ((d) + 1) / 2) * ((n) + GROUP))
#define HOLES_WORK(d, D) (2 * (D) + 2 * (d) * (d) + (d))
