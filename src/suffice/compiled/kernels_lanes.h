/* Several rows side by side: as many doubles as a register of this kind of processor holds. */

#define lanes JOIN(vector, of_rows, LEVEL)
#define all JOIN(vector, all_, LEVEL)
#define load JOIN(vector, load_, LEVEL)
#define store JOIN(vector, store_, LEVEL)
#define multiply_add JOIN(vector, multiply_add_, LEVEL)
#define subtract JOIN(vector, subtract_, LEVEL)
#define multiply JOIN(vector, multiply_, LEVEL)

#if defined(__GNUC__)
typedef double lanes __attribute__((vector_size(8 * LANES)));
INLINE lanes all(double v) { return v - (lanes){0}; }
INLINE lanes multiply_add(lanes a, lanes b, lanes sum) { return a * b + sum; }
INLINE lanes subtract(lanes a, lanes b) { return a - b; }
INLINE lanes multiply(lanes a, lanes b) { return a * b; }
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
INLINE lanes subtract(lanes a, lanes b) {
    for (int i = 0; i < LANES; i++) a.v[i] -= b.v[i];
    return a;
}
INLINE lanes multiply(lanes a, lanes b) {
    for (int i = 0; i < LANES; i++) a.v[i] *= b.v[i];
    return a;
}
#endif
INLINE lanes load(const double *p) {
    lanes r;
    memcpy(&r, p, sizeof r);
    return r;
}
INLINE void store(double *p, lanes a) { memcpy(p, &a, sizeof a); }
