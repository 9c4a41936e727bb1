/* Online softmax of a block of scores.
 *
 * The core of a group holds its queries, PER_LANE in each lane; each warp has a part of the keys. The
 * maxima of rows change in two ways:
 *
 * - Always: warps exchange the maxima of their scores at a barrier, then compute the powers.
 * - With 16-bit operands powers are computed with the maxima of the block before, in the first block
 *   with those of its first part. If the sum of a part of a row exceeds MOST_SUM, all warps compute
 *   the step again as above, and the rows with such sums change their maximum.
 *
 * Registers of a lane: PART_KEYS * PER_LANE scores, and of each query the maximum, the shift, the
 * largest sum, the sum of this part, and the factor of older sums: at most 27 floats. */
#ifndef ATTENTION_SOFTMAX_H
#define ATTENTION_SOFTMAX_H

#include "attention_steps.h"

#define MINUS_INFINITY spica_float(ATTENTION_ANEW(0xFF800000))
#define ONE spica_float(ATTENTION_ANEW(0x3F800000))
#define LN_2 spica_float(ATTENTION_ANEW(0x3F317218))
#define MOST_SUM spica_float(ATTENTION_ANEW(ATTENTION_LIMIT))
#define BIAS spica_float(ATTENTION_ANEW(ATTENTION_BIAS))
#define GREATEST 0x7F7FFFFFu

/* Maxima of the lane's queries; these times the factor of scores and the bias, or the least number for -infinity;
 * largest sums of powers of a part with which maxima stay; sums of the powers of this warp's keys;
 * factors of these sums and of O in this step. */
typedef struct {
    float maximum[PER_LANE], shift[PER_LANE], limit[PER_LANE], sum[PER_LANE], factor[PER_LANE];
} AttentionRows;

/* Scores of this lane, by key and query. */
typedef struct {
    float x[PART_KEYS][PER_LANE];
} AttentionScores;

/* Place of a lane: core and warp, and its set of queries, PER_LANE of them, in the block. Read once,
 * as instructions that read these numbers take long. */
typedef struct {
    uint32_t core, warp, set;
} AttentionPlace;

SPICA_INLINE AttentionPlace attention_place(void)
{
    const uint32_t core = vx_core_id();
    return (AttentionPlace){
        .core = core,
        .warp = vx_warp_id(),
        .set = core * LANES + vx_thread_id(),
    };
}

/* Address of the lane's first score among those of this warp's keys. */
SPICA_INLINE volatile float *attention_scores(const AttentionPlace *at, uint32_t number)
{
    return attention_at(ATTENTION_S_PLACE + (number & 1) * SCORE_BYTES) +
           at->warp * PART_KEYS * BLOCK_ROWS + at->set;
}

/* Address of the lane's first word of P. */
SPICA_INLINE volatile uint32_t *attention_weights(const AttentionPlace *at, uint32_t phase)
{
    return (volatile uint32_t *)attention_at(ATTENTION_P_PLACE + (phase >> 1) * POWER_BYTES) +
           at->warp * PART_KEYS * SETS + at->set;
}

SPICA_INLINE void attention_clear(AttentionRows *rows)
{
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        rows->maximum[i] = MINUS_INFINITY;
        rows->shift[i] = rows->limit[i] = rows->sum[i] = 0.0f;
    }
}

/* Sets scores of keys that a query does not see to -infinity, in shared memory. */
SPICA_INLINE void attention_mask(const Attention *attention, const AttentionStep *step,
                                 const AttentionPlace *at, uint32_t number)
{
    volatile float *word = attention_scores(at, number);
    const uint32_t query = step->query + at->set * PER_LANE;
    int32_t rest = attention_seen(attention, query) - (int32_t)step->key;
    rest -= (int32_t)(at->warp * PART_KEYS);
#pragma clang loop unroll(disable)
    for (uint32_t key = 0; key < PART_KEYS; key++, rest--, word += BLOCK_ROWS)
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) {
            const int32_t seen = attention->causal ? rest + i : rest;
            word[i * SETS] = spica_selectf(seen > 0, word[i * SETS], MINUS_INFINITY);
        }
}

SPICA_INLINE void attention_load_key(const volatile float *from, AttentionScores *scores, int key)
{
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        scores->x[key][i] = from[key * BLOCK_ROWS + i * SETS];
}

SPICA_INLINE AttentionScores attention_read(const AttentionPlace *at, uint32_t number)
{
    const volatile float *from = attention_scores(at, number);
    AttentionScores scores;
#pragma unroll
    for (int key = 0; key < PART_KEYS; key++)
        attention_load_key(from, &scores, key);
    return scores;
}

/* Address of this lane among the values that warps exchange, first those of the first queries. */
SPICA_INLINE volatile float *attention_exchanged(const AttentionPlace *at, uint32_t offset,
                                                 uint32_t part)
{
    return attention_at(offset) + part * BLOCK_ROWS + at->set;
}

/* Maxima of this warp's scores. */
SPICA_INLINE void attention_maxima(const AttentionScores *scores, float *maxima)
{
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        maxima[i] = scores->x[0][i];
#pragma unroll
        for (int key = 1; key < PART_KEYS; key++)
            maxima[i] = fmaxf(maxima[i], scores->x[key][i]);
    }
}

SPICA_INLINE void attention_write(const AttentionPlace *at, uint32_t offset, const float *values)
{
    volatile float *to = attention_exchanged(at, offset, at->warp);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        to[i * SETS] = values[i];
}

/* Writes the maxima of this warp's scores; also 0 for rows that are to change their maximum, and
 * -infinity for others. */
SPICA_INLINE void attention_offer(const AttentionPlace *at, const AttentionScores *scores,
                                  const uint32_t *raised)
{
    float maxima[PER_LANE], changes[PER_LANE];
    attention_maxima(scores, maxima);
    attention_write(at, ATTENTION_ANEW(ATTENTION_MAXIMA_PLACE), maxima);
    if (PER_LANE == 1)
        return;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        changes[i] = spica_float((raised[i] - 1) & 0xFF800000u);
    attention_write(at, ATTENTION_ANEW(ATTENTION_CHANGES_PLACE), changes);
}

/* Of the values that the warps wrote for query i, the maximum with `value`. */
SPICA_INLINE float attention_greatest(const volatile float *from, int i, float value)
{
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        value = fmaxf(value, from[part * BLOCK_ROWS + i * SETS]);
        if (part % 4 == 3)
            __asm__ volatile("" : "+f"(value)); /* or all values occupy registers at a time */
    }
    return value;
}

/* Sets the maximum of query i, and all that depends on it. */
SPICA_INLINE void attention_maximum(AttentionRows *rows, int i, float maximum, float scale)
{
    const uint32_t bits = spica_bits(maximum);
    const uint32_t unset = bits == spica_bits(MINUS_INFINITY);
    const float safe = spica_float(spica_select(unset, 0, bits)), old = rows->maximum[i];
    rows->maximum[i] = maximum;
    rows->shift[i] = ATTENTION_BIAS ? __builtin_fmaf(safe, scale, BIAS) : safe * scale;
    if (PER_LANE > 1) {
        const uint32_t least = ATTENTION_ANEW(GREATEST | 0x80000000u);
        rows->shift[i] = spica_float(spica_select(unset, least, spica_bits(rows->shift[i])));
        rows->limit[i] = spica_float(spica_select(unset, 0, spica_bits(MOST_SUM)));
    }
    rows->factor[i] = spica_exp2f((old - safe) * scale);
}

/* Updates the maxima by those that the warps wrote. */
SPICA_INLINE void attention_raise(const AttentionPlace *at, AttentionRows *rows, float scale)
{
    const volatile float *from =
        attention_exchanged(at, ATTENTION_ANEW(ATTENTION_MAXIMA_PLACE), 0);
    const volatile float *changes =
        attention_exchanged(at, ATTENTION_ANEW(ATTENTION_CHANGES_PLACE), 0);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        const float old = rows->maximum[i];
        float maximum = attention_greatest(from, i, old);
        if (PER_LANE > 1)
            maximum = fmaxf(maximum + attention_greatest(changes, i, MINUS_INFINITY), old);
        attention_maximum(rows, i, maximum, scale);
    }
}

/* Sets the maxima before the first block of keys to those of its first part. */
SPICA_INLINE void attention_guess(const AttentionPlace *at, AttentionRows *rows, float scale,
                                  uint32_t number)
{
    const AttentionPlace first = {.warp = 0, .set = at->set, .core = at->core};
    const AttentionScores scores = attention_read(&first, number);
    float maxima[PER_LANE];
    attention_maxima(&scores, maxima);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        attention_maximum(rows, i, fmaxf(maxima[i], MINUS_INFINITY), scale);
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

/* Writes the powers of a key, P, and adds them to the sums. */
SPICA_INLINE void attention_store_key(volatile uint32_t *to, const AttentionScores *scores,
                                      float *sum, int key)
{
    to[key * SETS] = attention_packed(scores->x[key]);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        sum[i] = key ? sum[i] + scores->x[key][i] : scores->x[key][i];
}

/* Keys whose scores are loaded ahead of their powers. */
enum { AHEAD = 3 };

/* Writes the powers of this warp's scores, P, and returns their sums. Loads, special functions and
 * stores alternate, as warps are in the same place at a time, and otherwise would wait for one unit
 * after the other. */
SPICA_INLINE void attention_stream(const volatile float *from, volatile uint32_t *to,
                                   const AttentionRows *rows, float scale, float *sum)
{
    AttentionScores scores;
#pragma unroll
    for (int key = 0; key < AHEAD && key < PART_KEYS; key++)
        attention_load_key(from, &scores, key);
#pragma unroll
    for (int key = 0; key < PART_KEYS; key++) {
        if (key + AHEAD < PART_KEYS)
            attention_load_key(from, &scores, key + AHEAD);
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            scores.x[key][i] = spica_exp2f(__builtin_fmaf(scores.x[key][i], scale, -rows->shift[i]));
        if (key)
            attention_store_key(to, &scores, sum, key - 1);
        if (key + 1 < PART_KEYS) {
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) /* keeps the order */
                __asm__ volatile("" : "+f"(scores.x[key][i]), "+f"(scores.x[key + 1][i]));
        }
    }
    attention_store_key(to, &scores, sum, PART_KEYS - 1);
}

/* Adds the powers of a step in which the maxima may have changed, and writes the factors of O. */
SPICA_INLINE void attention_rescale(const AttentionPlace *at, AttentionRows *rows, const float *sum,
                                    uint32_t phase)
{
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        rows->sum[i] = __builtin_fmaf(rows->sum[i], rows->factor[i], sum[i]);
    if (at->warp == PARTS - 1) {
        volatile float *scales =
            attention_at(ATTENTION_THIRD(phase >> 1, SCALES)) + at->set * PER_LANE;
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            scales[i] = rows->factor[i];
    }
}

/* Sets which rows are to change their maximum, and the flag if there are any. */
SPICA_INLINE void attention_check(const AttentionRows *rows, const float *sum, uint32_t *raised,
                                  uint32_t number)
{
    uint32_t any = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        raised[i] = !(sum[i] <= rows->limit[i]);
        SPICA_ANEW(raised[i]); /* or the compiler branches on it */
        any |= raised[i];
    }
    SPICA_IF (any) {
        attention_flags()[number & 1] = 1;
    } SPICA_END_IF
}

/* Writes the inverses of the sums of all keys, and the logarithms of the sums of exponentials. */
SPICA_INLINE void attention_finish(const Attention *attention, const AttentionStep *step,
                                   const AttentionPlace *at, const AttentionRows *rows,
                                   uint32_t block)
{
    const volatile float *from = attention_exchanged(at, ATTENTION_ANEW(ATTENTION_SUMS_PLACE), 0);
    volatile float *inverses = attention_at(ATTENTION_PLACE(block, INVERSES));
    uint32_t first = at->set * PER_LANE, left = attention->queries - step->query;
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
        if (ATTENTION_BIAS)
            exponent += BIAS;
        SPICA_IF (first + i < left) {
            lse[i] = exponent * LN_2;
        } SPICA_END_IF
    }
}

#endif
