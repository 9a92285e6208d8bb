/* What every source of the kernels needs: the names of exported kernels, the constants, and checks of indices.
 *
 * Plain C with the vector extensions of GCC and clang: no Python or NumPy headers, so one library serves every Python.
 * The kernels are called through ctypes, which lets other threads run meanwhile. Every kernel has a NumPy fallback with
 * the same results, which its comment names. Sums are kept in double, whatever the type of the rows. Rows are
 * row-major; `stride` is the number of cells from one row to the next.
 *
 * setup.py compiles each source once per instruction set, LEVEL, and those that are generic in the type of a cell once
 * per type, CELL: double or float for numbers, int64 or int32 for category codes. All others have CELL = double.
 */
#ifndef SUFFICE_COMMON_H
#define SUFFICE_COMMON_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "constants.h"

#if !defined(__GNUC__)
#error "the kernels need the vector extensions of GCC or clang; without them their NumPy fallbacks are used"
#endif
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define INLINE static inline __attribute__((always_inline))

/* The name of a function for the cells and the instruction set of this object: posterior_double_avx2. Functions that
 * are used by one source only are static and have plain names. */
#define JOIN_(function, cell, level) function##_##cell##_##level
#define JOIN(function, cell, level) JOIN_(function, cell, level)
#define NAME(function) JOIN(function, CELL, LEVEL)

/* category codes, by the names that NumPy has for their types */
typedef int64_t int64;
typedef int32_t int32;

/* Return whether an index is one of `size`. */
INLINE int within(int64_t index, int64_t size) { return (uint64_t)index < (uint64_t)size; }

/* Return whether n indices are all of `size`. */
INLINE int codes_within(const int64_t *codes, int64_t n, int64_t size) {
    int outside = 0;
    for (int64_t i = 0; i < n; i++) outside |= !within(codes[i], size);
    return !outside;
}

#endif
