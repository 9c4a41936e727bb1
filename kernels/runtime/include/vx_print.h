/* The names under which programs of Vortex v2 print. */
#ifndef VX_PRINT_H
#define VX_PRINT_H
#include "spica.h"

#define vx_printf printf
#define vx_vprintf vprintf
#define vx_putchar putchar
#define vx_puts puts
#endif
