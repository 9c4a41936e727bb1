/* Branch-free float functions, built from the special functions and fused multiply-adds.
 *
 * Largest errors found against the exact values, over all arguments with finite results, subnormals
 * included: in ulp (units in the last place of the exact value), or absolute.
 *
 *  expf     1.45      ulp
 *  logf     1.50      ulp
 *  tanhf    1.75      ulp
 *  powf     3.50      ulp
 *  rsqrtf   0.95      ulp
 *  sinf     2^-24.0   absolute
 *  cosf     2^-24.0   absolute
 *
 * floorf, ceilf, truncf, rintf, roundf, sqrtf, fabsf, fminf, fmaxf, fmaf and copysignf are exact or
 * correctly rounded; exp2f and log2f are single instructions, below 1 ulp. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_MATH_H
#define SPICA_MATH_H

/* Standard C names of single instructions. */
SPICA_INLINE float sqrtf(float x) { return __builtin_sqrtf(x); }
SPICA_INLINE float fabsf(float x) { return __builtin_fabsf(x); }
SPICA_INLINE float fminf(float x, float y) { return __builtin_fminf(x, y); }
SPICA_INLINE float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
SPICA_INLINE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
SPICA_INLINE float copysignf(float x, float y) { return __builtin_copysignf(x, y); }

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))

#define SPICA_ROUNDED_(name, mode)                                                   \
    SPICA_INLINE float name(float x)                                                 \
    {                                                                                \
        int32_t whole;                                                               \
        __asm__("fcvt.w.s %0, %1, " #mode : "=r"(whole) : "f"(x));                   \
        float rounded = __builtin_copysignf((float)whole, x);                        \
        /* Floats from 2^23 on are integers; NaN fails the comparison. */            \
        return spica_selectf(__builtin_fabsf(x) < 0x1p23f, rounded, x);              \
    }
SPICA_ROUNDED_(floorf, rdn)
SPICA_ROUNDED_(ceilf, rup)
SPICA_ROUNDED_(truncf, rtz)
SPICA_ROUNDED_(rintf, rne)
SPICA_ROUNDED_(roundf, rmm)

SPICA_INLINE float exp2f(float x) { return spica_exp2f(x); }
SPICA_INLINE float log2f(float x) { return spica_log2f(x); }
SPICA_INLINE float sinf(float x) { return spica_sinf(x); }
SPICA_INLINE float cosf(float x) { return spica_cosf(x); }
SPICA_INLINE float rsqrtf(float x) { return spica_rsqrtf(x); }

/* 2^(p + rest) for a rest that is small relative to p. Only 2^p decides if the result is infinite
 * or NaN. */
SPICA_INLINE float spica_exp2_sum(float p, float rest)
{
    float power = spica_exp2f(p);
    rest = __builtin_fmaxf(__builtin_fminf(rest * 0x1.62e430p-1f, 1.0f), -1.0f);
    return __builtin_fmaf(__builtin_fminf(power, 0x1.fffffep127f), rest, power);
}

SPICA_INLINE float expf(float x)
{
    float p = x * 0x1.715476p+0f; /* log2(e), and the error of its rounding */
    float rest = __builtin_fmaf(x, 0x1.4ae0c0p-26f, __builtin_fmaf(x, 0x1.715476p+0f, -p));
    return spica_exp2_sum(p, rest);
}

SPICA_INLINE float logf(float x)
{
    float exponent = spica_log2f(x);
    return exponent * 0x1.62e430p-1f;
}

/* Below 5/8 a polynomial, above it 1 - 2 / (e^2x + 1). */
SPICA_INLINE float tanhf(float x)
{
    float size = __builtin_fabsf(x), square = x * x;
    float p = __builtin_fmaf(0x1.2d5392p-9f, square, -0x1.119ceap-7f);
    p = __builtin_fmaf(__builtin_fmaf(p, square, 0x1.64b22cp-6f), square, -0x1.ba0960p-5f);
    p = __builtin_fmaf(p, square, 0x1.1110ecp-3f);
    p = __builtin_fmaf(p, square, -0x1.555556p-2f) * square;
    float small = __builtin_fmaf(p, size, size);
    float power = spica_exp2f(size * 0x1.715476p+1f);
    float large = __builtin_fmaf(-2.0f, spica_rcpf(power + 1.0f), 1.0f);
    return __builtin_copysignf(spica_selectf(size < 0.625f, small, large), x);
}

/* A number as the sum of a float and a small remainder. */
typedef struct {
    float value, rest;
} spica_sum;

/* log2 of a positive finite number, to about 30 bits. */
SPICA_INLINE spica_sum spica_log2_sum(float x)
{
    uint32_t is_subnormal = spica_mask(x < 0x1p-126f);
    uint32_t bits = spica_select(is_subnormal, spica_bits(x * 0x1p23f), spica_bits(x));
    /* x = m * 2^exponent with m from sqrt(1/2) to sqrt(2). */
    uint32_t steps = bits - 0x3F3504F3u;
    float exponent = (float)(((int32_t)steps >> 23) - (int32_t)(is_subnormal & 23));
    float m = spica_float(bits - (steps & 0xFF800000u));
    /* log m = 2 artanh s, s = (m - 1) / (m + 1); numerator and denominator are exact. */
    float f = m - 1.0f, d = m + 1.0f;
    float d_rest = f - (d - 2.0f);
    float inverse = spica_rcpf(d);
    float s = f * inverse;
    float s_rest = __builtin_fmaf(-s, d_rest, __builtin_fmaf(-s, d, f)) * inverse;
    float square = s * s;
    float series = __builtin_fmaf(0x1.ddf9aap-4f, square, 0x1.245b70p-3f);
    series = __builtin_fmaf(__builtin_fmaf(series, square, 0x1.9999eep-3f), square, 0x1.555556p-2f);
    s_rest = __builtin_fmaf(s_rest, square, s_rest); /* effect of artanh on the remainder */
    float tail = __builtin_fmaf(s * square, series, s_rest);
    /* times 2 log2(e) */
    float product = s * 0x1.715476p+1f;
    float low = __builtin_fmaf(s, 0x1.715476p+1f, -product);
    low = __builtin_fmaf(tail, 0x1.715476p+1f, __builtin_fmaf(s, 0x1.4ae0c0p-25f, low));
    float fraction = product + low;
    low -= fraction - product;
    float value = exponent + fraction; /* the exponent is 0 or has the larger magnitude */
    float rest = fraction - (value - exponent) + low;
    return (spica_sum){value, rest};
}

/* Bit 0: y is an integer; bit 1: y is odd. */
SPICA_INLINE uint32_t spica_parity(float y)
{
    float size = __builtin_fabsf(y);
    uint32_t is_whole = truncf(size) == size;
    int32_t whole = (int32_t)__builtin_fminf(size, 0x1p24f); /* all floats from 2^24 on are even */
    return is_whole | ((is_whole & (uint32_t)whole) << 1);
}

SPICA_INLINE float powf(float x, float y)
{
    float size = __builtin_fabsf(x);
    spica_sum log = spica_log2_sum(__builtin_fminf(size, 0x1.fffffep127f));
    float p = y * log.value;
    float rest = __builtin_fmaf(y, log.value, -p) + y * log.rest;
    /* Compute half of a large result first: its power alone may overflow. */
    float half = (float)(p > 126.0f);
    float result = spica_exp2_sum(p - half, rest);
    result = __builtin_fmaf(result, half, result);
    /* Keep the compiler from interleaving both parts: they would exceed the registers. */
    __asm__("" : "+f"(result), "+f"(size), "+f"(x), "+f"(y));

    /* Zero and infinity to the power y. */
    uint32_t grows = (size > 1.0f) == (y > 0.0f);
    uint32_t is_extreme = (size == 0.0f) | (size == INFINITY) | (y == INFINITY) | (y == -INFINITY);
    result = spica_selectf(is_extreme, spica_selectf(grows, INFINITY, 0.0f), result);
    /* Negative x: y must be an integer; its parity selects the sign. */
    uint32_t parity = spica_parity(y);
    uint32_t is_below = spica_bits(x) >> 31;
    uint32_t is_finite_below = is_below & (size != 0.0f) & (size != INFINITY);
    result = spica_selectf(is_finite_below & ~parity, NAN, result);
    result = spica_float(spica_bits(result) ^ (is_below & parity >> 1) << 31);
    result = spica_selectf((x != x) | (y != y), NAN, result);
    uint32_t is_one = (x == 1.0f) | (y == 0.0f) | ((x == -1.0f) & (__builtin_fabsf(y) == INFINITY));
    return spica_selectf(is_one, 1.0f, result);
}

#endif
