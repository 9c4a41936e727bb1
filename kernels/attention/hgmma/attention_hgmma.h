/* Attention on tensor units that read shared memory: the loop over tiles of queries and blocks. */
#ifndef ATTENTION_HGMMA_H
#define ATTENTION_HGMMA_H

#include "attention_loads.h"
#include "attention_rows.h"

/* Whether the warp with the queries from `row` on processes the block of keys from `key` on. A block
 * that none of them sees is skipped, unless it is the first. */
SPICA_INLINE uint32_t attention_has_block(uint32_t row, uint32_t key)
{
    return row < ATTENTION->queries &&
           (key == 0 || (int32_t)key < attention_seen((int32_t)(row + SIDE - 1)));
}

/* Powers of a block to shared memory, and their sums. Returns whether a maximum rose. */
SPICA_INLINE uint32_t attention_all_powers(AttentionPair *maximum, AttentionPair *sum, uint32_t row,
                                           uint32_t key, uint32_t buffer)
{
    uint32_t has_risen = 0;
    sum->first = sum->second = 0;
#pragma unroll 1
    for (uint32_t tile = 0; tile < SCORE_TILES; tile++) {
        const uint32_t queries = attention_queries();
        const int32_t first = (int32_t)(key + SIDE * tile);
        attention_scores(attention_buffer(buffer) + OPERAND_BYTES * tile, queries);
        if (first + SIDE > attention_seen((int32_t)row)) {
            const int32_t own = (int32_t)(row + 2 * vx_thread_id());
            attention_mask(attention_seen(own) - first, attention_seen(own + 1) - first);
        }
        /* Half a row of P has the keys of a tile. */
        const uint32_t powers = queries + QUERY_BYTES + tile / 2 * OPERAND_BYTES + tile % 2 * 32;
        const AttentionMoved moved = attention_maxima();
        if (attention_any(attention_raise(maximum), powers)) {
            has_risen = 1;
            if (tile) {
                sum->first = sum->second = 0;
                tile = (uint32_t)-1; /* begin again, with this maximum */
                continue;
            }
        }
        attention_powers(moved, *maximum, sum, powers + 128 * vx_thread_id());
    }
    return has_risen;
}

/* Processes a block of keys. */
SPICA_INLINE void attention_block(AttentionRows *rows, uint32_t row, uint32_t key, uint32_t buffer)
{
    AttentionPair maximum = rows->maximum, sum;
    const uint32_t has_risen = attention_all_powers(&maximum, &sum, row, key, buffer);
    const float first = attention_factor(rows->maximum.first, maximum.first);
    const float second = attention_factor(rows->maximum.second, maximum.second);
    rows->maximum = maximum;
    rows->sum.first = spica_bits(__builtin_fmaf(spica_float(rows->sum.first), first,
                                                spica_float(sum.first)));
    rows->sum.second = spica_bits(__builtin_fmaf(spica_float(rows->sum.second), second,
                                                 spica_float(sum.second)));
    if (has_risen && key) {
        attention_share(first, second);
        attention_rescale();
    }
    attention_settle();
    attention_add(attention_queries() + QUERY_BYTES, buffer, key == 0);
}

/* All blocks. */
SPICA_INLINE void attention_all(void)
{
    attention_begin_loads();
    AttentionPosition at;
    attention_first(&at);
    uint32_t buffer = 0;
    AttentionRows rows;
#pragma unroll 1
    while (!attention_is_over(&at)) {
        attention_meet();
        const uint32_t row = at.row + SIDE * attention_warp();
        if (at.key == 0 && row < ATTENTION->queries) {
            attention_copy_queries(at.problem, row);
            rows.maximum.first = rows.maximum.second = ATTENTION_LOADED(MINUS_INFINITY);
            rows.sum.first = rows.sum.second = 0;
        }
        if (attention_has_block(row, at.key))
            attention_block(&rows, row, at.key, buffer);
        if (row < ATTENTION->queries && attention_is_last(&at))
            attention_finish(&rows, at.problem, row);
        attention_advance(&at);
        buffer ^= 1;
    }
}

SPICA_INLINE void attention_run(void)
{
    spica_begin();
    if (vx_warp_id() < WARPS)
        attention_all();
    vx_fence();
    spica_end();
}

#endif
