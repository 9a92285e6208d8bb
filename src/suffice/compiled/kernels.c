/* The inner loops where NumPy's temporaries or the interpreter were what a profile showed.
 *
 * Plain C: no Python or NumPy headers, so that any compiler builds it, and called through ctypes, which lets other
 * threads run meanwhile. Every function has a NumPy twin that gives the same answer, used where this is not built.
 * Sums are kept in double whatever the rows are. Rows are row-major; `stride` counts elements from row to row.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define prefetch(address) __builtin_prefetch(address)
#else
#define INLINE static inline
#define prefetch(address) ((void)0)
#endif
#define AHEAD 8 /* cells of a sparse row whose parameters are asked for in time */

enum { NOT_FINITE = 1, NEGATIVE = 2, NOT_BINARY = 4, OUT_OF_RANGE = 8 };
enum { LOGISTIC = 0, LOG_LINEAR = 1, PREDICTOR = 2, GIVEN = 3 }; /* what a pass of a linear model is for */

/* Extension modules must have this; the library is loaded as a plain one, and it is never called. */
EXPORT void *PyInit_kernels(void) { return 0; }

#define JOIN_(function, type, level) function##_##type##_##level
#define JOIN(function, type, level) JOIN_(function, type, level)

/* Every loop is compiled for several processors, where the compiler can; `level` says which this one has. */
#define LEVEL base
#define LANES 2
#define MOST 5 /* classes that are summed together */
#include "kernels_all.h"
#undef LEVEL
#undef LANES
#undef MOST

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("arch=haswell")
#define LEVEL avx2
#define LANES 4
#define MOST 5 /* classes that are summed together */
#include "kernels_all.h"
#undef LEVEL
#undef LANES
#undef MOST
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("arch=skylake-avx512,prefer-vector-width=512")
#define LEVEL avx512
#define LANES 8
#define MOST 10 /* classes that are summed together */
#include "kernels_all.h"
#undef LEVEL
#undef LANES
#undef MOST
#pragma GCC pop_options

EXPORT int level(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"))
        return 2;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") ? 1 : 0;
}
#else
EXPORT int level(void) { return 0; }
#endif
