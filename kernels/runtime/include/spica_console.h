/* Text on the console. Called by several threads of a warp, they print one after the other; texts
 * of different warps may mix, character by character. */
#include "spica.h" /* ahead of the guard: it includes all headers, in their order */

#ifndef SPICA_CONSOLE_H
#define SPICA_CONSOLE_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

int putchar(int character);
int puts(const char *text);
/* d i u x X c s p f F % with flags - 0 + space #, width and precision, * for them, and the
 * lengths h, hh, l, ll, z, j, t. */
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int vprintf(const char *format, va_list arguments);

#ifdef __cplusplus
}
#endif

#endif
