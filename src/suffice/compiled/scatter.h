/* Sums of products of all pairs of columns, zᵀ z, over rows that stay in the cache. */
#ifndef SUFFICE_SCATTER_H
#define SUFFICE_SCATTER_H

#include "vectors.h"

/* rows of a tile of products: 16 of 32, or 8 of 16 registers hold its sums */
#define TILE_HEIGHT (MAX_CLASSES == 10 ? 8 : 4)

/* second[i + h][j + c] += Σ_rows z_(i+h) z_(j+c) for a tile of TILE_HEIGHT rows and G registers of columns; products
 * are summed in CELL, then added in double. */
INLINE void scatter_tile(const CELL *z, int64_t n, int64_t D, int64_t i, int64_t j, double *second, const int G) {
    vector sums[TILE_HEIGHT][2];
    for (int h = 0; h < TILE_HEIGHT; h++)
        for (int g = 0; g < G; g++) sums[h][g] = (vector){0};
    for (int64_t r = 0; r < n; r++, z += D) {
        vector right[2];
        for (int g = 0; g < G; g++) memcpy(&right[g], z + j + g * WIDTH, sizeof right[g]);
        for (int h = 0; h < TILE_HEIGHT; h++)
            for (int g = 0; g < G; g++) sums[h][g] += z[i + h] * right[g];
    }
    for (int h = 0; h < TILE_HEIGHT; h++) {
        CELL row[2 * WIDTH];
        memcpy(row, sums[h], sizeof row);
        double *restrict out = second + (i + h) * D + j;
        for (int64_t c = 0; c < G * WIDTH; c++) out[c] += row[c];
    }
}

/* second (D×D, on and above its diagonal) += zᵀ z for n rows of D cells that stay in the cache; sums in float are over
 * TILE_ROWS rows only. */
INLINE void scatter(const CELL *z, int64_t n, int64_t D, double *second) {
    const int64_t most = sizeof(CELL) == sizeof(float) ? TILE_ROWS : n;
    for (int64_t r = 0; r < n; r += most) {
        const int64_t rows = n - r < most ? n - r : most;
        for (int64_t i = 0; i < D; i += TILE_HEIGHT)
            for (int64_t j = i / WIDTH * WIDTH; j < D; j += 2 * WIDTH)
                if (j + WIDTH < D)
                    scatter_tile(z + r * D, rows, D, i, j, second, 2);
                else
                    scatter_tile(z + r * D, rows, D, i, j, second, 1);
    }
}

#endif
