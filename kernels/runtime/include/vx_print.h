/* Vortex v2 names of the print functions. */
#ifndef VX_PRINT_H
#define VX_PRINT_H

#include "spica.h"

#define vx_printf printf
#define vx_vprintf vprintf
#define vx_putchar putchar

SPICA_INLINE void vx_putint(int value, int base)
{
    printf(base == 16 ? "%x" : "%d", (unsigned)value);
}

SPICA_INLINE void vx_putfloat(float value, int precision)
{
    printf("%.*f", precision, (double)value);
}

#endif
