/* Attention per head: O = softmax(scale * Q K^T + mask) V, and the logarithm of each row's sum. */
#ifndef ATTENTION_H
#define ATTENTION_H

#include <stdint.h>

/* Head dimension, a macro of the compiler. */
#ifndef ATTENTION_DEPTH
#error "ATTENTION_DEPTH must be defined as 64 or 128"
#elif ATTENTION_DEPTH != 64 && ATTENTION_DEPTH != 128
#error "ATTENTION_DEPTH must be 64 or 128"
#endif

/* Arguments of the programs. Arrays are dense: Q and O have problems x queries rows, K and V have
 * problems / group x keys rows, of ATTENTION_DEPTH elements; LSE has problems x queries numbers.
 * Head h of Q uses head h / group of K and V. With causal, query i sees key j if
 * j <= i + keys - queries, as signed numbers. */
typedef struct {
    const char *q, *k, *v;
    char *o;
    float *lse;
    uint32_t problems, group, queries, keys, causal;
    float scale_log2; /* factor of the scores as exponents of 2 */
} Attention;

#endif
