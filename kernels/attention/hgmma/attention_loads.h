/* Copies of K and V to shared memory by the DMA, commanded by the first warp of core 0.
 *
 * There are two buffers. All warps meet before each block. The first warp meets the others when the
 * loads of the block are done, and commands those of the next one after the meeting: all warps have
 * finished the block before, whose buffer the next one overwrites. */
#ifndef ATTENTION_LOADS_H
#define ATTENTION_LOADS_H

#include <spica_meet.h>
#include <spica_tiles.h>

#include "attention_position.h"

/* In memory, as registers are few. */
typedef struct {
    AttentionPosition at; /* of the next block to load */
    uint32_t loads;       /* all loads that are commanded */
} AttentionLoads;

static AttentionLoads attention_loads_ __attribute__((section(".unset"), used));

SPICA_INLINE volatile AttentionLoads *attention_loads(void)
{
    return (volatile AttentionLoads *)ATTENTION_ADDRESS(&attention_loads_);
}

SPICA_INLINE int attention_leads(void)
{
    return vx_core_id() == 0 && vx_warp_id() == 0;
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
    attention_advance(&loads->at);
}

/* Commands the first loads. */
SPICA_INLINE void attention_begin_loads(void)
{
    if (!attention_leads())
        return;
    volatile AttentionLoads *loads = attention_loads();
    attention_first(&loads->at);
    loads->loads = *(volatile uint32_t *)SPICA_DMA_LOADS_DONE;
    attention_load();
}

/* Meets the other warps before a block. */
SPICA_INLINE void attention_meet(void)
{
    const int leads = attention_leads();
    if (leads)
        spica_tile_await(attention_loads()->loads);
    spica_meet(0, WARPS);
    if (leads)
        attention_load();
}

#endif
