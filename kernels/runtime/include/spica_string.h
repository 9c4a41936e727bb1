/* Memory and strings. Every thread of a warp may name its own addresses and sizes. */
#include "spica.h" /* ahead of the guard: it includes all headers, in their order */

#ifndef SPICA_STRING_H
#define SPICA_STRING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *__restrict to, const void *__restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);
int memcmp(const void *a, const void *b, size_t count);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);

#ifdef __cplusplus
}
#endif

#endif
