/* Begin and end of a warp's tile: Q^T to shared memory, and O and LSE to DRAM. */
#ifndef ATTENTION_ROWS_H
#define ATTENTION_ROWS_H

#include "attention_softmax.h"

/* State of the queries of a warp: maxima, those with the keys of a block, shifts of exponents, and
 * sums of powers. A register of all lanes is a row of memory. */
typedef struct {
    uint32_t maximum[2][LANES], raised[2][LANES], shift[2][LANES], sum[2][LANES];
} AttentionRows;

static AttentionRows attention_rows_[ALL_WARPS] __attribute__((section(".unset"), aligned(64)));

/* State of the warp, at the words of the lane. */
SPICA_INLINE volatile AttentionRows *attention_rows(AttentionWarp *warp)
{
    return (volatile AttentionRows *)(ATTENTION_ADDRESS(attention_rows_) + 4 * warp->lane +
                                      warp->number * (uint32_t)sizeof(AttentionRows));
}

SPICA_INLINE void attention_clear_rows(AttentionWarp *warp)
{
    volatile AttentionRows *rows = attention_rows(warp);
    rows->raised[0][0] = rows->raised[1][0] = ATTENTION_LOADED(MINUS_INFINITY);
    rows->sum[0][0] = rows->sum[1][0] = 0;
}

/* Raises maxima to those of a tile of scores. */
SPICA_INLINE void attention_raise(volatile AttentionRows *rows)
{
    AttentionPair maximum = {rows->raised[0][0], rows->raised[1][0]};
    attention_maxima(&maximum);
    rows->raised[0][0] = maximum.first;
    rows->raised[1][0] = maximum.second;
}

/* Sets the maxima of the lane's queries. */
SPICA_INLINE void attention_set_maxima(volatile AttentionRows *rows, AttentionPair maximum)
{
    rows->maximum[0][0] = maximum.first;
    rows->maximum[1][0] = maximum.second;
    rows->shift[0][0] = attention_shift(maximum.first);
    rows->shift[1][0] = attention_shift(maximum.second);
}

/* Words of Q of one of the lane's queries; those behind the last one are copies of it. */
SPICA_INLINE const volatile uint32_t *attention_query(uint32_t problem, uint32_t row)
{
    row = spica_minu(row, ATTENTION->queries - 1);
    return (const volatile uint32_t *)(ATTENTION->q +
                                       (problem * ATTENTION->queries + row) * ROW_BYTES);
}

/* Transposes the warp's queries: a word of the lane has an element of both of its queries. */
SPICA_INLINE void attention_copy_queries(AttentionWarp *warp, uint32_t problem, uint32_t row)
{
    volatile uint32_t *to = (volatile uint32_t *)warp->operands + warp->lane;
    row += 2 * warp->lane;
    const volatile uint32_t *first = attention_query(problem, row);
    const volatile uint32_t *second = attention_query(problem, row + 1);
#pragma unroll 4
    for (uint32_t word = 0; word < ROW_WORDS; word++, to += 2 * LANES) {
        const uint32_t a = first[word], b = second[word];
        uint32_t low = a << 16;
        SPICA_ANEW(low); /* or a mask occupies a register */
        to[0] = low >> 16 | b << 16;
        to[LANES] = a >> 16 | b >> 16 << 16;
    }
    attention_settle();
}

/* Stores a factor of each of the lane's queries, which all lanes then load. */
SPICA_INLINE void attention_share(AttentionWarp *warp, float first, float second)
{
    volatile float *to = attention_factors(warp) + 2 * warp->lane;
    to[0] = first;
    to[1] = second;
    attention_settle();
}

/* Multiplies rows of O by their factors. */
SPICA_INLINE void attention_rescale(AttentionWarp *warp)
{
    volatile float *at = (volatile float *)attention_output(warp);
    const volatile float *end = at + ATTENTION_LOADED(OUTPUT_BYTES) / 4;
#pragma unroll 1
    while (at != end) {
        const volatile float *factors = attention_factors(warp);
#pragma unroll 4
        for (uint32_t row = 0; row < SIDE; row++, at += 2 * LANES) {
            const float factor = factors[row];
            at[0] *= factor;
            at[LANES] *= factor;
        }
    }
}

/* Reciprocal of a sum, or 0 of the sum 0. */
SPICA_INLINE float attention_inverse(uint32_t sum)
{
    const uint32_t inverse = spica_bits(spica_rcpf(spica_float(sum)));
    SPICA_ANEW(sum); /* or the comparison is one of floats, with a constant in a register */
    return spica_float(spica_select(sum == 0, 0, inverse));
}

SPICA_INLINE uint32_t attention_packed(float even, float odd)
{
#ifdef ATTENTION_BF16
    return spica_pack_bf16(even, odd);
#else
    return spica_pack_fp16(even, odd);
#endif
}

SPICA_INLINE void attention_store_lse(uint32_t maximum, uint32_t sum, uint32_t place)
{
    const uint32_t ln_2 = SPICA_CONSTANT(0x3F317218);
    const float exponent = __builtin_fmaf(spica_float(maximum), ATTENTION->scale_log2,
                                          spica_log2f(spica_float(sum)));
    ((volatile float *)ATTENTION->lse)[place] = exponent * spica_float(ln_2);
}

/* Divides O by the sums and stores it, and LSE, of the queries that exist. */
SPICA_INLINE void attention_finish(AttentionWarp *warp, uint32_t problem, uint32_t row)
{
    volatile AttentionRows *rows = attention_rows(warp);
    const uint32_t queries = ATTENTION->queries, place = problem * queries + row;
    const uint32_t lane = warp->lane, own = row + 2 * lane;
    attention_share(warp, attention_inverse(rows->sum[0][0]), attention_inverse(rows->sum[1][0]));
    const volatile float *from = (const volatile float *)attention_output(warp);
    volatile uint32_t *to = (volatile uint32_t *)(ATTENTION->o + place * ROW_BYTES) + lane;
    const uint32_t count = spica_minu(queries - row, SIDE);
#pragma unroll 1
    for (uint32_t tile = 0; tile < OUTPUT_TILES; tile++) {
        const volatile float *factors = attention_factors(warp), *at = from;
        volatile uint32_t *word = to;
#pragma unroll 1
        for (uint32_t i = 0; i < count; i++, at += 2 * LANES, word += ROW_WORDS) {
            const float factor = factors[i];
            *word = attention_packed(at[0] * factor, at[LANES] * factor);
        }
        from += TILE_BYTES / 4;
        to += LANES;
    }
    rows = attention_rows(warp);
    SPICA_IF (own < queries) {
        attention_store_lse(rows->maximum[0][0], rows->sum[0][0], place + 2 * lane);
    } SPICA_END_IF
    SPICA_IF (own + 1 < queries) {
        attention_store_lse(rows->maximum[1][0], rows->sum[1][0], place + 2 * lane + 1);
    } SPICA_END_IF
}

#endif
