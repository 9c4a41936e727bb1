/* Copies of operands from DRAM to slots of shared memory by the DMA, commanded by one warp.
 *
 * All warps wait at a barrier when they have started the product of each of the first HGMMA_SHORT
 * steps, and then of every HGMMA_TURN steps. A product starts when the previous one of its warp is
 * complete. At a barrier therefore the slots of all previous steps are read, and the steps up to the
 * next barrier are in shared memory, while the tensor units are busy with the products just started.
 * The first warp of core 0 leads: it waits for the DMA and commands it. */
#ifndef HGMMA_DMA_H
#define HGMMA_DMA_H

#include <spica_meet.h>
#include <spica_tiles.h>

#include "hgmma_descriptors.h"
#include "hgmma_sizes.h"

enum {
    /* With two slots, products are complete at the barrier: the next step is in the other slot. */
    HGMMA_IS_AHEAD = HGMMA_SLOTS > 2,
    HGMMA_TURN = HGMMA_SLOTS < 5 ? 1 : HGMMA_SLOTS < 9 ? 2 : 4,
    /* Steps at the beginning that are turns of their own, while copies get ahead. */
    HGMMA_SHORT = HGMMA_TURN,
    HGMMA_LOADS = SPICA_CORES + HGMMA_ACROSS, /* of a step */
};

/* Position of the copies, in the order in which steps are multiplied. */
typedef struct {
    uint32_t row, column; /* of the tile of C */
    uint32_t k;           /* elements along k before the run */
    uint32_t slot;        /* offset of the run in each bank */
    uint32_t run, left;   /* steps of a run with descriptors in regular distances, and those left */
    uint32_t commanded;   /* steps whose loads are commanded */
    uint32_t limit;       /* steps whose loads may be commanded: their slots are free */
    uint32_t needed;      /* steps that are in shared memory at the next barrier */
    uint32_t loads;       /* loads of the DMA before the first */
    uint32_t rounds;      /* all steps */
} HgmmaCommands;

/* In memory: warps have no registers for it, nor for its address. Start-up does not clear it. */
static HgmmaCommands hgmma_commands_ __attribute__((section(".unset"), used));

SPICA_INLINE volatile HgmmaCommands *hgmma_at(void)
{
    volatile HgmmaCommands *at;
    __asm__ volatile("lla %0, %1" : "=r"(at) : "i"(&hgmma_commands_));
    return at;
}

/* An operand that is loaded in parts, A along m or B along n. */
typedef struct {
    uint32_t dram;          /* address of its first element in this step */
    uint32_t unit;          /* bytes from an element to the next along m or n */
    uint32_t first, size;   /* first element of the tile, and all elements */
    uint32_t extent, count; /* elements of a part, and parts */
    uint32_t bytes;         /* of a part in shared memory */
    uint32_t shape, one;    /* descriptor's shape of no elements, and of one element in addition */
} HgmmaOperand;

/* Loads an operand part by part. Rows and columns outside the matrix are zeros. A part that is
 * outside has the last row or column, so that the number of loads is the same for all tiles. */
SPICA_INLINE void hgmma_load(HgmmaOperand operand, uint32_t local)
{
    for (uint32_t part = 0; part < operand.count; part++) {
        SPICA_ANEW(part); /* or each of its multiples occupies a register */
        uint32_t at = operand.first + part * operand.extent;
        at = at < operand.size ? at : operand.size - 1;
        const uint32_t rest = operand.size - at;
        const uint32_t elements = rest < operand.extent ? rest : operand.extent;
        spica_tile_load(local + hgmma_place(part, operand.bytes), operand.dram + at * operand.unit,
                        operand.shape + elements * operand.one);
    }
}

/* Elements of a step along k, of `rest` elements. */
SPICA_INLINE uint32_t hgmma_depth(uint32_t rest)
{
    return rest < HGMMA_DEPTH ? rest : HGMMA_DEPTH;
}

/* Commands the loads of A of a step. A call keeps values out of the registers of the caller. */
static __attribute__((noinline)) void hgmma_copy_a(void)
{
    const volatile HgmmaCommands *at = hgmma_at();
    const Hgmma *product = HGMMA;
    const uint32_t k = at->k;
    const uint32_t pitch = product->a_pitch * HGMMA_BYTES;
    spica_tile_pitches(pitch, HGMMA_A_ROW, HGMMA_CORE_M | HGMMA_A_ROW << 16);
    const HgmmaOperand a = {
        .dram = (uint32_t)product->a + k * HGMMA_BYTES,
        .unit = pitch,
        .first = at->row,
        .size = product->m,
        .extent = HGMMA_CORE_M,
        .count = SPICA_CORES,
        .bytes = HGMMA_ROWS_BYTES,
        .shape = hgmma_depth(product->k - k) * HGMMA_BYTES << 16,
        .one = 1,
    };
    hgmma_load(a, at->slot);
}

/* Commands the loads of B of a step. */
static __attribute__((noinline)) void hgmma_copy_b(void)
{
    const volatile HgmmaCommands *at = hgmma_at();
    const Hgmma *product = HGMMA;
    const uint32_t k = at->k;
    const uint32_t pitch = product->b_pitch * HGMMA_BYTES;
    spica_tile_pitches(pitch, HGMMA_B_ROW, HGMMA_DEPTH | HGMMA_B_ROW << 16);
    const HgmmaOperand b = {
        .dram = (uint32_t)product->b + k * pitch,
        .unit = HGMMA_BYTES,
        .first = at->column,
        .size = product->n,
        .extent = HGMMA_SIDE,
        .count = HGMMA_ACROSS,
        .bytes = HGMMA_OPERAND,
        .shape = hgmma_depth(product->k - k),
        .one = HGMMA_BYTES << 16,
    };
    hgmma_load(b, at->slot + HGMMA_A_BYTES);
}

/* Commands the loads of a step of a run. */
static __attribute__((noinline)) void hgmma_copy_run(void)
{
    volatile HgmmaCommands *at = hgmma_at();
    const uint32_t left = at->left - 1, commanded = at->commanded + 1;
    hgmma_start();
    at->left = left;
    at->commanded = commanded;
}

/* Prepares the next run: steps within the matrices, of one tile of C, in slots up to the end of the
 * ring. It is empty at the edges of the matrices. */
static __attribute__((noinline)) void hgmma_enter(void)
{
    volatile HgmmaCommands *at = hgmma_at();
    const Hgmma *product = HGMMA;
    const uint32_t row = at->row, column = at->column, k = at->k, slot = at->slot;
    const uint32_t depth = (product->k - k) / HGMMA_DEPTH;
    const uint32_t slots = (HGMMA_SLOTS * HGMMA_SLOT_BYTES - slot) / HGMMA_SLOT_BYTES;
    const int is_within = row + HGMMA_M <= product->m && column + HGMMA_N <= product->n;
    at->run = at->left = HGMMA_IS_REGULAR && is_within ? depth < slots ? depth : slots : 0;
    const uint32_t a_pitch = product->a_pitch * HGMMA_BYTES, b_pitch = product->b_pitch * HGMMA_BYTES;
    hgmma_describe(&hgmma_a_, (uint32_t)product->a + row * a_pitch + k * HGMMA_BYTES, a_pitch, slot);
    hgmma_describe(&hgmma_b_, (uint32_t)product->b + k * b_pitch + column * HGMMA_BYTES, b_pitch,
                   slot + HGMMA_A_BYTES);
}

/* Advances by `steps` steps, up to the end of the ring or of the tile of C. */
static __attribute__((noinline)) void hgmma_advance(uint32_t steps)
{
    volatile HgmmaCommands *at = hgmma_at();
    const uint32_t slot = at->slot + steps * HGMMA_SLOT_BYTES, k = at->k + steps * HGMMA_DEPTH;
    at->slot = slot == HGMMA_SLOTS * HGMMA_SLOT_BYTES ? 0 : slot;
    at->k = k;
    if (k < HGMMA->k)
        return;
    at->k = 0;
    at->column += HGMMA_N;
    if (at->column >= HGMMA->n) {
        at->column = 0;
        at->row += HGMMA_M;
    }
}

/* Commands the loads of the next step, if there is one and its slot is free. */
SPICA_INLINE void hgmma_copy_ahead(void)
{
    volatile HgmmaCommands *at = hgmma_at();
    if (at->commanded == at->limit)
        return;
    uint32_t steps = at->run;
    if (steps) {
        hgmma_copy_run();
        if (at->left)
            return;
    } else {
        steps = 1;
        hgmma_copy_a();
        hgmma_copy_b();
        at->commanded++;
    }
    hgmma_advance(steps);
    hgmma_enter();
}

/* Whether the warp commands the DMA. */
SPICA_INLINE int hgmma_leads(void)
{
    return vx_core_id() == 0 && vx_warp_id() == 0;
}

/* Begins the copies. */
SPICA_INLINE void hgmma_begin(void)
{
    if (!hgmma_leads())
        return;
    volatile HgmmaCommands *at = hgmma_at();
    const uint32_t a_pitch = HGMMA->a_pitch * HGMMA_BYTES, b_pitch = HGMMA->b_pitch * HGMMA_BYTES;
    hgmma_prepare(&hgmma_a_, SPICA_CORES, HGMMA_CORE_M * a_pitch, HGMMA_A_ROW);
    hgmma_prepare(&hgmma_b_, HGMMA_ACROSS, HGMMA_B_ROW, HGMMA_DEPTH * b_pitch);
    at->row = at->column = at->k = at->slot = at->commanded = 0;
    const uint32_t rounds = hgmma_rounds();
    at->rounds = rounds;
    at->needed = 1;
    at->limit = rounds < 2 ? 1 : 2; /* the next step is loaded during the first */
    at->loads = *(volatile uint32_t *)SPICA_DMA_LOADS_DONE;
    hgmma_enter();
    hgmma_copy_ahead();
    hgmma_copy_ahead();
}

/* Waits until the steps are there that warps need after their next barrier. */
SPICA_INLINE void hgmma_await(void)
{
    while (hgmma_at()->commanded < hgmma_at()->needed)
        hgmma_copy_ahead();
    spica_tile_await(hgmma_at()->loads + hgmma_at()->needed * SPICA_CONSTANT(HGMMA_LOADS));
}

/* Frees the slots that warps have read before the barrier. */
SPICA_INLINE void hgmma_free(void)
{
    const uint32_t rounds = hgmma_at()->rounds, needed = hgmma_at()->needed;
    const uint32_t limit = needed + (HGMMA_SLOTS - HGMMA_TURN - HGMMA_IS_AHEAD);
    const uint32_t next = needed + (needed <= HGMMA_SHORT ? 1 : HGMMA_TURN);
    hgmma_at()->limit = limit < rounds ? limit : rounds;
    hgmma_at()->needed = next < rounds ? next : rounds;
}

/* Barrier of all warps. The steps up to the next turn are in shared memory then. */
SPICA_INLINE void hgmma_turn(int leads)
{
    if (leads)
        hgmma_await();
    spica_meet(0, SPICA_WARPS);
    if (leads)
        hgmma_free();
}

#endif
