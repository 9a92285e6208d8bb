/* Small dense matrices of doubles, row-major; matrices.c explains each function. */
#ifndef SUFFICE_MATRICES_H
#define SUFFICE_MATRICES_H

#include "common.h"

#define cholesky NAME(cholesky)
#define half_log_determinant NAME(half_log_determinant)
#define invert_lower NAME(invert_lower)
#define lower_squared NAME(lower_squared)
#define whitened_trace NAME(whitened_trace)
#define product NAME(product)
#define transposed_product NAME(transposed_product)
#define whiten NAME(whiten)
#define solve NAME(solve)
#define eigen NAME(eigen)
#define compose_symmetric NAME(compose_symmetric)

double cholesky(const double *a, int64_t d, double *lower);
double half_log_determinant(const double *lower, int64_t d);
void invert_lower(const double *lower, int64_t d, double *inverse);
void lower_squared(const double *w, int64_t d, double *out);
double whitened_trace(const double *w, const double *s, int64_t d, double *square);
void product(const double *left, const double *right, int64_t d, double *out);
void transposed_product(const double *left, const double *right, int64_t d, double *out);
void whiten(const double *w, const double *s, int64_t d, double *half, double *out);
int solve(double *a, int64_t n, double *b, int64_t m);
void eigen(double *a, int64_t d, double *values, double *axes);
void compose_symmetric(const double *axes, const double *values, int64_t d, double *out);

#endif
