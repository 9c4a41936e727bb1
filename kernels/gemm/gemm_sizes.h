/* Operands of a product, and the tile sizes and ranges of shared memory that the config gives. */
#ifndef GEMM_SIZES_H
#define GEMM_SIZES_H

#include <virgo.h>

/* Range of shared memory for this program, from its start. A program for several matrix units gives
 * each its own range, at a multiple of the bytes of its blocks. */
#ifndef GEMM_FIRST
#define GEMM_FIRST 0
#define GEMM_SHARED_BYTES SPICA_SHARED_BYTES
#endif

/* Whether the cores finish C. */
#ifndef GEMM_FINISHED
#define GEMM_FINISHED 0
#endif

/* Whether warp 1 loads; at least one warp must then remain to finish C. */
#define GEMM_LOADERS (SPICA_WARPS > 1 && SPICA_WARPS * SPICA_CORES > 1 + GEMM_FINISHED)

/* Rows of M x K, K x N and M x N elements; pitches in elements, at least a row. */
typedef struct {
    uint32_t m, n, k;
    const char *a, *b;
    char *c;
    uint32_t a_pitch, b_pitch, c_pitch;
    uint32_t options; /* options of virgo_store */
} Gemm;

enum {
    GEMM_M = VIRGO_TILE_M,
    /* If a block is wider than its elements, a row of several blocks is not dense in DRAM. */
    GEMM_N = VIRGO_B_BLOCK > VIRGO_COLUMNS * VIRGO_OPERAND_BYTES ? VIRGO_COLUMNS : VIRGO_TILE_N,
    GEMM_LEAST_CYCLES = 1000, /* least duration of a compute: longer than its commands and loads */
    GEMM_ALL_CHANNELS =
        SPICA_CONFIG_AXI_MASTERS * SPICA_CONFIG_AXI_INTERLEAVE_BYTES / VIRGO_OPERAND_BYTES,
    GEMM_ALL_COMMANDS =
        VIRGO_BLOCKS(GEMM_LEAST_CYCLES * VIRGO_ROWS * VIRGO_COLUMNS, VIRGO_TILE_M * VIRGO_TILE_N),
    GEMM_SHORTEST =
        VIRGO_B_ROWS(GEMM_ALL_CHANNELS > GEMM_ALL_COMMANDS ? GEMM_ALL_CHANNELS : GEMM_ALL_COMMANDS),
    GEMM_WANTED = VIRGO_A_BLOCK > VIRGO_ROWS * VIRGO_OPERAND_BYTES ? VIRGO_ROWS
                  : GEMM_SHORTEST < VIRGO_TILE_K                     ? GEMM_SHORTEST
                                                                     : VIRGO_TILE_K,
    /* The tile of C that the cores finish is at the end, operands before it: half for each, or in
     * proportion to their blocks along K. */
    GEMM_C_BYTES = GEMM_M * VIRGO_BLOCKS(GEMM_N, VIRGO_COLUMNS) * VIRGO_COLUMNS * VIRGO_WIDE_BYTES,
    GEMM_C_PLACE = GEMM_SHARED_BYTES - GEMM_FINISHED * GEMM_C_BYTES,
    GEMM_A_BLOCKS = GEMM_M * VIRGO_A_BLOCK,
    GEMM_B_BLOCKS = VIRGO_ROWS * VIRGO_B_PITCH(GEMM_N),
    GEMM_A_PART = GEMM_C_PLACE / (GEMM_A_BLOCKS + GEMM_B_BLOCKS) * GEMM_A_BLOCKS,
    GEMM_A_ROOM = GEMM_FINISHED ? GEMM_A_PART / VIRGO_B_BLOCK * VIRGO_B_BLOCK : GEMM_C_PLACE / 2,
    GEMM_B_ROOM = GEMM_C_PLACE - GEMM_A_ROOM,
    /* Two slots of each operand must fit: blocks along K such that the operand's range holds two
     * tiles. */
    GEMM_A_FIT = GEMM_A_ROOM / 2 / GEMM_A_BLOCKS * VIRGO_ROWS,
    GEMM_B_FIT = GEMM_B_ROOM / 2 / GEMM_B_BLOCKS * VIRGO_ROWS,
    GEMM_FIT = GEMM_A_FIT < GEMM_B_FIT ? GEMM_A_FIT : GEMM_B_FIT,
    GEMM_K = GEMM_WANTED < GEMM_FIT ? GEMM_WANTED : GEMM_FIT,
    /* Loads in progress: as many as the DMA queues, so that none stalls its warp, and at least both
     * of one step, which are queued together. */
    GEMM_LOADS = SPICA_CONFIG_DMA_QUEUE > 2 ? SPICA_CONFIG_DMA_QUEUE : 2,
    GEMM_A_BYTES = GEMM_M * VIRGO_A_PITCH(GEMM_K),
    GEMM_B_BYTES = VIRGO_B_BYTES(GEMM_N, GEMM_K),
};
_Static_assert(GEMM_K > 0,
               "[larger shared.size] the range of each operand must hold two tiles of one block "
               "along K");

#endif
