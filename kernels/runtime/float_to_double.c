/* Compiler helper that converts float to double, as in arguments of printf. The compiler's own
 * version branches on the value, which may differ between threads. */
#include "spica.h"

double __extendsfdf2(float value)
{
    uint32_t bits = spica_bits(value);
    uint32_t sign = bits & 0x80000000u;
    uint32_t magnitude = bits ^ sign;
    /* A subnormal number times 2^32 is normal. */
    uint32_t is_small = magnitude < 0x00800000u;
    uint32_t is_zero = magnitude == 0;
    uint32_t enlarged = spica_bits(spica_float(magnitude) * 0x1p32f);
    magnitude = spica_select(is_small, enlarged, magnitude);
    uint32_t exponent = (magnitude >> 23) + (1023 - 127) - (spica_mask(is_small) & 32);
    exponent = spica_select(magnitude >= 0x7F800000u, 0x7FF, exponent) & ~spica_mask(is_zero);
    uint64_t fraction = (uint64_t)(magnitude & 0x007FFFFFu) << 29;
    uint64_t upper = sign | exponent << 20;
    return __builtin_bit_cast(double, upper << 32 | fraction);
}
