/* Memory and string functions; all arguments may differ between threads. */
#include "spica.h"

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    uint32_t is_aligned = (((uintptr_t)target | (uintptr_t)source) & 3) == 0;
    size_t words = count & spica_mask(is_aligned) & ~(size_t)3;
    const uint8_t *words_end = source + words;
    const uint8_t *end = source + count;
    SPICA_WHILE (source != words_end) {
        *(uint32_t *)target = *(const uint32_t *)source;
        target += 4;
        source += 4;
    } SPICA_END_WHILE
    SPICA_WHILE (source != end) {
        *target++ = *source++;
    } SPICA_END_WHILE
    return to;
}

void *memmove(void *to, const void *from, size_t count)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    /* Copy downwards from the end if the target starts inside the source. */
    uint32_t down = (uintptr_t)target - (uintptr_t)source < count;
    size_t last = spica_select(down, count - 1, 0);
    size_t step = spica_select(down, (uint32_t)-1, 1);
    target += last;
    source += last;
    SPICA_WHILE (count != 0) {
        *target = *source;
        target += step;
        source += step;
        count--;
    } SPICA_END_WHILE
    return to;
}

void *memset(void *to, int value, size_t count)
{
    uint8_t *target = to;
    uint32_t is_aligned = ((uintptr_t)target & 3) == 0;
    uint32_t word = (uint8_t)value * 0x01010101u;
    uint8_t *words_end = target + (count & spica_mask(is_aligned) & ~(size_t)3);
    uint8_t *end = target + count;
    SPICA_WHILE (target != words_end) {
        *(uint32_t *)target = word;
        target += 4;
    } SPICA_END_WHILE
    SPICA_WHILE (target != end) {
        *target++ = (uint8_t)word;
    } SPICA_END_WHILE
    return to;
}

int memcmp(const void *a, const void *b, size_t count)
{
    const uint8_t *left = a, *right = b;
    int difference = 0;
    SPICA_WHILE ((count != 0) & (difference == 0)) {
        difference = *left++ - *right++;
        count--;
    } SPICA_END_WHILE
    return difference;
}

size_t strlen(const char *text)
{
    const char *end = text;
    SPICA_WHILE (*end != 0) {
        end++;
    } SPICA_END_WHILE
    return (size_t)(end - text);
}

int strcmp(const char *a, const char *b)
{
    uint32_t left = (uint8_t)*a, right = (uint8_t)*b;
    SPICA_WHILE ((left == right) & (left != 0)) {
        left = (uint8_t)*++a;
        right = (uint8_t)*++b;
    } SPICA_END_WHILE
    return (int)left - (int)right;
}
