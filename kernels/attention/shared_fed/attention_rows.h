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

SPICA_INLINE void attention_store_lse(uint32_t maximum, uint32_t sum, uint32_t index)
{
    const uint32_t ln_2 = SPICA_CONSTANT(0x3F317218);
    float exponent = __builtin_fmaf(spica_float(maximum), ATTENTION->scale_log2,
                                    spica_log2f(spica_float(sum)));
    if (ATTENTION_BIAS)
        exponent += spica_float(SPICA_CONSTANT(ATTENTION_BIAS));
    ((volatile float *)ATTENTION->lse)[index] = exponent * spica_float(ln_2);
}

#define DIVIDE_(even, odd, factor)                                                             \
    "fmul.s f" #even ", f" #even ", f" #factor "\n\tfmul.s f" #odd ", f" #odd ", f" #factor "\n\t"
#define LOAD_FACTOR_(n, offset) "flw f" #n ", " #offset "(%1)\n\t"

/* Eight rows of a tile of O, times their factors, as words of 16-bit numbers in f0, f2, ... f14. */
SPICA_INLINE void attention_divide(const char *from, const volatile float *factors)
{
    __asm__ volatile(
        LOAD_FACTOR_(16, 0) LOAD_FACTOR_(17, 4) LOAD_FACTOR_(18, 8) LOAD_FACTOR_(19, 12)
        LOAD_FACTOR_(20, 16) LOAD_FACTOR_(21, 20) LOAD_FACTOR_(22, 24) LOAD_FACTOR_(23, 28)
        HALF_OF_REGISTERS_(LOAD_ONE_)
        DIVIDE_(0, 1, 16) DIVIDE_(2, 3, 17) DIVIDE_(4, 5, 18) DIVIDE_(6, 7, 19) DIVIDE_(8, 9, 20)
        DIVIDE_(10, 11, 21) DIVIDE_(12, 13, 22) DIVIDE_(14, 15, 23)
        PACK_(0, 1) PACK_(2, 3) PACK_(4, 5) PACK_(6, 7) PACK_(8, 9) PACK_(10, 11) PACK_(12, 13)
        PACK_(14, 15)
        : : "r"(from), "r"(factors) : SPICA_HGMMA_C_, "memory");
}

#define STORE_ROW_(i)                                                                          \
    if (left > (i))                                                                            \
        __asm__ volatile("fsw f%0, %1(%2)"                                                     \
                         : : "i"(2 * (i)), "i"((i)*ROW_BYTES), "r"(to) : "memory");

/* Divides O by the sums and stores it, and LSE, of the queries that exist. */
SPICA_INLINE void attention_finish(AttentionWarp *warp, uint32_t problem, uint32_t row)
{
    volatile AttentionRows *rows = attention_rows(warp);
    const uint32_t queries = ATTENTION->queries, index = problem * queries + row;
    const uint32_t lane = warp->lane, own = row + 2 * lane;
    attention_share(warp, attention_inverse(rows->sum[0][0]), attention_inverse(rows->sum[1][0]));
    const char *from = attention_output(warp);
    const char *const end = from + OUTPUT_BYTES;
    uint32_t to = (uint32_t)ATTENTION->o + index * ROW_BYTES + 4 * lane;
#pragma unroll 1
    for (uint32_t half = 0; from != end; half ^= 1, from += TILE_BYTES / 2) {
        const int32_t left = (int32_t)(queries - row - half * SIDE / 2);
        attention_divide(from, attention_factors(warp) + half * SIDE / 2);
        STORE_ROW_(0) STORE_ROW_(1) STORE_ROW_(2) STORE_ROW_(3)
        STORE_ROW_(4) STORE_ROW_(5) STORE_ROW_(6) STORE_ROW_(7)
        to += half ? 4 * LANES - SIDE / 2 * ROW_BYTES : SIDE / 2 * ROW_BYTES;
    }
    rows = attention_rows(warp);
    SPICA_IF (own < queries) {
        attention_store_lse(rows->maximum[0][0], rows->sum[0][0], index + 2 * lane);
    } SPICA_END_IF
    SPICA_IF (own + 1 < queries) {
        attention_store_lse(rows->maximum[1][0], rows->sum[1][0], index + 2 * lane + 1);
    } SPICA_END_IF
}

#endif
