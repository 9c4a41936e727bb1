/* Copies of tiles from DRAM to slots of shared memory by the DMA, commanded by one warp. */
#ifndef TENSOR_DMA_H
#define TENSOR_DMA_H

#include <spica_meet.h>
#include <spica_tiles.h>

#include "tensor_rounds.h"

/* Groups of warps with barriers at different steps of a tile, so that one multiplies while the other
 * waits: warps with even and with odd numbers. */
enum { TENSOR_GROUPS = SPICA_WARPS % 2 == 0 && SPICA_BARRIERS > 1 ? 2 : 1 };

/* Position of the copies, in the order in which tiles are multiplied. */
typedef struct {
    uint32_t a, b;      /* DRAM addresses of the first panels of the tile */
    uint32_t left;      /* fragments left along k */
    uint32_t across;    /* tiles of C left in this row, with this one */
    uint32_t slot;      /* offset in each bank */
    uint32_t rest;      /* tiles that are not copied yet */
    uint32_t commanded; /* tiles whose loads are commanded */
    uint32_t loads;     /* loads of the DMA before the first */
    /* Of each group: tiles that it needs, and tiles that all its warps have read. */
    uint32_t needed[TENSOR_GROUPS], read[TENSOR_GROUPS];
} TensorCommands;

/* In memory: a warp has no registers for it. The leading warps of the groups share it without a
 * barrier, so it consists of flags. Start-up does not clear it. */
static volatile TensorCommands tensor_at __attribute__((section(".unset.flags")));

/* Commands loads of `count` panels, one to each bank at a time. */
SPICA_INLINE void tensor_load_panels(uint32_t local, uint32_t dram, uint32_t pitch, uint32_t bytes,
                                     int count)
{
#pragma unroll 1
    for (int left = count; left > 0; left -= TENSOR_BANKS) {
        const int panels = left < TENSOR_BANKS ? left : TENSOR_BANKS;
        spica_tile_load(local, dram, bytes | (uint32_t)panels);
        local += TENSOR_PANEL_BYTES;
        dram += TENSOR_BANKS * pitch;
    }
}

/* Commands the loads of a tile and advances to the next one. */
SPICA_INLINE void tensor_copy(volatile TensorCommands *at)
{
    const uint32_t pitch = tensor_steps() * FRAGMENT_BYTES;
    const uint32_t steps = at->left < TENSOR_STEPS ? at->left : TENSOR_STEPS;
    const uint32_t bytes = steps * FRAGMENT_BYTES << 16;
    tensor_load_panels(at->slot, at->a, pitch, bytes, TENSOR_DOWN);
    tensor_load_panels(at->slot + SPICA_CONSTANT(TENSOR_A_PANELS * TENSOR_PANEL_BYTES), at->b, pitch, bytes,
                       2 * TENSOR_ACROSS);
    const uint32_t slot = at->slot + SPICA_CONSTANT(TENSOR_SLOT_BYTES);
    at->slot = slot == SPICA_CONSTANT(TENSOR_SLOTS * TENSOR_SLOT_BYTES) ? 0 : slot;
    at->commanded++;
    at->rest--;
    at->a += steps * FRAGMENT_BYTES;
    at->b += steps * FRAGMENT_BYTES;
    at->left -= steps;
    if (at->left)
        return;
    /* The same rows of A with the next columns of B, or the next rows with the first columns. */
    at->left = tensor_steps();
    at->across--;
    if (at->across) {
        at->a -= pitch;
        at->b += SPICA_CONSTANT(2 * TENSOR_ACROSS - 1) * pitch;
    } else {
        at->across = tensor_tiles_across();
        at->a += SPICA_CONSTANT(TENSOR_DOWN - 1) * pitch;
        at->b = (uint32_t)TENSOR->b_fragments;
    }
}

/* Tiles that every group has read. */
SPICA_INLINE uint32_t tensor_read(void)
{
    uint32_t read = tensor_at.read[0];
    if (TENSOR_GROUPS > 1 && (int32_t)(tensor_at.read[TENSOR_GROUPS - 1] - read) < 0)
        read = tensor_at.read[TENSOR_GROUPS - 1];
    return read;
}

/* Commands the loads of at most `count` tiles for which slots are free. */
SPICA_INLINE void tensor_copy_ahead(uint32_t count)
{
    for (; count && tensor_at.rest; count--) {
        if ((int32_t)(tensor_at.commanded - tensor_read()) >= TENSOR_SLOTS)
            break;
        tensor_copy(&tensor_at);
    }
}

/* Waits until the next tile of a group is in its slot. */
SPICA_INLINE void tensor_await_tile(int group)
{
    const uint32_t needed = tensor_at.needed[group] + 1;
    tensor_at.needed[group] = needed;
    if (group == 0) {
        while ((int32_t)(tensor_at.commanded - needed) < 0)
            tensor_copy_ahead(1);
    }
    spica_tile_await(tensor_at.loads + needed * SPICA_CONSTANT(TENSOR_PANELS));
}

/* A warp has no copies of its own. */
typedef struct {
} TensorCopies;

/* Whether this warp waits for the DMA for its group; that of group 0 also commands it. */
SPICA_INLINE int tensor_leads(int group)
{
    return vx_core_id() == 0 && vx_warp_id() == group;
}

/* Commands the loads of the first two tiles, and waits for the first. */
SPICA_INLINE TensorCopies tensor_begin(void)
{
    if (tensor_leads(0)) {
        tensor_at.a = (uint32_t)TENSOR->a_fragments;
        tensor_at.b = (uint32_t)TENSOR->b_fragments;
        tensor_at.left = tensor_steps();
        tensor_at.across = tensor_tiles_across();
        tensor_at.slot = 0;
        tensor_at.rest = tensor_rounds();
        tensor_at.commanded = 0;
        tensor_at.loads = *(volatile uint32_t *)SPICA_DMA_LOADS_DONE;
        spica_tile_pitches(tensor_steps() * FRAGMENT_BYTES, TENSOR_BANK_BYTES, 0);
        for (int group = 0; group < TENSOR_GROUPS; group++) {
            tensor_at.needed[group] = 1;
            tensor_at.read[group] = -1u;
        }
        tensor_copy_ahead(2);
        spica_tile_await(tensor_at.loads + TENSOR_PANELS);
    }
    spica_meet(0, SPICA_WARPS);
    return (TensorCopies){};
}

/* Barrier of the warps of the group: the next tile is there, and all have read the previous one.
 * Commands further loads. */
SPICA_INLINE void tensor_turn(TensorCopies *copies, int group)
{
    (void)copies;
    if (tensor_leads(group))
        tensor_await_tile(group);
    spica_meet(group, SPICA_WARPS / TENSOR_GROUPS);
    if (tensor_leads(group)) {
        tensor_at.read[group]++;
        if (group == 0)
            tensor_copy_ahead(2);
    }
}

/* Errors of the copies: 0 if all are right. */
SPICA_INLINE int tensor_copy_error(void)
{
    return (int)*(volatile uint32_t *)SPICA_DMA_ERROR;
}

/* Nothing to copy during the steps of a tile. */
#define TENSOR_PIECES 0
typedef struct {
} TensorWords;

SPICA_INLINE TensorWords tensor_take(const TensorCopies *copies, int piece)
{
    (void)copies, (void)piece;
    return (TensorWords){};
}

SPICA_INLINE void tensor_put(const TensorCopies *copies, int piece, TensorWords words)
{
    (void)copies, (void)piece, (void)words;
}

#endif
