/* Attention on tensor units: the loop over tiles of queries and blocks of keys.
 *
 * Warps with even and with odd numbers are two groups in ping-pong: one computes scores while the
 * other computes powers and O, so that tensor units work on the products of one group during the
 * softmax of the other. All warps wait at a barrier before each half of a block:
 *
 *   half of block b   copied before   even warps          odd warps
 *   first             K of b          scores of b         powers and O of b - 1
 *   second            V of b          powers and O of b   scores of b
 *
 * K and V have two buffers each: a warp copies its pieces of a block while others still read the
 * block before. Scores are computed for 16 keys after the other, O for 16 columns after the other.
 * A block of keys that no query of a warp attends to is skipped, unless it is the first. */
#ifndef ATTENTION_TENSOR_H
#define ATTENTION_TENSOR_H

#include <spica_meet.h>

#include "attention_copy.h"
#include "attention_finish.h"

/* Blocks of keys of a tile of queries of all warps: at least one. */
SPICA_INLINE uint32_t attention_blocks(uint32_t tile)
{
    const uint32_t last = spica_minu((tile + 1) * TILE_ROWS, ATTENTION->queries) - 1;
    const uint32_t seen = (uint32_t)attention_seen((int32_t)last);
    return spica_maxu(ATTENTION_BLOCKS(seen, ATTENTION_KEYS), 1);
}

/* Position of a warp in the work, in the order of blocks: head, tile of queries, block of keys, and
 * buffer of the block. In memory, as are maxima and sums: registers are few. */
typedef struct {
    uint32_t problem, tile, block, buffer;
} AttentionPosition;

/* Position of each warp, and the one before it. */
static volatile AttentionPosition attention_positions[ALL_WARPS][2]
    __attribute__((section(".unset")));

/* Advances to the next position; behind the last one `problem` is the number of heads. */
SPICA_INLINE void attention_advance(volatile AttentionPosition *at)
{
    at->buffer ^= 1;
    const uint32_t block = at->block + 1, tile = at->tile + 1;
    if (block < attention_blocks(tile - 1)) {
        at->block = block;
        return;
    }
    at->block = 0;
    if (tile * TILE_ROWS < ATTENTION->queries) {
        at->tile = tile;
        return;
    }
    at->tile = 0;
    at->problem++;
}

SPICA_INLINE uint32_t attention_is_over(const volatile AttentionPosition *at)
{
    return at->problem == ATTENTION->problems;
}

/* Copies this warp's pieces of K, or of V, of the block at a position. */
SPICA_INLINE void attention_copy(const volatile AttentionPosition *at, uint32_t is_v)
{
    const uint32_t head = at->problem / ATTENTION->group * ATTENTION->keys * ROW_BYTES;
    attention_copy_block(head, at->block * ATTENTION_KEYS, at->buffer, is_v);
}

/* Scores of 16 keys to the accumulators. */
SPICA_INLINE void attention_scores(const char *queries, const char *even)
{
    const char *odd = attention_odd(even, K_PANEL_BYTES);
    attention_clear();
    ATTENTION_STEPS(SCORE_STEPS, queries, FRAGMENT_BYTES, even, odd)
#if ATTENTION_DEPTH * SPICA_TENSOR_OPERAND_BITS > 2048
    queries += 8 * FRAGMENT_BYTES, even += 8 * FRAGMENT_BYTES, odd += 8 * FRAGMENT_BYTES;
    ATTENTION_STEPS(SCORE_STEPS - 8, queries, FRAGMENT_BYTES, even, odd)
#endif
}

/* Multiplies O by factors that are not 1. With FP32 operands maxima change often, so that O is
 * multiplied where it is used; with 16 bits most blocks keep all of them. */
SPICA_INLINE void attention_rescale(char *output, AttentionPair factor)
{
    const uint32_t one = ATTENTION_LOADED(0x3F800000);
    SPICA_IF ((factor.first != one) | (factor.second != one)) {
        const char *end = output + ATTENTION_LOADED(OUTPUT_BYTES);
#pragma unroll 1
        for (; output != end; output += CHUNK_BYTES) {
            attention_load(output);
            attention_scale(factor.first, factor.second);
            attention_store(output);
        }
    } SPICA_END_IF
}

/* Adds the products of powers and V to O, 16 columns after the other. */
SPICA_INLINE void attention_output(char *scores, uint32_t buffer, uint32_t is_first,
                                   AttentionPair factor)
{
    char *output = attention_output_place(scores);
    const char *even = attention_first_v(buffer);
    if (ATTENTION_PER_WORD > 1 && !is_first)
        attention_rescale(output, factor);
#pragma unroll 1
    for (uint32_t chunk = 0; chunk < OUTPUT_CHUNKS; chunk++, output += CHUNK_BYTES) {
        const char *odd = attention_odd(even, V_PANEL_BYTES);
        if (is_first) {
            attention_clear();
        } else {
            attention_load(output);
            if (ATTENTION_PER_WORD == 1)
                attention_scale(factor.first, factor.second);
        }
        ATTENTION_STEPS(OUTPUT_STEPS, scores, POWER_STRIDE, even, odd)
        attention_store(output);
        even = attention_next_even(even, chunk, V_PANEL_BYTES);
    }
}

/* Scores of a block, in memory but for the last 16 keys, and their maxima with those before. */
SPICA_INLINE AttentionPair attention_all_scores(char *scores, AttentionPair maximum, uint32_t row,
                                                uint32_t key, uint32_t buffer)
{
    const char *queries = attention_queries_place(scores), *keys = attention_first_k(buffer);
    int32_t rest = attention_seen((int32_t)row) - (int32_t)key; /* keys that all queries see */
#pragma unroll 1
    for (uint32_t chunk = 0;; chunk++, scores += CHUNK_BYTES) {
        attention_scores(queries, keys);
        keys = attention_next_even(keys, chunk, K_PANEL_BYTES);
        rest -= CHUNK;
        if (rest < 0) {
            const int32_t own = (int32_t)(row + (vx_thread_id() & 5));
            attention_store(scores);
            attention_mask(scores, (int32_t)(key + chunk * CHUNK), attention_seen(own),
                           attention_seen(own + 2));
            attention_load(scores);
        }
        maximum = attention_maximum(maximum);
        if (chunk == SCORE_CHUNKS - 1)
            return attention_exchange(maximum, scores);
        attention_store(scores);
    }
}

/* Powers of a block, whose last scores are in the accumulators, and its part of O. */
SPICA_INLINE void attention_use(AttentionRows *rows, char *scores, uint32_t is_first,
                                uint32_t buffer)
{
    const AttentionPair factor = attention_begin_powers(rows);
    char *chunk = scores + (SCORE_CHUNKS - 1) * CHUNK_BYTES;
    attention_powers();
    attention_store_powers(chunk);
#pragma unroll 1
    while (chunk != scores) {
        chunk -= CHUNK_BYTES;
        attention_load(chunk);
        attention_powers();
        attention_store_powers(chunk);
    }
    attention_end_powers(rows);
    attention_output(scores, buffer, is_first, factor);
}

/* First query of the warp in the tile at a position. */
SPICA_INLINE uint32_t attention_row(const volatile AttentionPosition *at)
{
    return at->tile * TILE_ROWS + 8 * attention_warp();
}

/* Whether the warp processes the block at a position. */
SPICA_INLINE uint32_t attention_has_block(const volatile AttentionPosition *at, uint32_t row)
{
    const uint32_t key = at->block * ATTENTION_KEYS;
    return row < ATTENTION->queries &&
           (key == 0 || (int32_t)key < attention_seen((int32_t)row + 7));
}

/* Begin of a tile, and scores of a block. */
SPICA_INLINE void attention_find_scores(const volatile AttentionPosition *at)
{
    const uint32_t row = attention_row(at);
    if (!attention_has_block(at, row))
        return;
    AttentionRows *rows = attention_rows();
    char *scores = attention_scores_place();
    if (at->block == 0) {
        attention_copy_queries(at->problem, row, attention_queries_place(scores));
        attention_clear_rows(rows);
    }
    const AttentionPair maximum = attention_all_scores(scores, attention_pair(rows->maximum), row,
                                                       at->block * ATTENTION_KEYS, at->buffer);
    attention_keep_maximum(rows, maximum);
}

/* Powers and O of a block. */
SPICA_INLINE void attention_find_output(const volatile AttentionPosition *at)
{
    if (attention_has_block(at, attention_row(at)))
        attention_use(attention_rows(), attention_scores_place(), at->block == 0, at->buffer);
}

/* O and LSE after the last block of a tile. */
SPICA_INLINE void attention_end_tile(const volatile AttentionPosition *at)
{
    const uint32_t row = attention_row(at);
    if (row < ATTENTION->queries && at->block + 1 == attention_blocks(at->tile))
        attention_finish(attention_rows(), attention_scores_place(), at->problem, row);
}

/* Position of this warp. It is loaded at each use: registers are few. */
SPICA_INLINE volatile AttentionPosition *attention_at(void)
{
    return &attention_positions[attention_warp()][0];
}

/* All blocks. The accumulators keep the last scores of a block until its powers are computed. */
SPICA_INLINE void attention_all(void)
{
    volatile AttentionPosition *at = attention_at();
    at->problem = 0;
    at->tile = 0;
    at->block = 0;
    at->buffer = 0;
    at[1].problem = ATTENTION->problems;
    uint32_t half = 0;
#pragma unroll 1
    for (;;) {
        at = attention_at();
        if (!attention_is_over(at))
            attention_copy(at, half);
        spica_meet(0, ATTENTION_WARPS);
        at = attention_at();
        const uint32_t group = vx_warp_id() & 1;
        if (half != group) {
            at += group;
            if (!attention_is_over(at)) {
                attention_find_output(at);
                attention_end_tile(attention_at() + (vx_warp_id() & 1));
            }
        } else if (!attention_is_over(at)) {
            attention_find_scores(at);
        }
        at = attention_at();
        if (attention_is_over(at))
            return;
        if (half) {
            at[1].problem = at->problem;
            at[1].tile = at->tile;
            at[1].block = at->block;
            at[1].buffer = at->buffer;
            attention_advance(at);
        }
        half ^= 1;
    }
}

SPICA_INLINE void attention_run(void)
{
    spica_begin();
    if (vx_warp_id() < ATTENTION_WARPS)
        attention_all();
    vx_fence();
    spica_end();
}

#endif
