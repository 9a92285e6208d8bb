/* Vectors: as many numbers side by side as a register of this instruction set holds. */
#ifndef SUFFICE_VECTORS_H
#define SUFFICE_VECTORS_H

#include "common.h"

/* LANES: doubles in a register. MAX_CLASSES: classes that are summed together, as the 32 or 16 registers allow. */
#if defined(LANES) /* given by a build that tests the loops of an instruction set by means of another one */
#elif defined(__AVX512F__)
#define LANES 8
#define MAX_CLASSES 10
#elif defined(__AVX2__)
#define LANES 4
#define MAX_CLASSES 5
#elif defined(__aarch64__)
#define LANES 2
#define MAX_CLASSES 10
#else
#define LANES 2
#define MAX_CLASSES 5
#endif

typedef double doubles __attribute__((vector_size(8 * LANES)));
typedef int64_t int64s __attribute__((vector_size(8 * LANES)));
typedef float floats __attribute__((vector_size(8 * LANES)));
typedef int32_t int32s __attribute__((vector_size(8 * LANES)));
typedef CELL vector __attribute__((vector_size(8 * LANES)));
#define WIDTH (8 * LANES / (int64_t)sizeof(CELL)) /* cells in a register */

/* -- doubles ------------------------------------------------------------------------------------------------------- */

INLINE doubles broadcast(double v) { return v - (doubles){0}; }
INLINE doubles load(const double *p) {
    doubles r;
    memcpy(&r, p, sizeof r);
    return r;
}
INLINE void store(double *p, doubles a) { memcpy(p, &a, sizeof a); }
INLINE doubles where(int64s mask, doubles a, doubles b) { return (doubles)(((int64s)a & mask) | ((int64s)b & ~mask)); }
INLINE doubles maximum(doubles a, doubles b) { return where(a > b, a, b); }

/* LANES numbers of either type, as doubles */
INLINE doubles widen_floats(const float *p) {
    double wide[LANES];
    for (int r = 0; r < LANES; r++) wide[r] = p[r];
    return load(wide);
}
#define widen(p) _Generic((p), const double *: load, const float *: widen_floats)(p)

/* -- vectors of CELL ----------------------------------------------------------------------------------------------- */

INLINE vector load_vector(const CELL *p) {
    vector r;
    memcpy(&r, p, sizeof r);
    return r;
}
INLINE void store_vector(CELL *p, vector a) { memcpy(p, &a, sizeof a); }
INLINE vector broadcast_vector(CELL v) { return v - (vector){0}; }
INLINE vector narrow_vector(const double *p) {
    CELL narrow[WIDTH];
    for (int r = 0; r < WIDTH; r++) narrow[r] = (CELL)p[r];
    return load_vector(narrow);
}
INLINE vector vector_maximum(vector a, vector b) {
    const __typeof__(a > b) mask = a > b;
    return (vector)(((__typeof__(a > b))a & mask) | ((__typeof__(a > b))b & ~mask));
}

/* -- functions ----------------------------------------------------------------------------------------------------- */

/* e^x for least < x ≤ 0, and 0 below (least is at least −708 for double, −87 for float).
 *
 * x = n·log 2 + r with |r| ≤ ½ log 2. Adding and subtracting ROUNDER = 1.5·2^52 + 1023 rounds x / log 2 to the whole
 * number n, and leaves n + 1023, the exponent of 2^n, in the low bits of the sum. e^r is the polynomial of degree 11
 * that is nearest to it (to 3e-18), its highest term first. */
INLINE doubles exponential_of_doubles(doubles x, double least) {
    /* clang-format off */
    static const double terms[] = {
        2.5110049204818659793e-8, 2.763265472252779189e-7,  2.7557240887229868596e-6, 2.4801485441561312966e-5,
        1.9841269890076402829e-4, 1.3888888952352862866e-3, 8.3333333333195896163e-3, 4.166666666648795252e-2,
        1.666666666666668082e-1,  5.0000000000000184039e-1, 1.0,                      1.0,
    };
    /* clang-format on */
    const double ROUNDER = 6755399441056767.0, LOG2_HIGH = 6.93147180369123816490e-01;
    const double LOG2_LOW = 1.90821492927058770002e-10;
    const int64s small = x <= least;
    const doubles shifted = x * 1.4426950408889634 + ROUNDER, n = shifted - ROUNDER;
    const doubles r = (x - n * LOG2_HIGH) - n * LOG2_LOW, power = (doubles)((int64s)shifted << 52);
    doubles sum = broadcast(terms[0]);
    for (int term = 1; term < 12; term++) sum = sum * r + terms[term];
    return (doubles)((int64s)(sum * power) & ~small);
}

/* The same in float, with ROUNDER = 1.5·2^23 + 127 and a polynomial of degree 6 (to 2e-9) */
INLINE floats exponential_of_floats(floats x, float least) {
    static const float terms[] = {
        1.39411189e-3f, 8.37513477e-3f, 4.16663528e-2f, 1.66664154e-1f, 5.00000005e-1f, 1.00000004f, 1.0f};
    const float ROUNDER = 12583039.0f, LOG2_HIGH = 0.693359375f, LOG2_LOW = -2.12194440e-4f;
    const int32s small = x <= least;
    const floats shifted = x * 1.44269504f + ROUNDER, n = shifted - ROUNDER;
    const floats r = (x - n * LOG2_HIGH) - n * LOG2_LOW, power = (floats)((int32s)shifted << 23);
    floats sum = terms[0] - (floats){0};
    for (int term = 1; term < 7; term++) sum = sum * r + terms[term];
    return (floats)((int32s)(sum * power) & ~small);
}
#define exponential(x, least) _Generic((x), doubles: exponential_of_doubles, floats: exponential_of_floats)(x, least)

/* log x for x ≥ 1: x = 2^n·m with m between √½ and √2, and log m = 2 artanh t = 2 Σ t^(2i + 1) / (2i + 1) */
INLINE doubles logarithm(doubles x) {
    const double TWO_52 = 4503599627370496.0;
    const int64s bits = (int64s)x;
    const doubles n = (doubles)((bits >> 52) | (int64s)broadcast(TWO_52)) - (TWO_52 + 1023.0);
    const doubles m = (doubles)((bits & 0xFFFFFFFFFFFFF) | (int64s)broadcast(1.0));
    const int64s large = m > 1.4142135623730951;
    const doubles half = where(large, m * 0.5, m), t = (half - 1.0) / (half + 1.0), square = t * t;
    doubles sum = broadcast(1.0 / 19.0);
    for (int i = 8; i >= 0; i--) sum = sum * square + 1.0 / (2 * i + 1);
    return (n + where(large, broadcast(1.0), broadcast(0.0))) * 0.6931471805599453 + 2.0 * t * sum + (x - x);
}

/* -- rows into columns --------------------------------------------------------------------------------------------- */

/* The lanes of two registers, `size` lanes each, that a step over halves, quarters or neighbours keeps in the first
 * and in the second register; EACH and FLOAT_EACH list them for all lanes. */
#define KEEP_LOW(lane, step, size) ((lane) & (step) ? (size) + (lane) - (step) : (lane))
#define KEEP_HIGH(lane, step, size) ((lane) & (step) ? (size) + (lane) : (lane) + (step))
#define TWO(F, i, s, size) F(i, s, size), F(i + 1, s, size)
#define FOUR(F, i, s, size) TWO(F, i, s, size), TWO(F, i + 2, s, size)
#define EIGHT(F, i, s, size) FOUR(F, i, s, size), FOUR(F, i + 4, s, size)
#if LANES == 8
#define EACH(F, s) EIGHT(F, 0, s, 8)
#define FLOAT_EACH(F, s) EIGHT(F, 0, s, 16), EIGHT(F, 8, s, 16)
#elif LANES == 4
#define EACH(F, s) FOUR(F, 0, s, 4)
#define FLOAT_EACH(F, s) EIGHT(F, 0, s, 8)
#else
#define EACH(F, s) TWO(F, 0, s, 2)
#define FLOAT_EACH(F, s) FOUR(F, 0, s, 4)
#endif
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(integers, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(integers, a, b, ...) __builtin_shuffle(a, b, (integers){__VA_ARGS__})
#endif

#define SWAP(step)                                                                                                     \
    for (int i = 0; i < LANES; i++)                                                                                    \
        if (!(i & (step))) {                                                                                           \
            const doubles a = r[i], b = r[i + (step)];                                                                 \
            r[i] = SHUFFLE(int64s, a, b, EACH(KEEP_LOW, step));                                                        \
            r[i + (step)] = SHUFFLE(int64s, a, b, EACH(KEEP_HIGH, step));                                              \
        }

/* Transpose LANES rows of LANES: halves change places, then quarters, then neighbours. */
INLINE void transpose(doubles *r){
#if LANES == 8
    SWAP(4)
#endif
#if LANES >= 4
        SWAP(2)
#endif
            SWAP(1)}

#define ADD(integers, EACH, step)                                                                                      \
    for (int i = 0; i < (step); i++)                                                                                   \
        r[i] = SHUFFLE(integers, r[i], r[i + (step)], EACH(KEEP_LOW, step)) +                                          \
               SHUFFLE(integers, r[i], r[i + (step)], EACH(KEEP_HIGH, step));

/* Lane i of the result is the sum of the lanes of r[i], LANES registers: a transposition that adds. */
INLINE doubles row_sums_of_doubles(doubles *r) {
#if LANES == 8
    ADD(int64s, EACH, 4)
#endif
#if LANES >= 4
    ADD(int64s, EACH, 2)
#endif
    ADD(int64s, EACH, 1)
    return r[0];
}

/* The same of floats; the two halves of each register are added in double. */
INLINE doubles row_sums_of_floats(floats *r) {
#if LANES == 8
    ADD(int32s, FLOAT_EACH, 4)
#endif
#if LANES >= 4
    ADD(int32s, FLOAT_EACH, 2)
#endif
    ADD(int32s, FLOAT_EACH, 1)
    float halves[2 * LANES];
    double low[LANES], high[LANES];
    memcpy(halves, r, sizeof halves);
    for (int i = 0; i < LANES; i++) low[i] = halves[i];
    for (int i = 0; i < LANES; i++) high[i] = halves[LANES + i];
    return load(low) + load(high);
}
#define row_sums(r) _Generic((r), doubles *: row_sums_of_doubles, floats *: row_sums_of_floats)(r)

/* -- groups of classes --------------------------------------------------------------------------------------------- */

/* Return how many of the `left` classes to take together: as many as registers allow, in even parts. */
INLINE int64_t group_size(int64_t left) {
    return left <= MAX_CLASSES ? left : (left < 2 * MAX_CLASSES ? (left + 1) / 2 : MAX_CLASSES);
}

/* Run a statement for a group of classes, with their number as the constant G, so that its loops over them are
 * unrolled. */
#define CASE(size, ...)                                                                                                \
    case size: {                                                                                                       \
        enum { G = size };                                                                                             \
        __VA_ARGS__;                                                                                                   \
        break;                                                                                                         \
    }
#define CASES_TO_5(...)                                                                                                \
    CASE(5, __VA_ARGS__) CASE(4, __VA_ARGS__) CASE(3, __VA_ARGS__) CASE(2, __VA_ARGS__) CASE(1, __VA_ARGS__)
#define CASES_TO_10(...)                                                                                               \
    CASE(10, __VA_ARGS__) CASE(9, __VA_ARGS__) CASE(8, __VA_ARGS__) CASE(7, __VA_ARGS__) CASE(6, __VA_ARGS__)
#if MAX_CLASSES > 5
#define BY_SIZE(size, ...)                                                                                             \
    switch (size) { CASES_TO_10(__VA_ARGS__) CASES_TO_5(__VA_ARGS__) }
#else
#define BY_SIZE(size, ...)                                                                                             \
    switch (size) { CASES_TO_5(__VA_ARGS__) }
#endif

#endif
