/* Attention on tensor units that read shared memory: the loop over tiles of queries and blocks. */
#ifndef ATTENTION_HGMMA_H
#define ATTENTION_HGMMA_H

#include "attention_loads.h"
#include "attention_rows.h"

/* Whether the warp with the queries from `row` on processes the block of keys from `key` on. A block
 * that none of them attends to is skipped, unless it is the first. */
SPICA_INLINE uint32_t attention_has_block(uint32_t row, uint32_t key)
{
    return key == 0 || (int32_t)key < attention_seen((int32_t)(row + SIDE - 1));
}

/* Skips the tiles of a block. */
enum {
    ATTENTION_POWERS, /* powers, the sums of which may exceed the limit */
    ATTENTION_MAXIMA, /* maxima, if a sum exceeds it */
    ATTENTION_AGAIN,  /* powers with these maxima */
};

/* Writes whether a sum of the lane exceeds the limit. */
SPICA_INLINE void attention_vote(AttentionWarp *warp, AttentionPair sum)
{
    const AttentionPair is_above = attention_exceeds(sum);
    volatile uint8_t *votes = (volatile uint8_t *)attention_factors(warp) + warp->lane;
    *votes = (uint8_t)(is_above.first | is_above.second);
}

/* Replaces the maxima of queries with sums above the limit, and rescales their sums and O. */
SPICA_INLINE void attention_replace(AttentionWarp *warp, AttentionPair sum, uint32_t has_output)
{
    volatile AttentionRows *rows = attention_rows(warp);
    const AttentionPair is_above = attention_exceeds(sum);
    const AttentionPair old = {rows->maximum[0][0], rows->maximum[1][0]};
    AttentionPair new = {rows->raised[0][0], rows->raised[1][0]};
    new.first = old.first ^ ((old.first ^ new.first) & -is_above.first);
    new.second = old.second ^ ((old.second ^ new.second) & -is_above.second);
    attention_set_maxima(rows, new);
    const float first = attention_factor(old.first, new.first);
    const float second = attention_factor(old.second, new.second);
    rows->sum[0][0] = spica_bits(spica_float(rows->sum[0][0]) * first);
    rows->sum[1][0] = spica_bits(spica_float(rows->sum[1][0]) * second);
    if (has_output) {
        attention_share(warp, first, second);
        attention_rescale(warp);
    }
}

/* Masks scores of a tile to which its queries do not attend. */
SPICA_INLINE void attention_hide(AttentionWarp *warp, uint32_t tile)
{
    const volatile AttentionPosition *at = attention_at(warp);
    const int32_t row = (int32_t)(at->row + SIDE * warp->number);
    const int32_t key = (int32_t)(at->key + SIDE * tile);
    if (key + SIDE <= attention_seen(row))
        return;
    const int32_t own = row + 2 * (int32_t)warp->lane;
    attention_mask(attention_seen(own) - key, attention_seen(own + 1) - key);
}

/* Sets the first maxima of queries to those of the tile of scores in the registers. */
SPICA_INLINE AttentionPair attention_begin_maxima(AttentionWarp *warp)
{
    volatile AttentionRows *rows = attention_rows(warp);
    attention_raise(rows);
    const AttentionPair maximum = {rows->raised[0][0], rows->raised[1][0]};
    attention_set_maxima(rows, maximum);
    const AttentionPair shift = {rows->shift[0][0], rows->shift[1][0]};
    return shift;
}

/* Work of a tile of scores besides its powers. */
enum {
    HIDES = 1,  /* scores of keys that a query does not see */
    RAISES = 2, /* maxima, and no powers */
    BEGINS = 4, /* maxima of the first tile, before its powers */
};

/* One pass over the tiles of a block: powers and their sums, or maxima. */
SPICA_INLINE void attention_tiles(AttentionWarp *warp, uint32_t pass, AttentionPair *sum)
{
    const volatile AttentionPosition *at = attention_at(warp);
    const uint32_t first = at->key;
    uint32_t keys = attention_buffer(at->buffer), needs = (first | pass) == 0 ? BEGINS : 0;
    if (pass == ATTENTION_MAXIMA)
        needs |= RAISES;
    if ((int32_t)(first + BLOCK_KEYS) > attention_seen((int32_t)(at->row + SIDE * warp->number)))
        needs |= HIDES;
    const volatile AttentionRows *rows = attention_rows(warp);
    AttentionPair shift = {rows->shift[0][0], rows->shift[1][0]};
    const uint32_t scale = attention_scale();
    uint32_t to = attention_power_rows(warp) + 128 * warp->lane, step = 32;
#pragma unroll 1
    for (uint32_t left = SCORE_TILES; left; left--) {
        attention_renew(warp);
        attention_scores(keys, warp->operands);
        keys += OPERAND_BYTES;
        if (needs & HIDES)
            attention_hide(warp, SCORE_TILES - left);
        if (needs & RAISES) {
            attention_raise(attention_rows(warp));
            continue;
        }
        const AttentionMoved moved = attention_move();
        if (needs & BEGINS) {
            shift = attention_begin_maxima(warp);
            needs &= ~(uint32_t)BEGINS;
        }
        attention_powers(moved, shift, scale, sum, to);
        /* Half a row of P has the keys of a tile. */
        to += step;
        step ^= 32 ^ (OPERAND_BYTES - 32);
    }
}

/* Powers of a block to shared memory, and their sums. Powers whose sums exceed the limit are computed
 * again with the maxima of the block. Leaves the first tile of O in the registers. */
SPICA_INLINE AttentionPair attention_all_powers(AttentionWarp *warp)
{
    AttentionPair sum = {0, 0};
    uint32_t pass = ATTENTION_POWERS;
#pragma unroll 1
    for (;;) {
        attention_tiles(warp, pass, &sum);
        SPICA_ANEW(pass);
        attention_renew(warp);
        const uint32_t key = attention_at(warp)->key;
        if (pass == ATTENTION_MAXIMA) {
            attention_replace(warp, sum, key);
            pass = ATTENTION_AGAIN;
            sum.first = sum.second = 0;
            continue;
        }
        if (pass == ATTENTION_POWERS)
            attention_vote(warp, sum);
        attention_settle();
        const volatile uint32_t *votes = (const volatile uint32_t *)attention_factors(warp);
        const uint32_t first = votes[0], second = votes[1];
        attention_begin_tile(attention_output(warp), key == 0);
        if (pass == ATTENTION_AGAIN || (first | second) == 0)
            return sum;
        pass = ATTENTION_MAXIMA;
        volatile AttentionRows *rows = attention_rows(warp);
        rows->raised[0][0] = rows->maximum[0][0];
        rows->raised[1][0] = rows->maximum[1][0];
    }
}

SPICA_INLINE uint32_t attention_sum(uint32_t old, uint32_t powers)
{
    return spica_bits(spica_float(old) + spica_float(powers));
}

/* Processes a block of keys. */
SPICA_INLINE void attention_block(AttentionWarp *warp)
{
    const AttentionPair sum = attention_all_powers(warp);
    attention_renew(warp);
    const volatile AttentionPosition *at = attention_at(warp);
    attention_add(attention_power_rows(warp), attention_output(warp), at->buffer, at->key == 0);
    attention_renew(warp);
    volatile AttentionRows *rows = attention_rows(warp);
    rows->sum[0][0] = attention_sum(rows->sum[0][0], sum.first);
    rows->sum[1][0] = attention_sum(rows->sum[1][0], sum.second);
}

/* All of a block: begin of a tile of queries, powers and O, and end of the tile. */
SPICA_INLINE void attention_step(AttentionWarp *warp)
{
    const volatile AttentionPosition *at = attention_at(warp);
    const uint32_t row = at->row + SIDE * warp->number, key = at->key;
    if (row >= ATTENTION->queries)
        return;
    if (key == 0) {
        attention_copy_queries(warp, at->problem, row);
        attention_clear_rows(warp);
    }
    if (attention_has_block(row, key))
        attention_block(warp);
    attention_renew(warp);
    if (!attention_is_last(attention_at(warp)))
        return;
    attention_renew(warp);
    at = attention_at(warp);
    attention_finish(warp, at->problem, at->row + SIDE * warp->number);
}

/* All blocks. */
SPICA_INLINE void attention_all(AttentionWarp *warp)
{
    attention_first(attention_at(warp));
    attention_at(warp)->loads = attention_loads()->begin;
#pragma unroll 1
    while (!attention_is_over(attention_at(warp))) {
        attention_barrier(vx_warp_id());
        const uint32_t loads = attention_at(warp)->loads + BLOCK_LOADS;
        attention_at(warp)->loads = loads;
        spica_tile_await(loads);
        attention_step(warp);
        attention_renew(warp);
        attention_advance(attention_at(warp), attention_is_last(attention_at(warp)));
    }
}

SPICA_INLINE void attention_run(void)
{
    spica_begin();
    if (vx_warp_id() <= WARPS) {
        AttentionWarp warp = attention_warp();
        attention_begin_loads(&warp);
        if (vx_warp_id() == WARPS)
            attention_help(&warp);
        else
            attention_all(&warp);
    }
    vx_fence();
    spica_end();
}

#endif
