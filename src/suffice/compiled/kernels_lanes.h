/* Several rows side by side: as many doubles as a register of this instruction set holds. */

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t whole_lanes __attribute__((vector_size(8 * LANES)));
INLINE lanes all(double v) { return v - (lanes){0}; }
INLINE lanes load(const double *p) {
    lanes r;
    memcpy(&r, p, sizeof r);
    return r;
}
INLINE void store(double *p, lanes a) { memcpy(p, &a, sizeof a); }
INLINE lanes multiply_add(lanes a, lanes b, lanes sum) { return a * b + sum; }
INLINE lanes add(lanes a, lanes b) { return a + b; }
INLINE lanes subtract(lanes a, lanes b) { return a - b; }
INLINE lanes multiply(lanes a, lanes b) { return a * b; }
INLINE lanes divide(lanes a, lanes b) { return a / b; }
INLINE lanes multiply_subtract(lanes a, lanes b, lanes c) { return a * b - c; }
INLINE lanes subtract_square(lanes sum, lanes a) { return sum - a * a; }
INLINE lanes where(whole_lanes mask, lanes a, lanes b) {
    return (lanes)(((whole_lanes)a & mask) | ((whole_lanes)b & ~mask));
}
INLINE lanes larger(lanes a, lanes b) { return where(a > b, a, b); }

/* e^x for least < x ≤ 0, and 0 below (least: −708 or more for double, −87 for float): x = n·log 2 + r with
 * |r| ≤ ½ log 2, and the polynomial of degree 11 that is nearest to e^r there (to
 * 3e-18), its highest term first */
#define POLYNOMIAL                                                                                                     \
    {2.5110049204818659793e-8,  2.763265472252779189e-7,   2.7557240887229868596e-6,  2.4801485441561312966e-5,        \
     1.9841269890076402829e-4,  1.3888888952352862866e-3,  8.3333333333195896163e-3,  4.166666666648795252e-2,         \
     1.666666666666668082e-1,   5.0000000000000184039e-1,  1.0,                       1.0}
/* adding and taking off 1.5·2^52 + 1023 rounds to a whole number, and leaves n + 1023, the exponent of 2^n, in the low
 * bits in between */
#define ROUNDER 6755399441056767.0
#define LOG2_HIGH 6.93147180369123816490e-01
#define LOG2_LOW 1.90821492927058770002e-10

INLINE lanes exponential(lanes x, double least) {
    static const double terms[] = POLYNOMIAL;
    const whole_lanes small = x <= least;
    const lanes shifted = x * 1.4426950408889634 + ROUNDER, n = shifted - ROUNDER;
    const lanes r = (x - n * LOG2_HIGH) - n * LOG2_LOW, power = (lanes)((whole_lanes)shifted << 52);
    lanes sum = all(terms[0]);
    for (int term = 1; term < 12; term++) sum = sum * r + terms[term];
    return (lanes)((whole_lanes)(sum * power) & ~small);
}

/* log x for x ≥ 1: x = 2^n·m with m between √½ and √2, and log m = 2 artanh t = 2 Σ t^(2i + 1) / (2i + 1) */
INLINE lanes logarithm(lanes x) {
    const whole_lanes bits = (whole_lanes)x;
    const lanes n = (lanes)((bits >> 52) | (whole_lanes)all(4503599627370496.0)) - (4503599627370496.0 + 1023.0);
    const lanes m = (lanes)((bits & 0xFFFFFFFFFFFFF) | (whole_lanes)all(1.0));
    const whole_lanes large = m > 1.4142135623730951;
    const lanes half = where(large, m * 0.5, m), t = (half - 1.0) / (half + 1.0), square = t * t;
    lanes sum = all(1.0 / 19.0);
    for (int i = 8; i >= 0; i--) sum = sum * square + 1.0 / (2 * i + 1);
    return (n + where(large, all(1.0), all(0.0))) * 0.6931471805599453 + 2.0 * t * sum + (x - x);
}

/* e^x for twice as many floats, with a polynomial of degree 6 (to 2e-9) */
#define SHORT_POLYNOMIAL                                                                                               \
    {1.39411189e-3f, 8.37513477e-3f, 4.16663528e-2f, 1.66664154e-1f, 5.00000005e-1f, 1.00000004f, 1.0f}
#define SHORT_ROUNDER 12583039.0f /* 1.5·2^23 + 127 */
typedef float short_lanes __attribute__((vector_size(8 * LANES)));
typedef int32_t short_whole_lanes __attribute__((vector_size(8 * LANES)));
INLINE short_lanes short_exponential(short_lanes x, float least) {
    static const float terms[] = SHORT_POLYNOMIAL;
    const short_whole_lanes small = x <= least;
    const short_lanes shifted = x * 1.44269504f + SHORT_ROUNDER, n = shifted - SHORT_ROUNDER;
    const short_lanes r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    const short_lanes power = (short_lanes)((short_whole_lanes)shifted << 23);
    short_lanes sum = terms[0] - (short_lanes){0};
    for (int term = 1; term < 7; term++) sum = sum * r + terms[term];
    return (short_lanes)((short_whole_lanes)(sum * power) & ~small);
}

/* Turn LANES rows of LANES into columns: halves change places, then quarters, then neighbours. `fold` adds while it
 * does so: lane i of the answer is the sum of the lanes of r[i]; of twice as many floats, the sums of either half. */
#define KEEP_LOW(lane, step, size) ((lane) & (step) ? (size) + (lane) - (step) : (lane))
#define KEEP_HIGH(lane, step, size) ((lane) & (step) ? (size) + (lane) : (lane) + (step))
#define TWO(F, i, s, size) F(i, s, size), F(i + 1, s, size)
#define FOUR(F, i, s, size) TWO(F, i, s, size), TWO(F, i + 2, s, size)
#define EIGHT(F, i, s, size) FOUR(F, i, s, size), FOUR(F, i + 4, s, size)
#if LANES == 8
#define EACH(F, s) EIGHT(F, 0, s, 8)
#define SHORT_EACH(F, s) EIGHT(F, 0, s, 16), EIGHT(F, 8, s, 16)
#elif LANES == 4
#define EACH(F, s) FOUR(F, 0, s, 4)
#define SHORT_EACH(F, s) EIGHT(F, 0, s, 8)
#else
#define EACH(F, s) TWO(F, 0, s, 2)
#define SHORT_EACH(F, s) FOUR(F, 0, s, 4)
#endif
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(whole, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(whole, a, b, ...) __builtin_shuffle(a, b, (whole){__VA_ARGS__})
#endif
#define SWAP(step)                                                                                                     \
    for (int i = 0; i < LANES; i++)                                                                                    \
        if (!(i & (step))) {                                                                                           \
            const lanes a = r[i], b = r[i + (step)];                                                                   \
            r[i] = SHUFFLE(whole_lanes, a, b, EACH(KEEP_LOW, step));                                                   \
            r[i + (step)] = SHUFFLE(whole_lanes, a, b, EACH(KEEP_HIGH, step));                                         \
        }
INLINE void transpose(lanes *r) {
#if LANES == 8
    SWAP(4)
#endif
#if LANES >= 4
    SWAP(2)
#endif
    SWAP(1)
}
#define ADD(whole, EACH, step)                                                                                         \
    for (int i = 0; i < (step); i++)                                                                                   \
        r[i] = SHUFFLE(whole, r[i], r[i + (step)], EACH(KEEP_LOW, step)) +                                             \
               SHUFFLE(whole, r[i], r[i + (step)], EACH(KEEP_HIGH, step));
INLINE lanes fold(lanes *r) {
#if LANES == 8
    ADD(whole_lanes, EACH, 4)
#endif
#if LANES >= 4
    ADD(whole_lanes, EACH, 2)
#endif
    ADD(whole_lanes, EACH, 1)
    return r[0];
}
INLINE lanes short_fold(short_lanes *r) {
#if LANES == 8
    ADD(short_whole_lanes, SHORT_EACH, 4)
#endif
#if LANES >= 4
    ADD(short_whole_lanes, SHORT_EACH, 2)
#endif
    ADD(short_whole_lanes, SHORT_EACH, 1)
    float halves[2 * LANES];
    double low[LANES], high[LANES];
    memcpy(halves, r, sizeof halves);
    for (int i = 0; i < LANES; i++) low[i] = halves[i];
    for (int i = 0; i < LANES; i++) high[i] = halves[LANES + i];
    return load(low) + load(high);
}
#undef KEEP_LOW
#undef KEEP_HIGH
#undef TWO
#undef FOUR
#undef EIGHT
#undef EACH
#undef SHORT_EACH
#undef SHUFFLE
#undef SWAP
#undef ADD

/* Whether an index is one of `size` */
INLINE int within(int64_t index, int64_t size) { return (uint64_t)index < (uint64_t)size; }
INLINE int codes_within(const int64_t *codes, int64_t n, int64_t size) {
    int outside = 0;
    for (int64_t i = 0; i < n; i++) outside |= !within(codes[i], size);
    return !outside;
}

/* How many of the classes that are left to take together: what fits the registers, in even parts. */
INLINE int64_t group_size(int64_t left) { return left <= MOST ? left : (left < 2 * MOST ? (left + 1) / 2 : MOST); }

/* Run a group of classes with their number known to the compiler. */
#if MOST > 5
#define BY_SIZE(size, RUN)                                                                                             \
    switch (size) {                                                                                                    \
        case 10: RUN(10); break;                                                                                       \
        case 9: RUN(9); break;                                                                                         \
        case 8: RUN(8); break;                                                                                         \
        case 7: RUN(7); break;                                                                                         \
        case 6: RUN(6); break;                                                                                         \
        case 5: RUN(5); break;                                                                                         \
        case 4: RUN(4); break;                                                                                         \
        case 3: RUN(3); break;                                                                                         \
        case 2: RUN(2); break;                                                                                         \
        default: RUN(1);                                                                                               \
    }
#else
#define BY_SIZE(size, RUN)                                                                                             \
    switch (size) {                                                                                                    \
        case 5: RUN(5); break;                                                                                         \
        case 4: RUN(4); break;                                                                                         \
        case 3: RUN(3); break;                                                                                         \
        case 2: RUN(2); break;                                                                                         \
        default: RUN(1);                                                                                               \
    }
#endif
