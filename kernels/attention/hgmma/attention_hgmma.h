/* Attention on tensor units that read shared memory: the loop over tiles of queries and blocks. */
#ifndef ATTENTION_HGMMA_H
#define ATTENTION_HGMMA_H

#include "attention_loads.h"
#include "attention_rows.h"

/* Whether the warp with the queries from `row` on processes the block of keys from `key` on. A block
 * that none of them sees is skipped, unless it is the first. */
SPICA_INLINE uint32_t attention_has_block(uint32_t row, uint32_t key)
{
    return key == 0 || (int32_t)key < attention_seen((int32_t)(row + SIDE - 1));
}

/* Hides the scores of keys of a tile that a query does not see. */
SPICA_INLINE void attention_hide(const volatile AttentionPosition *at, uint32_t tile)
{
    const int32_t key = (int32_t)(at->key + SIDE * tile);
    if (!ATTENTION->causal && key + SIDE <= (int32_t)ATTENTION->keys)
        return;
    const int32_t row = (int32_t)attention_row(at);
    if (key + SIDE <= attention_seen(row))
        return;
    const int32_t own = row + 2 * (int32_t)vx_thread_id();
    attention_mask(attention_seen(own) - key, attention_seen(own + 1) - key);
}

/* Powers of a block to shared memory, and their sums. If a tile raises a maximum, the powers of those
 * before it are computed again. */
SPICA_INLINE void attention_all_powers(AttentionPair *maximum, AttentionPair *sum)
{
    volatile AttentionPosition *at = attention_at();
    const uint32_t queries = attention_queries(), keys = attention_buffer(at->buffer);
    uint32_t tile = 0;
    at->has_risen = 0;
    sum->first = sum->second = 0;
#pragma unroll 1
    while (tile < SCORE_TILES) {
        attention_scores(keys + OPERAND_BYTES * tile, queries);
        attention_hide(at, tile);
        /* Half a row of P has the keys of a tile. */
        uint32_t to = queries + ATTENTION_LOADED(QUERY_BYTES) + tile / 2 * OPERAND_BYTES + tile % 2 * 32;
        SPICA_ANEW(to);
        const uint32_t lane = vx_thread_id();
        const AttentionMoved moved = attention_maxima();
        if (attention_any(attention_raise(maximum), to, lane)) {
            at->has_risen = 1;
            if (tile) {
                sum->first = sum->second = tile = 0;
                continue;
            }
        }
        attention_powers(moved, *maximum, sum, to + 128 * lane);
        tile++;
    }
}

/* Sum of one of the lane's queries after a block. */
SPICA_INLINE uint32_t attention_sum(uint32_t old, float factor, uint32_t powers)
{
    return spica_bits(__builtin_fmaf(spica_float(old), factor, spica_float(powers)));
}

/* Processes a block of keys. */
SPICA_INLINE void attention_block(void)
{
    volatile AttentionRows *rows = attention_rows();
    AttentionPair maximum = {rows->maximum[0][0], rows->maximum[1][0]}, sum;
    attention_all_powers(&maximum, &sum);
    rows = attention_rows();
    const float first = attention_factor(rows->maximum[0][0], maximum.first);
    const float second = attention_factor(rows->maximum[1][0], maximum.second);
    rows->maximum[0][0] = maximum.first;
    rows->maximum[1][0] = maximum.second;
    rows->sum[0][0] = attention_sum(rows->sum[0][0], first, sum.first);
    rows->sum[1][0] = attention_sum(rows->sum[1][0], second, sum.second);
    if (attention_at()->has_risen && attention_at()->key) {
        attention_share(first, second);
        attention_rescale();
    }
    attention_settle();
    attention_add(attention_queries() + ATTENTION_LOADED(QUERY_BYTES), attention_at()->buffer,
                  attention_at()->key == 0);
}

/* All of a block: begin of a tile of queries, powers and O, and end of the tile. */
SPICA_INLINE void attention_step(void)
{
    const volatile AttentionPosition *at = attention_at();
    const uint32_t row = attention_row(at), key = at->key;
    if (row >= ATTENTION->queries)
        return;
    if (key == 0) {
        attention_copy_queries(at->problem, row);
        attention_clear_rows();
    }
    if (attention_has_block(row, key))
        attention_block();
    at = attention_at();
    if (attention_is_last(at))
        attention_finish(at->problem, attention_row(at));
}

/* All blocks. */
SPICA_INLINE void attention_all(void)
{
    attention_begin_loads();
    attention_first(attention_at());
#pragma unroll 1
    while (!attention_is_over(attention_at())) {
        attention_meet();
        attention_step();
        attention_advance(attention_at());
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
