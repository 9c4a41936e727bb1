/* Copies of operands from DRAM to slots of shared memory by the DMA, commanded by one warp.
 *
 * Warps with even and with odd numbers form groups. A group meets after its first step and then
 * after every HGMMA_TURN steps: the next HGMMA_TURN steps are in shared memory then, and the slots
 * of the previous ones are read. The first warp of each group in core 0 leads it and waits for the
 * DMA. The leader of group 0 also commands the DMA. */
#ifndef HGMMA_DMA_H
#define HGMMA_DMA_H

#include <spica_meet.h>
#include <spica_tiles.h>

#include "hgmma_descriptors.h"
#include "hgmma_sizes.h"

enum {
    HGMMA_GROUPS = SPICA_WARPS % 2 == 0 && SPICA_BARRIERS > 1 ? 2 : 1,
    HGMMA_GROUP_WARPS = SPICA_WARPS / HGMMA_GROUPS,
    HGMMA_TURN = HGMMA_SLOTS < 6 ? 1 : HGMMA_SLOTS < 10 ? 2 : 3,
    /* Turns that group 0 is ahead at the beginning. It then stores a tile of C while group 1
     * multiplies. All the steps must be in slots. */
    HGMMA_LEAD = HGMMA_SLOTS > 2 * HGMMA_TURN ? 2 : 1,
    HGMMA_LOADS = SPICA_CORES + HGMMA_ACROSS, /* of a step */
};

/* Position of the copies, in the order in which steps are multiplied. */
typedef struct {
    uint32_t row, column; /* of the tile of C */
    uint32_t k;           /* elements along k before the step */
    uint32_t slot;        /* offset in each bank */
    uint32_t full;        /* next steps whose operands are within the matrices */
    uint32_t rest;        /* steps that are not copied yet */
    uint32_t commanded;   /* steps whose loads are commanded */
    uint32_t loads;       /* loads of the DMA before the first */
    uint32_t rounds;      /* all steps */
    uint32_t turns[HGMMA_GROUPS];
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
    uint32_t dram;        /* address of its first element in this step */
    uint32_t unit;        /* bytes from an element to the next along m or n */
    uint32_t first, size; /* first element of the tile, and all elements */
    uint32_t each, count; /* elements of a part, and parts */
    uint32_t bytes;       /* of a part in shared memory */
    uint32_t shape, one;  /* descriptor's shape of no elements, and of one element in addition */
} HgmmaOperand;

/* Loads a part at the edge of a matrix. Rows and columns outside are zeros. A part that is outside
 * has the last row or column, so that the number of loads is the same for all tiles. */
SPICA_INLINE void hgmma_load_rest(HgmmaOperand operand, uint32_t local, uint32_t part)
{
    SPICA_ANEW(part); /* or each of its multiples occupies a register */
    uint32_t at = operand.first + part * operand.each;
    at = at < operand.size ? at : operand.size - 1;
    const uint32_t rest = operand.size - at, elements = rest < operand.each ? rest : operand.each;
    spica_tile_load(local + hgmma_place(part, operand.bytes), operand.dram + at * operand.unit,
                    operand.shape + elements * operand.one);
}

SPICA_INLINE void hgmma_load(HgmmaOperand operand, uint32_t local)
{
    if (operand.size - operand.first < operand.each * operand.count) {
        for (uint32_t part = 0; part < operand.count; part++)
            hgmma_load_rest(operand, local, part);
        return;
    }
    const uint32_t step = operand.each * operand.unit;
    uint32_t dram = operand.dram + operand.first * operand.unit;
    for (int left = (int)operand.count; left > 0; left -= HGMMA_BANKS) {
        const int parts = left < HGMMA_BANKS ? left : HGMMA_BANKS;
        spica_tile_loads(local, dram, operand.shape + operand.each * operand.one, (uint32_t)parts,
                         HGMMA_BANK_BYTES, step);
        local += operand.bytes;
        dram += HGMMA_BANKS * step;
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
        .each = HGMMA_CORE_M,
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
        .each = HGMMA_SIDE,
        .count = HGMMA_ACROSS,
        .bytes = HGMMA_OPERAND,
        .shape = hgmma_depth(product->k - k),
        .one = HGMMA_BYTES << 16,
    };
    hgmma_load(b, at->slot + HGMMA_A_BYTES);
}

/* Commands the loads of a step that is within the matrices. */
static __attribute__((noinline)) void hgmma_copy_full(void)
{
    hgmma_at()->full--;
    hgmma_start(&hgmma_a_, SPICA_CORES);
    hgmma_start(&hgmma_b_, HGMMA_ACROSS);
}

/* Prepares the copies of a tile of C. */
static __attribute__((noinline)) void hgmma_enter(void)
{
    volatile HgmmaCommands *at = hgmma_at();
    const Hgmma *product = HGMMA;
    const uint32_t row = at->row, column = at->column, slot = at->slot;
    at->full = 0;
    if (!HGMMA_IS_REGULAR || row + HGMMA_M > product->m || column + HGMMA_N > product->n)
        return;
    at->full = product->k / HGMMA_DEPTH;
    const uint32_t a_pitch = product->a_pitch * HGMMA_BYTES, b_pitch = product->b_pitch * HGMMA_BYTES;
    hgmma_describe(&hgmma_a_, (uint32_t)product->a + row * a_pitch, a_pitch, slot);
    hgmma_describe(&hgmma_b_, (uint32_t)product->b + column * HGMMA_BYTES, b_pitch,
                   slot + HGMMA_A_BYTES);
}

/* Advances to the next step; returns whether it is the first of a tile of C. */
static __attribute__((noinline)) int hgmma_advance(void)
{
    volatile HgmmaCommands *at = hgmma_at();
    const uint32_t slot = at->slot + HGMMA_SLOT_BYTES, k = at->k + HGMMA_DEPTH;
    const uint32_t commanded = at->commanded + 1, rest = at->rest - 1;
    const int is_last = slot == HGMMA_SLOTS * HGMMA_SLOT_BYTES;
    at->slot = is_last ? 0 : slot;
    if (is_last)
        hgmma_begin_ring();
    at->commanded = commanded;
    at->rest = rest;
    at->k = k;
    if (k < HGMMA->k)
        return 0;
    at->k = 0;
    at->column += HGMMA_N;
    if (at->column >= HGMMA->n) {
        at->column = 0;
        at->row += HGMMA_M;
    }
    return 1;
}

/* Steps that a group of `turns` turns has read, and steps whose operands it has from then on. */
SPICA_INLINE uint32_t hgmma_read(uint32_t turns)
{
    return turns ? (turns - 1) * HGMMA_TURN + 1 : 0;
}

SPICA_INLINE uint32_t hgmma_needed(uint32_t turns)
{
    const uint32_t steps = turns * HGMMA_TURN + 1, rounds = hgmma_at()->rounds;
    return steps < rounds ? steps : rounds;
}

/* Commands the loads of the next step, if there is one and its slot is free. */
SPICA_INLINE void hgmma_copy_ahead(void)
{
    const volatile HgmmaCommands *at = hgmma_at();
    const uint32_t first = at->turns[0], last = at->turns[HGMMA_GROUPS - 1];
    const uint32_t rest = at->rest, commanded = at->commanded;
    uint32_t slots = HGMMA_SLOTS;
    SPICA_ANEW(slots); /* or the constant occupies a register */
    if (!rest || commanded - hgmma_read(last < first ? last : first) >= slots)
        return;
    if (at->full) {
        hgmma_copy_full();
    } else {
        hgmma_copy_a();
        hgmma_copy_b();
    }
    if (hgmma_advance())
        hgmma_enter();
}

/* Group of the warp, read anew at each use: warps have no registers left for it. */
SPICA_INLINE uint32_t hgmma_group(void)
{
    return HGMMA_GROUPS > 1 ? vx_warp_id() & 1 : 0;
}

/* Whether the warp leads its group, and whether it commands the DMA. */
SPICA_INLINE int hgmma_leads(void)
{
    return vx_core_id() == 0 && vx_warp_id() < HGMMA_GROUPS;
}

SPICA_INLINE int hgmma_commands(void)
{
    return vx_core_id() == 0 && vx_warp_id() == 0;
}

/* Waits until the steps that the group has after `turns` turns are in their slots. */
SPICA_INLINE void hgmma_await(uint32_t turns)
{
    const uint32_t needed = hgmma_needed(turns);
    if (hgmma_group() == 0) {
        while (hgmma_at()->commanded < needed)
            hgmma_copy_ahead();
    }
    spica_tile_await(hgmma_at()->loads + needed * SPICA_CONSTANT(HGMMA_LOADS));
}

/* Waits until group 0 is ahead, or makes its last turn. */
SPICA_INLINE void hgmma_follow(void)
{
    const uint32_t turns = HGMMA_BLOCKS(hgmma_at()->rounds - 1, HGMMA_TURN);
    const uint32_t lead = turns < HGMMA_LEAD ? turns : HGMMA_LEAD;
    uint32_t one = 1;
    while (hgmma_at()->turns[0] < lead)
        __asm__ volatile("divu %0, %0, %0" : "+r"(one)); /* several cycles and one instruction */
}

SPICA_INLINE void hgmma_meet(void)
{
    spica_meet(hgmma_group(), HGMMA_GROUP_WARPS);
}

/* Begins the copies. The first step of the group is in shared memory afterwards. */
SPICA_INLINE void hgmma_begin(void)
{
    if (hgmma_commands()) {
        hgmma_at()->row = hgmma_at()->column = 0;
        hgmma_at()->k = 0;
        hgmma_at()->slot = 0;
        hgmma_at()->rounds = hgmma_at()->rest = hgmma_rounds();
        hgmma_at()->commanded = 0;
        hgmma_at()->loads = *(volatile uint32_t *)SPICA_DMA_LOADS_DONE;
        for (int each = 0; each < HGMMA_GROUPS; each++)
            hgmma_at()->turns[each] = 0;
        hgmma_begin_descriptors();
        hgmma_enter();
        hgmma_copy_ahead();
    }
    if (HGMMA_GROUPS > 1)
        spica_meet(0, SPICA_WARPS);
    if (hgmma_leads()) {
        if (hgmma_group())
            hgmma_follow();
        hgmma_await(0);
    }
    hgmma_meet();
}

/* Waits for the operands that the group has after its next turn. */
SPICA_INLINE void hgmma_before_turn(void)
{
    if (hgmma_leads())
        hgmma_await(hgmma_at()->turns[hgmma_group()] + 1);
}

/* Meets the other warps of the group. */
SPICA_INLINE void hgmma_turn(void)
{
    hgmma_meet();
    if (hgmma_leads())
        hgmma_at()->turns[hgmma_group()]++;
}

#endif
