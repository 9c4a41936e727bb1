/* Attention on tensor units: the loop over tiles of queries and blocks of keys.
 *
 * All warps meet once per block: the next block is complete then, and all have read this one. A warp
 * copies its pieces of the next block before it processes this one. It computes the scores of 16 keys
 * after the other, their maxima, the powers, and then O for 16 columns after the other. A block of
 * keys that no query of a warp sees is skipped, unless it is the first. */
#ifndef ATTENTION_TENSOR_H
#define ATTENTION_TENSOR_H

#include <spica_meet.h>

#include "attention_copy.h"
#include "attention_finish.h"

/* Keys that a query sees. */
SPICA_INLINE int32_t attention_seen(int32_t row)
{
    const int32_t keys = (int32_t)ATTENTION->keys;
    if (!ATTENTION->causal)
        return keys;
    return spica_max(0, spica_min(keys, row + 1 + keys - (int32_t)ATTENTION->queries));
}

/* Blocks of keys of a tile of queries of all warps: at least one. */
SPICA_INLINE uint32_t attention_blocks(uint32_t tile)
{
    const uint32_t last = spica_minu((tile + 1) * TILE_ROWS, ATTENTION->queries) - 1;
    const uint32_t seen = (uint32_t)attention_seen((int32_t)last);
    return spica_maxu(ATTENTION_BLOCKS(seen, ATTENTION_KEYS), 1);
}

/* Position in the work: head, tile of queries, block of keys. */
typedef struct {
    uint32_t problem, tile, block;
} AttentionPosition;

/* The next position; behind the last one `problem` is the number of heads. */
SPICA_INLINE AttentionPosition attention_next(AttentionPosition at)
{
    if (++at.block < attention_blocks(at.tile))
        return at;
    at.block = 0;
    if (++at.tile * TILE_ROWS < ATTENTION->queries)
        return at;
    at.tile = 0;
    at.problem++;
    return at;
}

SPICA_INLINE void attention_copy(AttentionPosition at, uint32_t buffer)
{
    const uint32_t head = at.problem / ATTENTION->group * ATTENTION->keys * ROW_BYTES;
    attention_copy_block(head, at.block * ATTENTION_KEYS, buffer);
}

/* Scores of 16 keys to the accumulators. */
SPICA_INLINE void attention_scores(const char *queries, uint32_t buffer, uint32_t chunk)
{
    const char *even = attention_k(buffer, 2 * chunk), *odd = attention_k(buffer, 2 * chunk + 1);
    attention_clear();
    ATTENTION_STEPS(SCORE_STEPS, queries, FRAGMENT_BYTES, even, odd)
#if ATTENTION_DEPTH * SPICA_TENSOR_OPERAND_BITS > 2048
    queries += 8 * FRAGMENT_BYTES, even += 8 * FRAGMENT_BYTES, odd += 8 * FRAGMENT_BYTES;
    ATTENTION_STEPS(SCORE_STEPS - 8, queries, FRAGMENT_BYTES, even, odd)
#endif
}

/* Adds the products of powers and V to O, 16 columns after the other. */
SPICA_INLINE void attention_output(const AttentionPlaces *at, uint32_t buffer, uint32_t is_first,
                                   AttentionPair factor)
{
    char *output = at->output;
#pragma unroll 1
    for (uint32_t chunk = 0; chunk < OUTPUT_CHUNKS; chunk++, output += CHUNK_BYTES) {
        const char *even = attention_v(buffer, 2 * chunk), *odd = attention_v(buffer, 2 * chunk + 1);
        if (is_first) {
            attention_clear();
        } else {
            attention_load(output);
            attention_scale(factor.first, factor.second);
        }
        ATTENTION_STEPS(OUTPUT_STEPS, at->scores, POWER_STRIDE, even, odd)
        attention_store(output);
    }
}

/* Processes a block for a warp. `row` is its first query. */
SPICA_INLINE void attention_block(AttentionRows *rows, const AttentionPlaces *at, uint32_t row,
                                  uint32_t block, uint32_t buffer)
{
    const int32_t own = (int32_t)(row + (vx_thread_id() & 5)), end = (block + 1) * ATTENTION_KEYS;
    const uint32_t is_masked = attention_seen((int32_t)row) < end;
    AttentionPair maximum = rows->maximum;
    char *scores = at->scores;
#pragma unroll 1
    for (uint32_t chunk = 0;; chunk++, scores += CHUNK_BYTES) {
        attention_scores(at->queries, buffer, chunk);
        if (is_masked) {
            attention_store(scores);
            attention_mask(scores, block * ATTENTION_KEYS + chunk * CHUNK, attention_seen(own),
                           attention_seen(own + 2));
            attention_load(scores);
        }
        maximum = attention_maximum(maximum);
        if (chunk == SCORE_CHUNKS - 1)
            break;
        attention_store(scores);
    }
    maximum = attention_exchange(maximum, scores);
    if (ATTENTION_EACH > 1)
        maximum = attention_kept(rows->maximum, maximum);
    const AttentionPair factor = attention_begin_powers(rows, maximum);
    attention_powers();
    attention_store_powers(scores);
#pragma unroll 1
    for (uint32_t chunk = 1; chunk < SCORE_CHUNKS; chunk++) {
        scores -= CHUNK_BYTES;
        attention_load(scores);
        attention_powers();
        attention_store_powers(scores);
    }
    rows->sum = attention_end_powers();
    attention_output(at, buffer, block == 0, factor);
}

SPICA_INLINE void attention_all(void)
{
    const AttentionPlaces places = attention_places();
    AttentionRows rows = {};
    AttentionPosition at = {};
    uint32_t buffer = 0;
    attention_copy(at, buffer);
#pragma unroll 1
    for (;;) {
        const AttentionPosition next = attention_next(at);
        const uint32_t row = at.tile * TILE_ROWS + 8 * attention_warp();
        const uint32_t has_rows = row < ATTENTION->queries;
        spica_meet(0, ATTENTION_WARPS);
        if (next.problem < ATTENTION->problems)
            attention_copy(next, buffer ^ 1);
        if (at.block == 0 && has_rows) {
            attention_copy_queries(at.problem, row, places.queries);
            rows = (AttentionRows){.maximum = {MINUS_INFINITY, MINUS_INFINITY}};
        }
        const int32_t seen = attention_seen((int32_t)row + 7);
        if (has_rows && (at.block == 0 || (int32_t)(at.block * ATTENTION_KEYS) < seen))
            attention_block(&rows, &places, row, at.block, buffer);
        if (next.block == 0 && has_rows)
            attention_finish(&rows, &places, at.problem, row);
        if (next.problem == ATTENTION->problems)
            return;
        at = next;
        buffer ^= 1;
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
