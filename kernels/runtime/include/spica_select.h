/* Branch-free selection for conditions that differ between the threads of a warp. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_SELECT_H
#define SPICA_SELECT_H

/* All ones if the condition holds, else all zeros; opaque to the compiler, which would otherwise
 * turn dependent code into a branch. */
SPICA_INLINE uint32_t spica_mask(uint32_t condition)
{
    uint32_t mask = 0u - (uint32_t)(condition != 0);
    __asm__("" : "+r"(mask));
    return mask;
}

SPICA_INLINE uint32_t spica_select(uint32_t condition, uint32_t yes, uint32_t no)
{
    return no ^ ((yes ^ no) & spica_mask(condition));
}

SPICA_INLINE uint32_t spica_bits(float value)
{
    return __builtin_bit_cast(uint32_t, value);
}

SPICA_INLINE float spica_float(uint32_t bits)
{
    return __builtin_bit_cast(float, bits);
}

SPICA_INLINE float spica_selectf(uint32_t condition, float yes, float no)
{
    return spica_float(spica_select(condition, spica_bits(yes), spica_bits(no)));
}

SPICA_INLINE int32_t spica_min(int32_t a, int32_t b)
{
    return (int32_t)spica_select(a < b, (uint32_t)a, (uint32_t)b);
}

SPICA_INLINE int32_t spica_max(int32_t a, int32_t b)
{
    return (int32_t)spica_select(a > b, (uint32_t)a, (uint32_t)b);
}

SPICA_INLINE uint32_t spica_minu(uint32_t a, uint32_t b)
{
    return spica_select(a < b, a, b);
}

SPICA_INLINE uint32_t spica_maxu(uint32_t a, uint32_t b)
{
    return spica_select(a > b, a, b);
}

#endif
