/* All kernels for one kind of processor. */

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

#if defined(__GNUC__)
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
#endif

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

#undef lanes
#undef all
#undef load
#undef store
#undef multiply_add
#undef add
#undef subtract
#undef multiply
#undef larger
#undef where
#undef whole_lanes
#undef POLYNOMIAL
#undef ROUNDER
#undef LOG2_HIGH
#undef LOG2_LOW
#undef exponential
#undef divide
#undef multiply_subtract
#undef subtract_square
#undef transpose
#undef group_size
#undef BY_SIZE
#undef short_lanes
#undef short_whole_lanes
#undef short_exponential
#undef logarithm
#undef fold
#undef short_fold
#undef SHORT_POLYNOMIAL
#undef SHORT_ROUNDER
#undef WIDE
#undef BLOCK
#undef STEP
#undef TILE
#undef IN_REGISTER
#undef SLOTS
#undef GROUP
#undef NEGLIGIBLE
