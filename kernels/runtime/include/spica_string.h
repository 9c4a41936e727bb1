/* Memory and string functions; addresses and sizes may differ between the threads of a warp. */
#include "spica.h" /* before the guard: includes all headers in order */

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
