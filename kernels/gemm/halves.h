/* FP16 conversion on FP32 cores: round to nearest even, and back. All values are handled:
 * subnormals, overflow, infinities, and NaN, which becomes 0x7E00. */
#ifndef HALVES_H
#define HALVES_H

#include <spica.h>

/* Scale of values to convert: values too large for FP16 overflow to infinity in FP32. */
#define HALVES_SCALE 0x1p112f

/* Magnitude of `scaled` / HALVES_SCALE in FP16, in bits 14:0; bit 15 is 1, the others are
 * undefined. */
SPICA_INLINE uint32_t halves_rounded(float scaled)
{
    /* The added power of two is so much larger that the sum keeps the ten fraction bits of FP16, or
     * as many as FP16 subnormals have. The exponent of the sum is that of FP16 minus one; its last
     * bits hold the significand, including the leading one. */
    float power = spica_float((spica_bits(scaled) & 0x7F800000u) - 0x00800000u);
    float sum = fmaf(fabsf(scaled), 0x1p-14f, fmaxf(power, 0x1p97f));
    return spica_bits(sum) + (spica_bits(sum) >> 13);
}

/* Two values, each times HALVES_SCALE, as FP16; `low` in bits 15:0. */
SPICA_INLINE uint32_t halves_of_scaled(float low, float high)
{
    uint32_t magnitudes = halves_rounded(high) << 16 | (halves_rounded(low) & 0xFFFFu);
    uint32_t signs = (spica_bits(high) & 0x80000000u) | (spica_bits(low) & 0x80000000u) >> 16;
    return magnitudes ^ (signs ^ 0x80008000u);
}

SPICA_INLINE uint32_t halves_of(float low, float high)
{
    return halves_of_scaled(low * HALVES_SCALE, high * HALVES_SCALE);
}

/* Value of the FP16 number in bits 15:0. */
SPICA_INLINE float halves_value(uint32_t half)
{
    float size = spica_float((half & 0x7FFFu) << 13) * HALVES_SCALE;
    /* 2^16 and above: infinity or NaN. */
    uint32_t special = spica_mask(size >= 0x1p16f) & 0x7F800000u;
    return spica_float(spica_bits(size) | special | (half & 0x8000u) << 16);
}

#endif
