/* Copies of tiles from DRAM to slots of shared memory by the DMA, commanded by one warp. */
#ifndef TENSOR_COPY_H
#define TENSOR_COPY_H

#include "tensor_sizes.h"

/* Position of the copies: tiles along k, then along n, then along m, as they are multiplied. */
typedef struct {
    uint32_t a, b;   /* DRAM addresses of the first panels of the tile */
    uint32_t left;   /* fragments left along k */
    uint32_t across; /* tiles of C left in this row, with this one */
    uint32_t slot;   /* offset in each bank */
    uint32_t free;   /* tiles that may be copied now */
    uint32_t rest;   /* tiles that are not copied yet */
    uint32_t loads;  /* descriptors done when the next tile to be multiplied is there */
} TensorCopies;

/* In memory: a warp has no registers for it. Start-up does not clear it. */
static volatile TensorCopies tensor_copies __attribute__((section(".unset")));

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

SPICA_INLINE uint32_t tensor_steps(void)
{
    return TENSOR_BLOCKS(TENSOR->k, TENSOR_DEPTH);
}

SPICA_INLINE uint32_t tensor_tiles_across(void)
{
    return TENSOR_BLOCKS(TENSOR->n, TENSOR_N);
}

SPICA_INLINE uint32_t tensor_tiles(void)
{
    return TENSOR_BLOCKS(TENSOR->m, TENSOR_M) * tensor_tiles_across();
}

/* All tiles of operands. */
SPICA_INLINE uint32_t tensor_rounds(void)
{
    return tensor_tiles() * TENSOR_BLOCKS(tensor_steps(), TENSOR_STEPS);
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
SPICA_INLINE void tensor_copy(volatile TensorCopies *at)
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
    for (; count && tensor_copies.free && tensor_copies.rest; count--)
        tensor_copy(&tensor_copies);
}

/* Waits until the next tile is in its slot. */
SPICA_INLINE void tensor_await_tile(void)
{
    const uint32_t loads = tensor_copies.loads + TENSOR_A_PANELS + TENSOR_B_PANELS;
    tensor_copies.loads = loads;
    tensor_await(loads);
}

/* Commands the loads of the first two tiles. */
SPICA_INLINE void tensor_begin_copies(void)
{
    tensor_copies.a = (uint32_t)TENSOR->a_fragments;
    tensor_copies.b = (uint32_t)TENSOR->b_fragments;
    tensor_copies.left = tensor_steps();
    tensor_copies.across = tensor_tiles_across();
    tensor_copies.slot = 0;
    tensor_copies.free = TENSOR_SLOTS;
    tensor_copies.rest = tensor_rounds();
    tensor_copies.loads = *(volatile uint32_t *)SPICA_DMA_LOADS_DONE;
    tensor_pitches(tensor_steps() * FRAGMENT_BYTES);
    tensor_copy_ahead(2);
}

#endif
