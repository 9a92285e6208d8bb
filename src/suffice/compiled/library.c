/* What the library says of itself: the instruction sets that it was built for and that the processor has, the compiler,
 * and the declarations and constants that it was built with, which compiled/boundary.py compares with its own. */
#include "common.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Whether the operating system keeps all of these registers (bits of XCR0) when it switches threads */
static int registers_kept(unsigned mask) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & mask) == mask;
}

/* The instructions that the compiler may use for haswell (avx2) and skylake-avx512, as bits of CPUID's answers */
static int processor_level(void) {
    unsigned a, b, c, d, extended;
    const unsigned first = bit_FMA | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_MOVBE | bit_POPCNT | bit_OSXSAVE |
                           bit_AVX | bit_F16C | bit_RDRND;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first || !registers_kept(0x06)) return 0;
    if (!__get_cpuid(0x80000001, &a, &b, &extended, &d) || !(extended & (1u << 5))) return 0; /* LZCNT */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if ((b & (bit_AVX2 | bit_BMI | bit_BMI2)) != (bit_AVX2 | bit_BMI | bit_BMI2)) return 0;
#if defined(EMULATED)
    return 2; /* the loops of avx512 were compiled to the instructions of avx2 */
#else
    const unsigned wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    return (b & wide) == wide && registers_kept(0xE6) ? 2 : 1;
#endif
}
EXPORT const char *built_levels(void) { return "base avx2 avx512"; }
EXPORT const char *levels(void) {
    static const char *const found[] = {"base", "base avx2", "base avx2 avx512"};
    return found[processor_level()];
}
#elif defined(__aarch64__)
EXPORT const char *built_levels(void) { return "neon"; }
EXPORT const char *levels(void) { return "neon"; }
#else
EXPORT const char *built_levels(void) { return "base"; }
EXPORT const char *levels(void) { return "base"; }
#endif

EXPORT const char *compiler(void) {
#if defined(__clang__)
    return __VERSION__;
#else
    return "GCC " __VERSION__;
#endif
}

/* Which declarations (signatures.py) this was built with */
EXPORT int64_t fingerprint(void) { return FINGERPRINT; }

#define CONSTANT(name) {#name, name}
static const struct {
    const char *name;
    int64_t value;
} constants[] = {
    /* clang-format off */
    CONSTANT(NOT_FINITE), CONSTANT(NEGATIVE), CONSTANT(NOT_BINARY), CONSTANT(INFINITE), CONSTANT(OUT_OF_RANGE),
    CONSTANT(WORDS_FULL), CONSTANT(STORE_FULL), CONSTANT(BAGS_FULL), CONSTANT(LETTERS_BYTES), CONSTANT(PAST_BYTES),
    CONSTANT(LOGISTIC), CONSTANT(LOG_LINEAR), CONSTANT(PREDICTOR), CONSTANT(GIVEN),
    CONSTANT(FULL), CONSTANT(TIED), CONSTANT(SCALED), CONSTANT(DIAGONAL), CONSTANT(SPHERE),
    CONSTANT(EII), CONSTANT(VII), CONSTANT(EEI), CONSTANT(VEI), CONSTANT(EVI), CONSTANT(VVI), CONSTANT(EEE),
    CONSTANT(VEE), CONSTANT(EVE), CONSTANT(VVE), CONSTANT(EEV), CONSTANT(VEV), CONSTANT(EVV), CONSTANT(VVV),
    CONSTANT(GIVEN_SPHERE),
    CONSTANT(BEGIN_AT_MODEL), CONSTANT(BEGIN_WITH_LABELS), CONSTANT(BEGIN_WITH_SHARES), CONSTANT(N_SETTINGS),
    CONSTANT(NO_EXTRAPOLATION), CONSTANT(EXTRAPOLATION_BEGINS), CONSTANT(EXTRAPOLATION_CONTINUES),
    CONSTANT(EM_CONTINUES), CONSTANT(EM_CONVERGED), CONSTANT(EM_NO_ESTIMATE), CONSTANT(EM_NOT_FINITE),
    CONSTANT(EM_CONSTANT),
    CONSTANT(SAME_SPHERES), CONSTANT(OWN_SPHERES), CONSTANT(OWN_ELLIPSOIDS),
    CONSTANT(GROUP), CONSTANT(MOST_TRIALS), CONSTANT(MOST_STARTS), CONSTANT(LINE_BYTES), CONSTANT(MOST_LANES),
    CONSTANT(BLOCK_ROWS), CONSTANT(PACKED_COLUMNS), CONSTANT(PADDING), CONSTANT(STEP_BYTES),
    /* clang-format on */
};
EXPORT const char *constant_name(int64_t i) {
    return i < (int64_t)(sizeof constants / sizeof *constants) ? constants[i].name : 0;
}
EXPORT int64_t constant_value(int64_t i) { return constants[i].value; }

EXPORT int64_t size_sums_size(int64_t k, int64_t products) { return SUMS_SIZE(k, products); }
EXPORT int64_t size_patterns_work(int64_t d, int64_t k, int64_t forms) { return PATTERNS_WORK(d, k, forms); }
EXPORT int64_t size_patterns_places(int64_t d) { return PATTERNS_PLACES(d); }
EXPORT int64_t size_k_means_work(int64_t n, int64_t d, int64_t k, int64_t trials) {
    return K_MEANS_WORK(n, d, k, trials);
}
EXPORT int64_t size_merge_work(int64_t n, int64_t d) { return MERGE_WORK(n, d); }
EXPORT int64_t size_missing_work(int64_t d, int64_t D) { return MISSING_WORK(d, D); }
