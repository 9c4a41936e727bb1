/* Tile sizes of a product on tensor units that read shared memory, and places of operands there.
 *
 * A warp computes 16 x 16 elements of C, all warps together a tile. A step is one instruction along
 * k. Its operands are 16 rows of A, 64 bytes each, and HGMMA_DEPTH rows of B with 16 elements, 1024
 * bytes. The warps of a core have HGMMA_DOWN blocks of rows, the same HGMMA_ACROSS blocks of columns
 * as those of other cores. Rows of core c are in bank c modulo HGMMA_BANKS, columns of block j in
 * bank j modulo HGMMA_BANKS. Each bank has a part of every slot; slots are a ring, one per step.
 *
 * `plan.py` chooses the warps of a core side by side (HGMMA_ACROSS) and the slots (HGMMA_SLOTS). */
#ifndef HGMMA_SIZES_H
#define HGMMA_SIZES_H

#include <spica.h>
#include <spica_parallel.h>

/* Rows of M x K, K x N and M x N elements; pitches in elements, at least a row. */
typedef struct {
    uint32_t m, n, k;
    const char *a, *b;
    char *c;
    uint32_t a_pitch, b_pitch, c_pitch;
    uint32_t options;
} Hgmma;

/* Loaded at each use: warps have no register left for it. */
#define HGMMA ((const Hgmma *)SPICA_CONSTANT(SPICA_ARGUMENTS))
/* Option: C is FP32. */
#define HGMMA_WIDE SPICA_LOOP_FULL_C

#define HGMMA_BLOCKS(size, block) (((size) + (block)-1) / (block))

enum {
    HGMMA_SIDE = 16,
    HGMMA_BYTES = SPICA_HGMMA_OPERAND_BITS / 8, /* of an element of A and B */
    HGMMA_A_ROW = 64,
    HGMMA_B_ROW = HGMMA_SIDE * HGMMA_BYTES,
    HGMMA_DEPTH = HGMMA_A_ROW / HGMMA_BYTES,
    HGMMA_OPERAND = HGMMA_SIDE * HGMMA_A_ROW,
    HGMMA_DOWN = SPICA_WARPS / HGMMA_ACROSS, /* warps of a core, one below the other */
    HGMMA_CORE_M = HGMMA_SIDE * HGMMA_DOWN, /* rows of a core */
    HGMMA_M = HGMMA_CORE_M * SPICA_CORES,
    HGMMA_N = HGMMA_SIDE * HGMMA_ACROSS,
    HGMMA_BANKS = SPICA_CONFIG_SHARED_BANKS,
    HGMMA_BANK_BYTES = SPICA_SHARED_BYTES / HGMMA_BANKS,
    /* Bytes of a core's rows; of all rows and of all columns in each bank, rounded up; of a slot. */
    HGMMA_ROWS_BYTES = HGMMA_DOWN * HGMMA_OPERAND,
    HGMMA_A_BYTES = HGMMA_BLOCKS(SPICA_CORES, HGMMA_BANKS) * HGMMA_ROWS_BYTES,
    HGMMA_B_BYTES = HGMMA_BLOCKS(HGMMA_ACROSS, HGMMA_BANKS) * HGMMA_OPERAND,
    HGMMA_SLOT_BYTES = HGMMA_A_BYTES + HGMMA_B_BYTES,
};

/* Place of part `number` of an operand in a slot, if parts of `bytes` bytes are dealt to the banks. */
SPICA_INLINE uint32_t hgmma_place(uint32_t number, uint32_t bytes)
{
    return number % HGMMA_BANKS * HGMMA_BANK_BYTES + number / HGMMA_BANKS * bytes;
}

/* Block of rows of the core, and block of columns of the tile that the warp computes. Warps of the
 * same number in different cores read different banks. */
SPICA_INLINE uint32_t hgmma_down(void)
{
    return vx_warp_id() / HGMMA_ACROSS;
}

SPICA_INLINE uint32_t hgmma_across(void)
{
    return (vx_core_id() + vx_warp_id()) % HGMMA_ACROSS;
}

/* Instructions along k. */
SPICA_INLINE uint32_t hgmma_steps(void)
{
    return HGMMA_BLOCKS(HGMMA->k, HGMMA_DEPTH);
}

/* Steps of all tiles. */
SPICA_INLINE uint32_t hgmma_rounds(void)
{
    const uint32_t m = SPICA_CONSTANT(HGMMA_M), n = HGMMA_N;
    return HGMMA_BLOCKS(HGMMA->m, m) * HGMMA_BLOCKS(HGMMA->n, n) * hgmma_steps();
}

#endif
