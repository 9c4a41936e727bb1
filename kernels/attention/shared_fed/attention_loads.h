/* Copies of K and V to shared memory by the DMA, commanded by the helper of core 0.
 *
 * Each core has a helper, a warp without queries. Before a block, each warp waits at a barrier for
 * the helpers and the warps of the same number of all cores; helpers wait for one warp after the
 * other. After the last barrier, all warps have finished the previous block, whose buffer the next
 * loads overwrite. So warps need not be in the same part of a block: some multiply while others
 * compute powers. */
#ifndef ATTENTION_LOADS_H
#define ATTENTION_LOADS_H

#include <spica_meet.h>
#include <spica_tiles.h>

#include "attention_position.h"

/* In memory, as registers are few. */
typedef struct {
    AttentionPosition at; /* of the next block to load */
    uint32_t begin;       /* loads of the DMA before the first one */
    uint32_t loads;       /* all loads that are commanded */
} AttentionLoads;

static AttentionLoads attention_loads_ __attribute__((section(".unset"), used));

SPICA_INLINE volatile AttentionLoads *attention_loads(void)
{
    return (volatile AttentionLoads *)ATTENTION_ADDRESS(&attention_loads_);
}

/* Loads panels of K or V, whose rows have `bytes` bytes. Rows behind the last key are zeros: their
 * powers are 0, which times a NaN would be one. */
#define ATTENTION_LOAD_PANELS(from, rows, panels, bytes, first)                          \
    spica_tile_pitches(ROW_BYTES, bytes, BLOCK_KEYS | (bytes) << 16);                    \
    _Pragma("unroll") for (int panel = 0; panel < (panels); panel++)                     \
        spica_tile_load(to + ATTENTION_SPREAD((first) + panel * BLOCK_KEYS * (bytes)),   \
                        (from) + panel * (bytes), (rows) | (bytes) << 16);

/* Commands the loads of the next block. */
static __attribute__((noinline)) void attention_load(void)
{
    volatile AttentionLoads *loads = attention_loads();
    if (attention_is_over(&loads->at))
        return;
    const uint32_t key = loads->at.key, head = loads->at.problem / ATTENTION->group;
    const uint32_t offset = (head * ATTENTION->keys + key) * ROW_BYTES;
    const uint32_t rows = spica_minu(ATTENTION->keys - key, BLOCK_KEYS);
    const uint32_t to = loads->at.buffer * SHARE_BYTES;
    ATTENTION_LOAD_PANELS((uint32_t)ATTENTION->k + offset, rows, SCORE_STEPS, K_ROW_BYTES, 0)
    ATTENTION_LOAD_PANELS((uint32_t)ATTENTION->v + offset, rows, OUTPUT_TILES, V_ROW_BYTES, K_BYTES)
    loads->loads += BLOCK_LOADS;
    attention_advance(&loads->at, attention_is_last(&loads->at));
}

/* Begin of the loads. A barrier makes the number of loads before the first one visible to all
 * warps. */
SPICA_INLINE void attention_begin_loads(const AttentionWarp *warp)
{
    volatile AttentionLoads *loads = attention_loads();
    if (warp->number == LOADER) {
        attention_first(&loads->at);
        const uint32_t done = *(volatile uint32_t *)SPICA_DMA_LOADS_DONE;
        loads->begin = loads->loads = done;
        vx_fence();
    }
    spica_meet(0, WARPS + 1);
    vx_fence();
}

/* Barrier of warp `number`, in all cores, and the helpers before a block. */
SPICA_INLINE void attention_barrier(uint32_t number)
{
    spica_meet(number, 2);
}

/* Helper of a core: waits for each of its warps before a block. That of core 0 also commands the
 * loads. */
SPICA_INLINE void attention_help(AttentionWarp *warp)
{
    volatile AttentionPosition *at = attention_at(warp);
    const uint32_t loads = warp->number == LOADER;
    attention_first(at);
    if (loads)
        attention_load();
#pragma unroll 1
    while (!attention_is_over(at)) {
#pragma unroll 1
        for (uint32_t number = 0; number < WARPS; number++)
            attention_barrier(number);
        if (loads) {
            spica_tile_await(attention_loads()->loads);
            attention_load();
        }
        attention_advance(at, attention_is_last(at));
    }
}

#endif
