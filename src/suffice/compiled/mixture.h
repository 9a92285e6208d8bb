/* The steps of a pass of EM over a block of rows, in cells of CELL; mixture.c says how a block is laid out. */
#ifndef SUFFICE_MIXTURE_H
#define SUFFICE_MIXTURE_H

#include "common.h"

#define load_rows NAME(load_rows)
#define score_block NAME(score_block)
#define softmax NAME(softmax)
#define log_sums NAME(log_sums)
#define add_moments NAME(add_moments)
#define reorder_sums NAME(reorder_sums)
#define sums_fit NAME(sums_fit)

int64_t load_rows(const void *x, int64_t narrow, int64_t stride, int64_t rows, int64_t d, const double *origin,
                  double *wide, CELL *z);
void score_block(int64_t form, const CELL *z, int64_t d, int64_t k, const CELL *first, const CELL *second,
                 const CELL *constant, int64_t size, CELL *score, const char *next, int64_t ahead, int64_t stride,
                 int64_t width);
void softmax(CELL *share, int64_t k, int64_t size, const double *weight, CELL *most, CELL *sum);
double log_sums(const CELL *most, const CELL *sum, const double *weight, int64_t size);
void add_moments(const CELL *share, int64_t k, const CELL *z, const int64_t *left, const int64_t *right,
                 int64_t products, int triangle, int64_t size, double *sums);
void reorder_sums(const double *sums, int64_t k, int64_t products, int triangle, double *out);
int sums_fit(int64_t k, int64_t products, int triangle);

EXPORT int64_t NAME(mixture_pass)(const void *x, int64_t narrow, int64_t stride, int64_t n, int64_t d, int64_t k,
                                  const double *weight, const double *origin, int64_t form, const CELL *first,
                                  const CELL *second, const CELL *constant, int64_t products, const int64_t *left,
                                  const int64_t *right, CELL *scratch, double *wide, double *sums, double *sums_of_all,
                                  double *moments, double *scatter, double *log_likelihood);

#endif
