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
#define ONE spica_float(ATTENTION_ANEW(0x3F800000))
#define LN_2 spica_float(ATTENTION_ANEW(0x3F317218))
#define SLACK spica_float(ATTENTION_ANEW(0x41000000)) /* 8 */

/* Maxima of the lane's queries, these times the factor of scores (0 for -infinity), sums of the powers of
 * this warp's keys, and the factors of these sums and of O in this step. */
typedef struct {
    float maximum[PER_LANE], shift[PER_LANE], sum[PER_LANE], factor[PER_LANE];
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

SPICA_INLINE void attention_clear(AttentionRows *rows)
{
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        rows->maximum[i] = MINUS_INFINITY;
        rows->shift[i] = rows->sum[i] = 0.0f;
    }
}

/* Address of the lane's first score among those of this warp's keys. */
SPICA_INLINE volatile float *attention_scores(const AttentionPlace *at, uint32_t place)
{
    return attention_at(place) + at->warp * PART_KEYS * BLOCK_ROWS + at->set;
}

/* Sets scores of keys that a query does not see to -infinity, in shared memory. */
SPICA_INLINE void attention_mask(const Attention *attention, const AttentionStep *step,
                                 const AttentionPlace *at, uint32_t place)
{
    volatile float *word = attention_scores(at, place);
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

SPICA_INLINE AttentionScores attention_read(const AttentionPlace *at, uint32_t place)
{
    const volatile float *from = attention_scores(at, place);
    AttentionScores scores;
#pragma unroll
    for (int key = 0; key < PART_KEYS; key++)
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            scores.x[key][i] = from[key * BLOCK_ROWS + i * SETS];
    return scores;
}

/* Address of this lane among the values that warps exchange, first those of the first queries. */
SPICA_INLINE volatile float *attention_exchanged(const AttentionPlace *at, uint32_t place,
                                                 uint32_t part)
{
    return attention_at(place) + part * BLOCK_ROWS + at->set;
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

SPICA_INLINE void attention_write(const AttentionPlace *at, uint32_t place, const float *values)
{
    volatile float *to = attention_exchanged(at, place, at->warp);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        to[i * SETS] = values[i];
}

/* Whether a maximum rises: with 16-bit operands only by more than 8, as an exponent of 2. */
SPICA_INLINE uint32_t attention_rises(float maximum, float old, float scale)
{
    return PER_LANE == 1 || (maximum - old) * scale > SLACK;
}

/* Bytes of the warps of a core, not zero if a maximum of the warp rises. */
SPICA_INLINE volatile uint8_t *attention_risen(const AttentionPlace *at, uint32_t number)
{
    return (volatile uint8_t *)attention_at(ATTENTION_PLACE(number, RISEN)) +
           at->core * RISEN_BYTES;
}

/* Writes the maxima of this warp's scores, and whether any of them rises. */
SPICA_INLINE void attention_offer(const AttentionPlace *at, const AttentionScores *scores,
                                  const AttentionRows *rows, float scale, uint32_t number)
{
    float maxima[PER_LANE];
    attention_maxima(scores, maxima);
    attention_write(at, ATTENTION_PLACE(number, MAXIMA), maxima);
    if (PER_LANE == 1)
        return;
    uint32_t rises = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        rises |= attention_rises(maxima[i], rows->maximum[i], scale);
    volatile uint8_t *risen = attention_risen(at, number) + at->warp;
    *risen = 0;
    SPICA_IF (rises) {
        *risen = 1;
    } SPICA_END_IF
}

/* Whether a maximum of any warp of the core rises: FP32 follows each, 16-bit operands few. */
SPICA_INLINE uint32_t attention_any_rises(const AttentionPlace *at, uint32_t number)
{
    const volatile uint32_t *risen = (const volatile uint32_t *)attention_risen(at, number);
    uint32_t any = PER_LANE == 1;
#pragma unroll
    for (int word = 0; PER_LANE > 1 && word < RISEN_BYTES / 4; word++)
        any |= risen[word];
    return any;
}

SPICA_INLINE float attention_safe(float maximum)
{
    const uint32_t bits = spica_bits(maximum);
    return spica_float(spica_select(bits == spica_bits(MINUS_INFINITY), 0, bits));
}

/* Updates the maxima by those that the warps wrote, and sets the factors. */
SPICA_INLINE void attention_raise(const AttentionPlace *at, AttentionRows *rows, float scale,
                                  uint32_t number)
{
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        rows->factor[i] = ONE;
    if (!attention_any_rises(at, number))
        return;
    const volatile float *from = attention_exchanged(at, ATTENTION_PLACE(number, MAXIMA), 0);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        const float old = rows->maximum[i];
        float maximum = old;
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            maximum = fmaxf(maximum, from[part * BLOCK_ROWS + i * SETS]);
            if (part % 4 == 3)
                __asm__ volatile("" : "+f"(maximum)); /* or all values occupy registers at a time */
        }
        if (PER_LANE > 1)
            maximum = spica_selectf(attention_rises(maximum, old, scale), maximum, old);
        const float safe = attention_safe(maximum);
        rows->maximum[i] = maximum;
        rows->shift[i] = safe * scale;
        rows->factor[i] = spica_exp2f((old - safe) * scale);
    }
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
SPICA_INLINE void attention_powers(const AttentionPlace *at, AttentionScores *scores,
                                   AttentionRows *rows, float scale, uint32_t number)
{
    uint32_t place = ATTENTION_PLACE(number, P);
    volatile uint32_t *to = (volatile uint32_t *)attention_at(place) +
                            at->warp * PART_KEYS * SETS + at->set;
    float sum[PER_LANE];
#pragma unroll
    for (int key = 0; key < PART_KEYS; key++)
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            scores->x[key][i] = spica_exp2f(__builtin_fmaf(scores->x[key][i], scale, -rows->shift[i]));
#pragma unroll
    for (int key = 0; key < PART_KEYS; key++) {
        to[key * SETS] = attention_packed(scores->x[key]);
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            sum[i] = key ? sum[i] + scores->x[key][i] : scores->x[key][i];
    }
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        rows->sum[i] = __builtin_fmaf(rows->sum[i], rows->factor[i], sum[i]);
    if (at->warp == 0) {
        volatile float *scales = attention_at(ATTENTION_PLACE(number, SCALES)) + at->set * PER_LANE;
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            scales[i] = rows->factor[i];
    }
}

/* Writes the inverses of the sums of all keys, and the logarithms of the sums of exponentials. */
SPICA_INLINE void attention_finish(const Attention *attention, const AttentionStep *step,
                                   const AttentionPlace *at, const AttentionRows *rows,
                                   uint32_t number)
{
    const volatile float *from = attention_exchanged(at, ATTENTION_PLACE(number, SUMS), 0);
    volatile float *inverses = attention_at(
        ATTENTION_PLACE(number, INVERSES));
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
        SPICA_IF (first + i < left) {
            lse[i] = exponent * LN_2;
        } SPICA_END_IF
    }
}

#endif
