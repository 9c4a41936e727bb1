/* Online softmax of a block of scores.
 *
 * The core of a group holds its queries, PER_LANE in each lane; each warp has a part of the keys.
 * Warps exchange their maxima in shared memory. Registers of a lane: PART_KEYS * PER_LANE scores,
 * and of each query the maximum, the sum of this part, and the factor of older sums: at most 22
 * floats. */
#ifndef ATTENTION_SOFTMAX_H
#define ATTENTION_SOFTMAX_H

#include "attention_steps.h"

#define MINUS_INFINITY spica_float(ATTENTION_ANEW(0xFF800000))
#define LN_2 spica_float(ATTENTION_ANEW(0x3F317218))
#define SLACK spica_float(ATTENTION_ANEW(0x41000000)) /* 8 */

/* Maxima of the lane's queries, and sums of the powers of this warp's keys. */
typedef struct {
    float maximum[PER_LANE], sum[PER_LANE];
} AttentionRows;

/* Scores of this lane, by key and query. */
typedef struct {
    float x[PART_KEYS][PER_LANE];
} AttentionScores;

/* Number of the lane's set of queries in the block. */
SPICA_INLINE uint32_t attention_set(void)
{
    return vx_core_id() * LANES + vx_thread_id();
}

SPICA_INLINE void attention_clear(AttentionRows *rows)
{
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        rows->maximum[i] = MINUS_INFINITY;
        rows->sum[i] = 0.0f;
    }
}

/* Place of the lane's first score among those of this warp's keys. */
SPICA_INLINE volatile float *attention_scores(uint32_t place)
{
    return attention_at(place) + vx_warp_id() * PART_KEYS * BLOCK_ROWS + attention_set();
}

/* Sets scores of keys that a query does not see to -infinity, in shared memory. */
SPICA_INLINE void attention_mask(const Attention *attention, const AttentionStep *step,
                                 uint32_t place)
{
    volatile float *word = attention_scores(place);
    const uint32_t query = step->query + attention_set() * PER_LANE;
    int32_t rest = attention_seen(attention, query) - (int32_t)step->key;
    rest -= (int32_t)(vx_warp_id() * PART_KEYS);
#pragma clang loop unroll(disable)
    for (uint32_t key = 0; key < PART_KEYS; key++, rest--, word += BLOCK_ROWS)
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) {
            const int32_t seen = attention->causal ? rest + i : rest;
            word[i * SETS] = spica_selectf(seen > 0, word[i * SETS], MINUS_INFINITY);
        }
}

SPICA_INLINE AttentionScores attention_read(uint32_t place)
{
    const volatile float *from = attention_scores(place);
    AttentionScores scores;
#pragma unroll
    for (int key = 0; key < PART_KEYS; key++)
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            scores.x[key][i] = from[key * BLOCK_ROWS + i * SETS];
    return scores;
}

/* Place of this lane among the values that warps exchange, first those of the first queries. */
SPICA_INLINE volatile float *attention_exchanged(uint32_t place, uint32_t part)
{
    return attention_at(place) + part * BLOCK_ROWS + attention_set();
}

/* Writes the maxima of this warp's scores. */
SPICA_INLINE void attention_write_maxima(const AttentionScores *scores)
{
    volatile float *to = attention_exchanged(ATTENTION_MAXIMA_PLACE, vx_warp_id());
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        float maximum = scores->x[0][i];
#pragma unroll
        for (int key = 1; key < PART_KEYS; key++)
            maximum = fmaxf(maximum, scores->x[key][i]);
        to[i * SETS] = maximum;
    }
}

/* Updates the maxima; with 16-bit operands only if they rise by more than 8 as exponents of 2. */
SPICA_INLINE void attention_raise(AttentionRows *rows, float scale)
{
    const volatile float *from = attention_exchanged(ATTENTION_MAXIMA_PLACE, 0);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        float maximum = rows->maximum[i];
#pragma unroll
        for (int part = 0; part < PARTS; part++)
            maximum = fmaxf(maximum, from[part * BLOCK_ROWS + i * SETS]);
        if (PER_LANE > 1) {
            uint32_t rises = (maximum - rows->maximum[i]) * scale > SLACK;
            maximum = spica_selectf(rises, maximum, rows->maximum[i]);
        }
        rows->maximum[i] = maximum;
    }
}

SPICA_INLINE float attention_safe(float maximum)
{
    const uint32_t bits = spica_bits(maximum);
    return spica_float(spica_select(bits == spica_bits(MINUS_INFINITY), 0, bits));
}

SPICA_INLINE uint32_t attention_packed(const float *x)
{
#if ATTENTION_PER_LANE == 1
    return spica_bits(x[0]);
#elif defined(ATTENTION_BF16)
    return spica_pack_bf16(x[0], x[1]);
#else
    return spica_pack_fp16(x[0], x[1]);
#endif
}

/* Replaces scores by their powers, P, adds these to the sums, and writes P and the factors of O. */
SPICA_INLINE void attention_powers(AttentionScores *scores, AttentionRows *rows,
                                   const AttentionRows *old, float scale, uint32_t number)
{
    uint32_t place = ATTENTION_PLACE(number, P);
    volatile uint32_t *to = (volatile uint32_t *)attention_at(place) +
                            vx_warp_id() * PART_KEYS * SETS + attention_set();
    float shift[PER_LANE], factor[PER_LANE], sum[PER_LANE];
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        float safe = attention_safe(rows->maximum[i]);
        factor[i] = spica_exp2f((old->maximum[i] - safe) * scale);
        shift[i] = safe * scale;
    }
#pragma unroll
    for (int key = 0; key < PART_KEYS; key++)
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            scores->x[key][i] = spica_exp2f(__builtin_fmaf(scores->x[key][i], scale, -shift[i]));
#pragma unroll
    for (int key = 0; key < PART_KEYS; key++) {
        to[key * SETS] = attention_packed(scores->x[key]);
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            sum[i] = key ? sum[i] + scores->x[key][i] : scores->x[key][i];
    }
    volatile float *scales = attention_at(
        ATTENTION_PLACE(number, SCALES));
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        rows->sum[i] = __builtin_fmaf(rows->sum[i], factor[i], sum[i]);
        if (vx_warp_id() == 0)
            scales[attention_set() * PER_LANE + i] = factor[i];
    }
}

/* Writes the sums of this warp's keys. */
SPICA_INLINE void attention_write_sums(const AttentionRows *rows)
{
    volatile float *to = attention_exchanged(ATTENTION_SUMS_PLACE, vx_warp_id());
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        to[i * SETS] = rows->sum[i];
}

/* Writes the inverses of the sums of all keys, and the logarithms of the sums of exponentials. */
SPICA_INLINE void attention_finish(const Attention *attention, const AttentionStep *step,
                                   const AttentionRows *rows, uint32_t number)
{
    const volatile float *from = attention_exchanged(ATTENTION_SUMS_PLACE, 0);
    volatile float *inverses = attention_at(
        ATTENTION_PLACE(number, INVERSES));
    uint32_t first = attention_set() * PER_LANE, left = attention->queries - step->query;
    float *lse = attention->lse + step->problem * attention->queries + step->query + first;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        float sum = from[i * SETS];
#pragma unroll
        for (int part = 1; part < PARTS; part++)
            sum += from[part * BLOCK_ROWS + i * SETS];
        inverses[first + i] = spica_selectf(spica_bits(sum) == 0, 0.0f, spica_rcpf(sum));
        float exponent =
            __builtin_fmaf(rows->maximum[i], attention->scale_log2, spica_log2f(sum));
        SPICA_IF (first + i < left) {
            lse[i] = exponent * LN_2;
        } SPICA_END_IF
    }
}

#endif
