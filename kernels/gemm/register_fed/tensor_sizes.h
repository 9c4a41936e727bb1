/* Operands of a product on tensor units, tile sizes, and places of tiles in shared memory.
 *
 * A warp computes 8 x 16 elements of C, all warps together a tile. Fragments are the 8 registers of
 * A or B of one instruction, FRAGMENT_BYTES. A panel is the fragments of one block of 8 rows of A or
 * 8 columns of B along k. Panel p of a tile is in bank p modulo TENSOR_BANKS, so that the cores read
 * from all banks at a time. Each bank has a part of every slot; slots are a ring.
 *
 * `plan.py` chooses the warps of a tile side by side (TENSOR_ACROSS), its instructions along k
 * (TENSOR_STEPS) and the slots (TENSOR_SLOTS). */
#ifndef TENSOR_SIZES_H
#define TENSOR_SIZES_H

#include <spica.h>
#include <spica_parallel.h>

/* Rows of M x K, K x N and M x N elements; pitches in elements, at least a row. */
typedef struct {
    uint32_t m, n, k;
    const char *a, *b;
    char *c;
    uint32_t a_pitch, b_pitch, c_pitch;
    uint32_t options;
    char *a_fragments, *b_fragments; /* operands in the order of fragments */
} Tensor;

#define TENSOR ((const Tensor *)spica_arguments())
/* Options: C is FP32; TENSOR_ARRANGE: the program arranges the operands as fragments. */
#define TENSOR_WIDE SPICA_LOOP_FULL_C

#define TENSOR_BLOCKS(size, block) (((size) + (block)-1) / (block))

enum {
    TENSOR_LANES = 8,
    TENSOR_WARPS = SPICA_WARPS * SPICA_CORES,
    TENSOR_PER_WORD = 32 / SPICA_TENSOR_OPERAND_BITS, /* elements of a word */
    TENSOR_DEPTH = 8 * TENSOR_PER_WORD,               /* elements of k of an instruction */
    FRAGMENT_BYTES = 8 * 4 * TENSOR_LANES,
    TENSOR_DOWN = TENSOR_WARPS / TENSOR_ACROSS, /* warps of a tile, one below the other */
    TENSOR_M = 8 * TENSOR_DOWN,
    TENSOR_N = 16 * TENSOR_ACROSS,
    TENSOR_BANKS = SPICA_CONFIG_SHARED_BANKS,
    TENSOR_BANK_BYTES = SPICA_SHARED_BYTES / TENSOR_BANKS,
    /* Panels of a tile in each bank, rounded up; descriptors of the DMA that load them. */
    TENSOR_A_PANELS = TENSOR_BLOCKS(TENSOR_DOWN, TENSOR_BANKS),
    TENSOR_B_PANELS = TENSOR_BLOCKS(2 * TENSOR_ACROSS, TENSOR_BANKS),
    TENSOR_PANELS = TENSOR_A_PANELS + TENSOR_B_PANELS,
    TENSOR_PANEL_BYTES = TENSOR_STEPS * FRAGMENT_BYTES,
    TENSOR_SLOT_BYTES = TENSOR_PANELS * TENSOR_PANEL_BYTES, /* in each bank */
};

/* Place of a panel in the first slot, as an offset from the start of shared memory. */
SPICA_INLINE uint32_t tensor_a_place(uint32_t panel)
{
    uint32_t row = panel / TENSOR_BANKS;
    SPICA_ANEW(row); /* or masks of merged shifts occupy registers */
    return panel % TENSOR_BANKS * TENSOR_BANK_BYTES + row * TENSOR_PANEL_BYTES;
}

SPICA_INLINE uint32_t tensor_b_place(uint32_t panel)
{
    return TENSOR_A_PANELS * TENSOR_PANEL_BYTES + tensor_a_place(panel);
}

/* Number of the warp; warps of different cores follow each other. */
SPICA_INLINE uint32_t tensor_warp(void)
{
    return vx_warp_id() * SPICA_CORES + vx_core_id();
}

/* Block of 8 rows and block of 16 columns of the tile that the warp computes. Warps of different
 * cores that run at the same time read from different banks. */
SPICA_INLINE uint32_t tensor_down(void)
{
    uint32_t row = vx_warp_id() / TENSOR_ACROSS;
    SPICA_ANEW(row); /* as in tensor_a_place */
    row *= SPICA_CORES;
    SPICA_ANEW(row);
    return vx_core_id() + row;
}

SPICA_INLINE uint32_t tensor_across(void)
{
    uint32_t column = (vx_core_id() + vx_warp_id()) % TENSOR_ACROSS;
    SPICA_ANEW(column);
    return column;
}

#endif
