/* Sizes, codes and tolerances of all kernels.
 *
 * The enumerations and the sizes of scratch memory also stand in signatures.py; boundary.py compares them with
 * these (library.c) when it loads the library. Tolerances name the constant of Python that has the same value, if any.
 */
#ifndef SUFFICE_CONSTANTS_H
#define SUFFICE_CONSTANTS_H

/* -- results ------------------------------------------------------------------------------------------------------- */

/* Every kernel returns an int64_t: 0, some of these flags, or a number of rows; a negative code on failure. */
enum { NOT_FINITE = 1, NEGATIVE = 2, NOT_BINARY = 4 };
enum { INFINITE = -1, OUT_OF_RANGE = -2 };
enum { WORDS_FULL = 1, STORE_FULL = 2, BAGS_FULL = 4 }; /* the arrays of a table of words that must be longer */

/* -- choices ------------------------------------------------------------------------------------------------------- */

/* the mode of a pass of a generalised linear model */
enum { LOGISTIC, LOG_LINEAR, PREDICTOR, GIVEN };

/* the form of a mixture's scores */
enum { FULL, TIED, SCALED, DIAGONAL, SPHERE };

/* covariance structures of a mixture, by mclust's codes; GIVEN_SPHERE has one given variance */
enum { EII, VII, EEI, VEI, EVI, VVI, EEE, VEE, EVE, VVE, EEV, VEV, EVV, VVV, GIVEN_SPHERE };

/* how the EM loop starts, the positions of its settings in their array, and how it ended */
enum { BEGIN_AT_MODEL, BEGIN_WITH_LABELS, BEGIN_WITH_SHARES };
enum {
    TOL,
    STRENGTH,
    GIVEN_VARIANCE,
    BOUND_BEFORE,
    EQUAL_SHARES,
    RIDGE,
    ABSOLUTE,
    LEAST,
    OFFSET,
    ACCELERATE,
    N_SETTINGS
};
enum { NO_EXTRAPOLATION, EXTRAPOLATION_BEGINS, EXTRAPOLATION_CONTINUES }; /* values of ACCELERATE */
enum { EM_CONTINUES, EM_CONVERGED, EM_NO_ESTIMATE, EM_NOT_FINITE, EM_CONSTANT };

/* the cost of a merged cluster */
enum { SAME_SPHERES, OWN_SPHERES, OWN_ELLIPSOIDS };

/* -- sizes --------------------------------------------------------------------------------------------------------- */

enum { LINE_BYTES = 64 };                          /* of a cache line, and of the widest register */
enum { MOST_LANES = LINE_BYTES / sizeof(double) }; /* doubles in the widest register of any instruction set */
enum { BLOCK_BYTES = 2048 };                       /* of a column of a block of rows in an EM pass */
enum { STEP_BYTES = BLOCK_BYTES + 128 };           /* between columns, which so begin in different sets of the cache */
enum { BLOCK_ROWS = 2 * MOST_LANES };              /* rows that are stored transposed side by side for k-means */
enum { TILE_ROWS = 256 };                          /* rows of codes, or of float products, that are summed at a time */
enum { PACKED_COLUMNS = 5 };                       /* columns whose products `quadratic_scores` sums together */
enum { PADDING = 8 };                              /* entries that fill the last tile of a list of products */
enum { GROUP = 8 };                                /* clusters whose mergers are computed side by side */
enum { MOST_TRIALS = 16 };                         /* candidates for one seed of k-means */
enum { MOST_STARTS = 16 };                         /* starts of EM that `em_race` compares */
enum { LETTERS_BYTES = 0x110000 / 8 };             /* one bit per character of Unicode */
enum { PAST_BYTES = 8 };                           /* that can be read past the end of a text */
enum { PREFETCH_AHEAD = 8 };                       /* rows, or cells of a sparse row, that are prefetched in advance */

/* rows of CELL in a block of an EM pass, which are whole pairs of registers, and cells between its columns */
#define BLOCK (BLOCK_BYTES / (int64_t)sizeof(CELL))
#define STEP (STEP_BYTES / (int64_t)sizeof(CELL))

/* scratch memory, in cells */
#define SUMS_SIZE(k, products) (2 * (k) * ((products) + PADDING) + 64) /* sums of products, in whole tiles */
#define CONDITIONAL_SIZE(d) (3 * (d) * (d) + 1)
#define PATTERNS_WORK(d, k, forms)                                                                                     \
    (3 * (d) * (d) + 2 * (d) + (forms) * CONDITIONAL_SIZE(d) + (k) + (k) * (d) + (k) * ((d) * ((d) + 1) / 2))
#define PATTERNS_PLACES(d) (2 * (d) + ((d) + 1) * ((d) + 2) + 2 * PADDING)
#define K_MEANS_WORK(n, d, k, trials) (((n) + BLOCK_ROWS) * (d) + (n) + ((trials) + 2 * (k)) * (d) + 2 * (k))
#define MERGE_WORK(n, d) (3 * (n) + ((d) + (d) * ((d) + 1) / 2) * ((n) + GROUP))
#define MISSING_WORK(d, D) (2 * (D) + 2 * (d) * (d) + (d))

/* -- numbers ------------------------------------------------------------------------------------------------------- */

#define LOG_2PI 1.8378770664093453
#define EPSILON 2.220446049250313e-16           /* of double */
#define SMALLEST_NUMBER 2.2250738585072014e-308 /* the smallest normal double */
#define LARGEST_NUMBER 1.7e308                  /* a variance or pivot above this is not finite */
#define LEAST_WEIGHT 1e-130    /* smaller responsibilities count as 0: their products would be subnormal */
#define LARGEST_LOG_MEAN 700.0 /* the sums over rows of larger exp η could overflow */

/* the exponent up to which responsibilities of a pass in cells of CELL are 0: their products would be subnormal */
#define LEAST_EXPONENT (sizeof(CELL) == sizeof(double) ? -300.0 : -40.0)

/* -- tolerances ---------------------------------------------------------------------------------------------------- */

/* error of the product form in a log-density; _TOLERATED in suffice.families.gaussian.quadratic */
#define TOLERATED_ERROR 1e-10
/* the smallest pivot of a correlation matrix that counts as regular; _SMALLEST_PIVOT in
 * suffice.families.gaussian.quadratic */
#define SMALLEST_PIVOT 1e-7
/* a scatter that is a smaller part of the second moments has lost half its digits, as in suffice.statistics.moments */
#define LOST_DIGITS 1e-7
/* standard deviations times √½ up to which a mean may be scaled before the subtraction; _NEAR in suffice.compiled */
#define MAX_SCALED_MEAN 256.0
/* relative gain of the bound at which EM has settled on an optimum; _SETTLED in suffice.optimize.extrapolation and
 * _SETTLED in suffice.mixtures.best_start */
#define SETTLED 1e-4
/* the maximum length of the first extrapolation step, and the factor by which that changes; _FIRST in
 * suffice.optimize.extrapolation and _LONGER in suffice.optimize.extrapolation */
#define LONGEST_FIRST_STEP 4.0
/* a shorter extrapolation step is not worth its pass over the rows; _SHORTEST in suffice.optimize.extrapolation */
#define SHORTEST_STEP 1.2
/* relative ridge that keeps correlations below 1 under a prior; _LEAST_RIDGE in
 * suffice.families.gaussian.covariance.data_scaled_prior */
#define LEAST_RIDGE 1e-10
/* log-likelihood per row that rounding may cost if covariances are almost singular; _SPOILT in
 * suffice.families.gaussian.covariance.constrained */
#define SPOILT_LOG_LIKELIHOOD 1e-6
/* part of the trace below which an eigendecomposition loses a variance; _LEAST_EIGENVALUE in
 * suffice.families.gaussian.covariance.constrained */
#define LEAST_EIGENVALUE 1e-13
/* the largest angle of one step of the search for common axes; _LARGEST_ANGLE in
 * suffice.families.gaussian.covariance.orientation */
#define LARGEST_ANGLE 0.5
/* the least curvature of its preconditioner, per row; _LEAST_CURVATURE in
 * suffice.families.gaussian.covariance.orientation */
#define LEAST_CURVATURE 1e-3
/* the gradient, per row, at which it ends; _SMALLEST_GRADIENT in suffice.families.gaussian.covariance.orientation */
#define SMALLEST_GRADIENT 1e-11
/* the least ratio of two variances there; _LEAST_SHARE in suffice.families.gaussian.covariance.orientation */
#define LEAST_SHARE 1e-30
/* the last steps that it remembers; _MEMORY in suffice.families.gaussian.covariance.orientation */
#define LBFGS_STEPS 12
/* part of the trace below which a determinant does not change the cost of a cluster */
#define NEGLIGIBLE_DETERMINANT 1e-10

#endif
