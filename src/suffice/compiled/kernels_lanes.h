/* Several rows side by side: as many doubles as a register of this kind of processor holds. */

#define lanes JOIN(vector, of_rows, LEVEL)
#define all JOIN(vector, all_, LEVEL)
#define load JOIN(vector, load_, LEVEL)
#define store JOIN(vector, store_, LEVEL)
#define multiply_add JOIN(vector, multiply_add_, LEVEL)
#define add JOIN(vector, add_, LEVEL)
#define subtract JOIN(vector, subtract_, LEVEL)
#define whole_lanes JOIN(vector, of_whole_rows, LEVEL)
#define where JOIN(vector, where_, LEVEL)
#define larger JOIN(vector, larger_, LEVEL)
#define exponential JOIN(vector, exponential_, LEVEL)
#define multiply JOIN(vector, multiply_, LEVEL)
#define multiply_subtract JOIN(vector, multiply_subtract_, LEVEL)
#define subtract_square JOIN(vector, subtract_square_, LEVEL)
#define divide JOIN(vector, divide_, LEVEL)
#define transpose JOIN(vector, transpose_, LEVEL)

#if defined(__GNUC__)
typedef double lanes __attribute__((vector_size(8 * LANES)));
INLINE lanes all(double v) { return v - (lanes){0}; }
INLINE lanes multiply_add(lanes a, lanes b, lanes sum) { return a * b + sum; }
INLINE lanes add(lanes a, lanes b) { return a + b; }
INLINE lanes subtract(lanes a, lanes b) { return a - b; }
INLINE lanes multiply(lanes a, lanes b) { return a * b; }
INLINE lanes divide(lanes a, lanes b) { return a / b; }
INLINE lanes multiply_subtract(lanes a, lanes b, lanes c) { return a * b - c; }
INLINE lanes subtract_square(lanes sum, lanes a) { return sum - a * a; }
#else
typedef struct {
    double v[LANES];
} lanes;
INLINE lanes all(double v) {
    lanes r;
    for (int i = 0; i < LANES; i++) r.v[i] = v;
    return r;
}
INLINE lanes multiply_add(lanes a, lanes b, lanes sum) {
    for (int i = 0; i < LANES; i++) sum.v[i] += a.v[i] * b.v[i];
    return sum;
}
INLINE lanes add(lanes a, lanes b) {
    for (int i = 0; i < LANES; i++) a.v[i] += b.v[i];
    return a;
}
INLINE lanes subtract(lanes a, lanes b) {
    for (int i = 0; i < LANES; i++) a.v[i] -= b.v[i];
    return a;
}
INLINE lanes multiply(lanes a, lanes b) {
    for (int i = 0; i < LANES; i++) a.v[i] *= b.v[i];
    return a;
}
INLINE lanes multiply_subtract(lanes a, lanes b, lanes c) { return subtract(multiply(a, b), c); }
INLINE lanes subtract_square(lanes sum, lanes a) { return subtract(sum, multiply(a, a)); }
INLINE lanes divide(lanes a, lanes b) {
    for (int i = 0; i < LANES; i++) a.v[i] /= b.v[i];
    return a;
}
#endif
/* e^x for x ≤ 0: x = n·log 2 + r with |r| ≤ ½ log 2, and a Taylor polynomial that is exact to the last place there.
 * 1/k! for k = 13 … 0 */
#define POLYNOMIAL                                                                                                     \
    {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,          \
     1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,      1.0 / 24.0,      1.0 / 6.0,      0.5,                    \
     1.0,                1.0}
/* adding and taking off 1.5·2^52 rounds to a whole number, and leaves it in the low bits in between */
#define ROUNDER 6755399441055744.0
#define LEAST -708.0 /* e^x below is 0, or near enough */
#define LOG2_HIGH 6.93147180369123816490e-01
#define LOG2_LOW 1.90821492927058770002e-10

#if defined(__GNUC__)
typedef int64_t whole_lanes __attribute__((vector_size(8 * LANES)));
INLINE lanes where(whole_lanes mask, lanes a, lanes b) {
    return (lanes)(((whole_lanes)a & mask) | ((whole_lanes)b & ~mask));
}
INLINE lanes larger(lanes a, lanes b) { return where(a > b, a, b); }
INLINE lanes exponential(lanes x) {
    static const double terms[] = POLYNOMIAL;
    const whole_lanes small = x <= LEAST;
    const lanes v = where(small, all(LEAST), x), shifted = v * 1.4426950408889634 + ROUNDER, n = shifted - ROUNDER;
    const lanes r = (v - n * LOG2_HIGH) - n * LOG2_LOW, power = (lanes)(((whole_lanes)shifted + 1023) << 52);
    lanes sum = all(terms[0]);
    for (int term = 1; term < 14; term++) sum = sum * r + terms[term];
    return where(small, all(0.0), sum * power);
}
#else
INLINE lanes larger(lanes a, lanes b) {
    for (int i = 0; i < LANES; i++) a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
    return a;
}
INLINE lanes exponential(lanes x) {
    for (int i = 0; i < LANES; i++) x.v[i] = exp(x.v[i]);
    return x;
}
#endif

INLINE lanes load(const double *p) {
    lanes r;
    memcpy(&r, p, sizeof r);
    return r;
}
INLINE void store(double *p, lanes a) { memcpy(p, &a, sizeof a); }

/* Turn LANES rows of LANES into columns: halves change places, then quarters, then neighbours. */
#if defined(__GNUC__) && !defined(__clang__)
#define KEEP_LOW(lane, step) ((lane) & (step) ? LANES + (lane) - (step) : (lane))
#define KEEP_HIGH(lane, step) ((lane) & (step) ? LANES + (lane) : (lane) + (step))
#if LANES == 8
#define EACH(F, s) {F(0, s), F(1, s), F(2, s), F(3, s), F(4, s), F(5, s), F(6, s), F(7, s)}
#elif LANES == 4
#define EACH(F, s) {F(0, s), F(1, s), F(2, s), F(3, s)}
#else
#define EACH(F, s) {F(0, s), F(1, s)}
#endif
#define SWAP(step)                                                                                                     \
    for (int i = 0; i < LANES; i++)                                                                                    \
        if (!(i & (step))) {                                                                                           \
            const lanes a = r[i], b = r[i + (step)];                                                                   \
            r[i] = __builtin_shuffle(a, b, (whole_lanes)EACH(KEEP_LOW, step));                                         \
            r[i + (step)] = __builtin_shuffle(a, b, (whole_lanes)EACH(KEEP_HIGH, step));                               \
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
#undef KEEP_LOW
#undef KEEP_HIGH
#undef EACH
#undef SWAP
#else
INLINE void transpose(lanes *r) {
    double *v = (double *)r;
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < i; j++) {
            const double swapped = v[i * LANES + j];
            v[i * LANES + j] = v[j * LANES + i];
            v[j * LANES + i] = swapped;
        }
}
#endif
