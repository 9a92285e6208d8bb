/* EM for a mixture of Gaussians, for tables so small that the interpreter would take longer than the rows.
 *
 * An iteration takes the expected moments of each component and the log-likelihood from `mixture_pass`
 * (em_expectation.c), and from these the next means and covariances, as suffice.families.gaussian.covariance does
 * (em_covariance.c, em_volumes.c, em_orientation.c). If the moments about a common origin would lose digits, rows are
 * taken about each component instead. em_extrapolation.c accelerates the iterations, em_loop.c runs them, em_starts.c
 * compares several starts. */
#ifndef SUFFICE_EM_H
#define SUFFICE_EM_H

#include "common.h"

/* The parameters of a mixture: log_share (k), mean (k×d), and covariances, d×d matrices or variances (d), one per
 * component or, if they are shared, one. */
typedef struct {
    double *log_share, *mean, *covariance;
    double *whitener, *log_determinant; /* L⁻¹ with L Lᵀ = Σ, and log|Σ|, of each covariance */
    double *axes;                       /* d×d, of all components, if the structure shares them */
    int has_axes;
} em_model;

/* Moments of each component about its center: count (k), center and first (k×d), and second: k×d, k×d×d, or d×d of all
 * components together. */
typedef struct {
    double *count, *center, *first, *second;
} em_sums;

/* Axes that all components share (d×d), and the criterion there: its value, its derivatives in the angles of all pairs
 * of axes, the largest of these, the rows, and the size of rounding errors. */
typedef struct {
    double *axes, *gradient, *curvature, value, rows, steepest, rounding;
} em_point;

/* The state of extrapolation: how many of the last iterations are kept, the maximum length of a step, the length of
 * the current step, whether that is still to be tried, and the bounds of the iterations. All are doubles, because they
 * are stored in the workspace. */
typedef struct {
    double kept, longest, length, pending, bounds[3];
} em_history;

/* The rows, the settings and the workspace of a run. */
typedef struct {
    const double *x, *weight, *belief;
    int64_t stride, n, d, k, structure;
    int64_t matrices, shared; /* whether covariances are matrices, and whether all components share one */
    double strength, given;   /* the prior: `strength` rows of covariance `belief`; variance of GIVEN_SPHERE */
    int equal;                /* whether all components have the same share */
    double ridge, least;      /* added to every variance; a component must have more rows than `least` */
    /* the tables of `mixture_pass` and its scratch */
    int64_t form, products, *left, *right;
    double *origin, *linear, *quadratic, *constant, *scratch, *wide, *tiles, *tiles_of_all, *moments, *half;
    /* of the M-step: scatters without and with the ridge that keeps them regular, the rows of each component, scatters
     * and variances along axes (k×d), matrices of each component (k×d×d) */
    double *scatter, *ridged, *rows, *along, *variance, *white, *whitened, *shares_of_columns;
    double *newton[5], *hessian[2], *regular; /* (k,) and k×k */
    em_point points[2];
    /* the last steps of L-BFGS and the changes of the gradient; two vectors of angles */
    double *steps, *changes, *angles;
    double *matrix[4], *vector[2]; /* d×d and (d,) */
    double *share;                 /* k×n */
    em_sums others;                /* moments that are not returned */
    em_history *history;
    em_sums last[3]; /* the moments of the last iterations */
} em_run;

/* the number of covariances, the cells of each, and the cells of the second moments */
INLINE int64_t n_covariances(const em_run *em) { return em->shared ? 1 : em->k; }
INLINE int64_t cells_of_covariance(const em_run *em) { return em->matrices ? em->d * em->d : em->d; }
INLINE int64_t n_second(const em_run *em) {
    const int64_t d = em->d;
    return !em->matrices ? em->k * d : em->structure == EEE ? d * d : em->k * d * d;
}

/* Return whether all of n values are finite. */
INLINE int finite_values(const double *values, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += 0.0 * values[i];
    return sum == 0.0;
}

/* the functions that sources of EM call of each other; a comment stands where each is defined */
#define factorise NAME(factorise)
#define log_prior NAME(log_prior)
#define expect NAME(expect)
#define moments_of_shares NAME(moments_of_shares)
#define improve NAME(improve)
#define shared_shape NAME(shared_shape)
#define shared_matrix NAME(shared_matrix)
#define equal_volume NAME(equal_volume)
#define equal_determinant NAME(equal_determinant)
#define largest_of NAME(largest_of)
#define common_axes NAME(common_axes)
#define begin_history NAME(begin_history)
#define copy_sums NAME(copy_sums)
#define extrapolate_after NAME(extrapolate_after)
#define undo_extrapolation NAME(undo_extrapolation)
#define divide_workspace NAME(divide_workspace)

int factorise(const em_run *em, em_model *m);
double log_prior(const em_run *em, const em_model *m);
int expect(em_run *em, const em_model *m, em_sums *s, double *log_likelihood);
void moments_of_shares(const em_run *em, em_sums *s);
int improve(em_run *em, const em_sums *s, const em_model *before, em_model *after);
int shared_shape(const em_run *em, const em_model *before, double *variance);
int shared_matrix(const em_run *em, const double *scatter, const em_model *before, double *covariance);
int equal_volume(const em_run *em, double *variance);
int equal_determinant(const em_run *em, const double *scatter, double *covariance);
double largest_of(const double *values, int64_t n);
int common_axes(em_run *em, const double *scatter, const em_model *before, em_model *after);
void begin_history(em_history *l, double how);
void copy_sums(const em_run *em, const em_sums *from, const em_sums *to);
int extrapolate_after(em_run *em, const em_sums *sums, double bound, const em_model *now, em_model *ahead);
void undo_extrapolation(const em_run *em);
int64_t divide_workspace(em_run *em, double *workspace, em_model *models);

EXPORT int64_t NAME(em_loop)(const double *x, int64_t stride, int64_t n, int64_t d, int64_t k, const double *weight,
                             int64_t structure, const double *settings, const double *belief, int64_t begin,
                             const int64_t *labels, const double *shares, int64_t iterations, int64_t rate,
                             double *log_share, double *mean, double *covariance, double *count, double *center,
                             double *first, double *second, double *bounds, int64_t *done, int64_t size,
                             double *workspace);

#endif
