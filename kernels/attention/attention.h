/* Attention per head: O = softmax(scale * Q K^T + mask) V, and the logarithm of each row's sum. */
#ifndef ATTENTION_H
#define ATTENTION_H

#include <stdint.h>

/* Head dimension, a macro of the compiler. */
#ifndef ATTENTION_DEPTH
#error "ATTENTION_DEPTH must be defined as one of DEPTHS of problem.py"
#endif

/* Scale of the weights, macros of the compiler, each a word of FP32: the weight of a score that equals
 * its row's maximum is 2^-ATTENTION_BIAS. A score may exceed the maximum by the exponent ATTENTION_LAG
 * before it replaces it; programs that compare sums of weights replace it above ATTENTION_LIMIT. */
#if !defined(ATTENTION_BIAS) || !defined(ATTENTION_LAG) || !defined(ATTENTION_LIMIT)
#error "ATTENTION_BIAS, ATTENTION_LAG and ATTENTION_LIMIT must be defined as words of FP32"
#endif

/* Arguments of the programs. Arrays are dense: Q and O have problems x queries rows, K and V have
 * problems / group x keys rows, of ATTENTION_DEPTH elements; LSE has problems x queries numbers.
 * Head h of Q uses head h / group of K and V. With causal, query i attends to key j if
 * j <= i + keys - queries, as signed numbers. */
typedef struct {
    const char *q, *k, *v;
    char *o;
    float *lse;
    uint32_t problems, group, queries, keys, causal;
    float scale_log2; /* factor of the scores as exponents of 2 */
} Attention;

#endif
