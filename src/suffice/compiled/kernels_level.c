/* All kernels for one instruction set, LEVEL; compiled once for each, with the compiler's options for it (setup.py). */
#include "kernels_common.h"

/* LANES: doubles in a register; MOST: classes that are summed together, as there are registers for them (32, or 16) */
#if defined(LANES) /* given by a build that tests the loops of an instruction set by means of another one */
#elif defined(__AVX512F__)
#define LANES 8
#define MOST 10
#elif defined(__AVX2__)
#define LANES 4
#define MOST 5
#elif defined(__aarch64__)
#define LANES 2
#define MOST 10
#else
#define LANES 2
#define MOST 5
#endif

#include "kernels_lanes.h"

#define NAME(function) JOIN(function, double, LEVEL)
#include "kernels_posterior.h"
#include "kernels_holes.h"
#include "kernels_merge.h"
#undef NAME

#define REAL double
#define NAME(function) JOIN(function, double, LEVEL)
#include "kernels_real.h"
#undef REAL
#undef NAME

#define REAL float
#define NAME(function) JOIN(function, float, LEVEL)
#include "kernels_real.h"
#undef REAL
#undef NAME

#define NAME(function) JOIN(function, double, LEVEL)
#include "kernels_linear.h"
#include "kernels_cluster.h"
#undef NAME

#define REAL double
#define EXPONENTIAL(x) exponential(x, -300.0)
#define FOLD fold
#define NAME(function) JOIN(function, double, LEVEL)
#include "kernels_mixture.h"
#include "kernels_patterns.h"
#include "kernels_small.h"
#include "kernels_em.h"
#undef REAL
#undef EXPONENTIAL
#undef FOLD
#undef NAME

#define REAL float
#define EXPONENTIAL(x) short_exponential(x, -40.0f)
#define FOLD short_fold
#define NAME(function) JOIN(function, float, LEVEL)
#include "kernels_mixture.h"
#undef REAL
#undef EXPONENTIAL
#undef FOLD
#undef NAME

#define CODE int64_t
#define NAME(function) JOIN(function, int64, LEVEL)
#include "kernels_codes.h"
#undef CODE
#undef NAME

#define CODE int32_t
#define NAME(function) JOIN(function, int32, LEVEL)
#include "kernels_codes.h"
#undef CODE
#undef NAME
