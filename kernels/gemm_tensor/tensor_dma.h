/* Copies of tiles from DRAM to slots of shared memory by the DMA, commanded by one warp. */
#ifndef TENSOR_DMA_H
#define TENSOR_DMA_H

#include "tensor_rounds.h"

/* Position of the copies, in the order in which tiles are multiplied. */
typedef struct {
    uint32_t a, b;   /* DRAM addresses of the first panels of the tile */
    uint32_t left;   /* fragments left along k */
    uint32_t across; /* tiles of C left in this row, with this one */
    uint32_t slot;   /* offset in each bank */
    uint32_t free;   /* tiles that may be copied now */
    uint32_t rest;   /* tiles that are not copied yet */
    uint32_t loads;  /* descriptors done when the next tile to be multiplied is there */
} TensorCommands;

/* In memory: a warp has no registers for it. Start-up does not clear it. */
static volatile TensorCommands tensor_at __attribute__((section(".unset")));

/* Statements on the register block of the DMA by one lane; other lanes keep their registers. */
#define TENSOR_ONE_ "li %[t], 1\n\t" SPICA_INSN("x0, %[t], x0", SPICA_INSN_VX_TMC) "\n\t"
#define TENSOR_ALL_ "li %[t], -1\n\t" SPICA_INSN("x0, %[t], x0", SPICA_INSN_VX_TMC)
#define TENSOR_DMA_(name) (SPICA_DMA_##name - SPICA_DMA_DRAM)

SPICA_INLINE void tensor_pitches(uint32_t dram_pitch)
{
    uint32_t t;
    __asm__ volatile(TENSOR_ONE_ "sw %[dram], %[dram_at](%[dma])\n\t"
                     "sw %[local], %[local_at](%[dma])\n\tsw x0, %[fill_at](%[dma])\n\t" TENSOR_ALL_
                     : [t] "=&r"(t)
                     : [dma] "r"(SPICA_DMA_DRAM), [dram] "r"(dram_pitch),
                       [local] "r"(TENSOR_BANK_BYTES), [dram_at] "i"(TENSOR_DMA_(DRAM_PITCH)),
                       [local_at] "i"(TENSOR_DMA_(LOCAL_PITCH)), [fill_at] "i"(TENSOR_DMA_(FILL))
                     : "memory");
}

SPICA_INLINE void tensor_load(uint32_t local, uint32_t dram, uint32_t shape)
{
    uint32_t t;
    __asm__ volatile(TENSOR_ONE_ "sw %[dram], 0(%[dma])\n\tsw %[local], %[local_at](%[dma])\n\t"
                     "sw %[shape], %[shape_at](%[dma])\n\tsw x0, %[start_at](%[dma])\n\t" TENSOR_ALL_
                     : [t] "=&r"(t)
                     : [dma] "r"(SPICA_DMA_DRAM), [dram] "r"(dram), [local] "r"(local),
                       [shape] "r"(shape), [local_at] "i"(TENSOR_DMA_(LOCAL)),
                       [shape_at] "i"(TENSOR_DMA_(SHAPE)), [start_at] "i"(TENSOR_DMA_(START))
                     : "memory");
}

/* Waits for loads. A division by 1 delays the next read of the counter. */
SPICA_INLINE void tensor_await(uint32_t loads)
{
    uint32_t t;
    __asm__ volatile(TENSOR_ONE_ "1:\n\tlw %[t], 0(%[done])\n\tsub %[t], %[t], %[loads]\n\t"
                     "bgez %[t], 2f\n\tli %[t], 1\n\tdivu %[t], %[t], %[t]\n\tbnez %[t], 1b\n2:\n\t"
                     TENSOR_ALL_
                     : [t] "=&r"(t)
                     : [done] "r"(SPICA_DMA_LOADS_DONE), [loads] "r"(loads)
                     : "memory");
}

/* Commands loads of `count` panels, one to each bank at a time. */
SPICA_INLINE void tensor_load_panels(uint32_t local, uint32_t dram, uint32_t pitch, uint32_t bytes,
                                     int count)
{
#pragma unroll 1
    for (int left = count; left > 0; left -= TENSOR_BANKS) {
        const int panels = left < TENSOR_BANKS ? left : TENSOR_BANKS;
        tensor_load(local, dram, bytes | (uint32_t)panels);
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
    at->free--;
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

/* Commands the loads of at most `count` tiles for which slots are free. */
SPICA_INLINE void tensor_copy_ahead(uint32_t count)
{
    for (; count && tensor_at.free && tensor_at.rest; count--)
        tensor_copy(&tensor_at);
}

/* Waits until the next tile is in its slot. */
SPICA_INLINE void tensor_await_tile(void)
{
    const uint32_t loads = tensor_at.loads + TENSOR_A_PANELS + TENSOR_B_PANELS;
    tensor_at.loads = loads;
    tensor_await(loads);
}

/* A warp has no copies of its own. */
typedef struct {
} TensorCopies;

/* Whether this warp commands the DMA. */
SPICA_INLINE int tensor_commands(void)
{
    return (vx_core_id() | vx_warp_id()) == 0;
}

/* Commands the loads of the first two tiles, and waits for the first. */
SPICA_INLINE TensorCopies tensor_begin(void)
{
    if (tensor_commands()) {
        tensor_at.a = (uint32_t)TENSOR->a_fragments;
        tensor_at.b = (uint32_t)TENSOR->b_fragments;
        tensor_at.left = tensor_steps();
        tensor_at.across = tensor_tiles_across();
        tensor_at.slot = 0;
        tensor_at.free = TENSOR_SLOTS;
        tensor_at.rest = tensor_rounds();
        tensor_at.loads = *(volatile uint32_t *)SPICA_DMA_LOADS_DONE;
        tensor_pitches(tensor_steps() * FRAGMENT_BYTES);
        tensor_copy_ahead(2);
        tensor_await_tile();
    }
    tensor_meet();
    return (TensorCopies){};
}

/* Meets the other warps, and commands further loads: the next tile is there. */
SPICA_INLINE void tensor_turn(TensorCopies *copies)
{
    (void)copies;
    if (tensor_commands())
        tensor_await_tile();
    tensor_meet();
    if (tensor_commands()) {
        tensor_copy_ahead(2);
        tensor_at.free++; /* after the next turn, the slot of this tile */
    }
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
