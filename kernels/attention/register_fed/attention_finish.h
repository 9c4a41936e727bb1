/* End of a warp's tile: O divided by the sums, and LSE, to DRAM. */
#ifndef ATTENTION_FINISH_H
#define ATTENTION_FINISH_H

#include "attention_softmax.h"

/* Sum of both lanes of a row. */
SPICA_INLINE float attention_total(uint32_t own, char *room)
{
    SPICA_ANEW(room);
    *(volatile uint32_t *)room = own;
    const uint32_t other = *(volatile uint32_t *)((uint32_t)room ^ 8);
    return spica_float(own) + spica_float(other);
}

/* Reciprocal of a sum, or 0 of the sum 0. */
SPICA_INLINE uint32_t attention_inverse(float sum)
{
    uint32_t inverse = spica_bits(spica_rcpf(sum)), bits = spica_bits(sum);
    SPICA_ANEW(bits); /* or the comparison is one of floats, with a constant in a register */
    inverse = spica_select(bits == 0, 0, inverse);
    SPICA_ANEW(inverse);
    return inverse;
}

SPICA_INLINE uint32_t attention_lse(uint32_t maximum, float sum)
{
    float exponent = __builtin_fmaf(spica_float(maximum), ATTENTION->scale_log2,
                                    spica_log2f(sum));
    if (ATTENTION_BIAS)
        exponent += spica_float(SPICA_CONSTANT(ATTENTION_BIAS));
    const uint32_t ln_2 = SPICA_CONSTANT(0x3F317218);
    uint32_t lse = spica_bits(exponent * spica_float(ln_2));
    SPICA_ANEW(lse);
    return lse;
}

/* The lane's elements of one of its rows in 16 columns. */
#if SPICA_TENSOR_OPERAND_BITS == 32
#define STORE_ROW_(a, b, c, d, e, f, g, h)                                                       \
    "fsw f" #a ", 0(%0)\n\tfsw f" #b ", 4(%0)\n\tfsw f" #c ", 16(%0)\n\tfsw f" #d ", 20(%0)\n\t" \
    "fsw f" #e ", 32(%0)\n\tfsw f" #f ", 36(%0)\n\tfsw f" #g ", 48(%0)\n\tfsw f" #h ", 52(%0)"
#else
/* Even and odd columns are in different accumulators. */
#define STORE_ROW_(a, b, c, d, e, f, g, h)                                                        \
    PACK_(a, e) PACK_(b, f) PACK_(c, g) PACK_(d, h)                                              \
    "fsw f" #a ", 0(%0)\n\tfsw f" #b ", 4(%0)\n\tfsw f" #c ", 16(%0)\n\tfsw f" #d ", 20(%0)"
#endif

#define ATTENTION_FIRST_ROW_(to)                     \
    __asm__ volatile(STORE_ROW_(16, 17, 20, 21, 24, 25, 28, 29) : : "r"(to) : UPPER_FLOATS_, "memory")
#define ATTENTION_SECOND_ROW_(to)                    \
    __asm__ volatile(STORE_ROW_(18, 19, 22, 23, 26, 27, 30, 31) : : "r"(to) : UPPER_FLOATS_, "memory")

/* Rows of the lane that exist. */
typedef struct {
    uint32_t first, second;
} AttentionExisting;

/* Stores the lane's rows of O, divided by the sums. */
SPICA_INLINE void attention_finish_output(const char *from, char *to, AttentionPair inverse,
                                          AttentionExisting has, const int has_all)
{
#pragma unroll 1
    for (uint32_t chunk = 0; chunk < OUTPUT_CHUNKS; chunk++) {
        attention_load(from);
        attention_scale(inverse.first, inverse.second);
        if (has_all) {
            ATTENTION_FIRST_ROW_(to);
            ATTENTION_SECOND_ROW_(to + 2 * ROW_BYTES);
        } else {
            SPICA_IF (has.first) {
                ATTENTION_FIRST_ROW_(to);
            } SPICA_END_IF
            SPICA_IF (has.second) {
                ATTENTION_SECOND_ROW_(to + 2 * ROW_BYTES);
            } SPICA_END_IF
        }
        from += CHUNK_BYTES;
        to += CHUNK * 4 / ATTENTION_PER_WORD;
    }
}

/* Stores 8 rows of O and LSE, those of them that exist. */
SPICA_INLINE void attention_finish(const AttentionRows *rows, char *scores,
                                   uint32_t problem, uint32_t row)
{
    const uint32_t lane = vx_thread_id(), queries = ATTENTION->queries;
    const float first = attention_total(rows->sum[0][0], scores);
    const float second = attention_total(rows->sum[1][0], scores);
    const uint32_t own = row + (lane & 5), index = problem * queries + own;
    const uint32_t lse_first = attention_lse(rows->maximum[0][0], first);
    const uint32_t lse_second = attention_lse(rows->maximum[1][0], second);
    const AttentionPair inverse = {attention_inverse(first), attention_inverse(second)};
    const AttentionExisting has = {own < queries, own + 2 < queries};
    char *to = ATTENTION->o + index * ROW_BYTES + 4 * (lane & 2);
    if (row + 8 <= queries)
        attention_finish_output(attention_output_place(scores), to, inverse, has, 1);
    else
        attention_finish_output(attention_output_place(scores), to, inverse, has, 0);
    volatile uint32_t *lse = (volatile uint32_t *)ATTENTION->lse + index;
    SPICA_IF (has.first) {
        lse[0] = lse_first;
    } SPICA_END_IF
    SPICA_IF (has.second) {
        lse[2] = lse_second;
    } SPICA_END_IF
}

#endif
