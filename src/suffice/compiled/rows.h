/* Rows into columns: blocks of rows that are transposed, so that a register holds a cell of several rows. */
#ifndef SUFFICE_ROWS_H
#define SUFFICE_ROWS_H

#include "vectors.h"

#define IS_NARROW (sizeof(CELL) == sizeof(float))

/* Transpose up to 2·LANES rows, taken about `origin` (d), into 2·LANES cells of block[d][step]; rows that do not exist
 * repeat the first. The rows are floats if `narrow`, otherwise doubles; pass a constant, so that the loops know it. */
INLINE void load_block(const void *x, const int narrow, int64_t stride, int64_t rows, int64_t d, const double *origin,
                       int64_t step, double *restrict block) {
    const float *float_row[2 * LANES];
    const double *double_row[2 * LANES];
    for (int64_t r = 0; r < 2 * LANES; r++) {
        float_row[r] = (const float *)x + (r < rows ? r : 0) * stride;
        double_row[r] = (const double *)x + (r < rows ? r : 0) * stride;
    }
    int64_t j = 0;
    for (; j + LANES <= d; j += LANES) {
        const doubles middle = load(origin + j);
        for (int half = 0; half < 2; half++) {
            doubles square[LANES];
            for (int r = 0; r < LANES; r++) {
                const int64_t row = half * LANES + r;
                square[r] = (narrow ? widen_floats(float_row[row] + j) : load(double_row[row] + j)) - middle;
            }
            transpose(square);
            for (int r = 0; r < LANES; r++) store(block + (j + r) * step + half * LANES, square[r]);
        }
    }
    for (; j < d; j++)
        for (int64_t r = 0; r < 2 * LANES; r++)
            block[j * step + r] = (narrow ? (double)float_row[r][j] : double_row[r][j]) - origin[j];
}

#endif
