/* Console output. If several threads call a function, they print one after the other, in any order of
 * warps and cores; only characters of putchar may be in between. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_CONSOLE_H
#define SPICA_CONSOLE_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

int putchar(int character);
int puts(const char *text);
/* Conversions d i u x X c s p f F %, flags - 0 + space #, width and precision (also *), and lengths
 * h, hh, l, ll, z, j, t. */
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int vprintf(const char *format, va_list arguments);

#ifdef __cplusplus
}
#endif

#endif
