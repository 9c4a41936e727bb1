/* Numbers of steps and tiles of a product, and the meeting of all warps. */
#ifndef TENSOR_ROUNDS_H
#define TENSOR_ROUNDS_H

#include "tensor_sizes.h"

/* Instructions along k. */
SPICA_INLINE uint32_t tensor_steps(void)
{
    uint32_t steps = TENSOR_BLOCKS(TENSOR->k, TENSOR_DEPTH);
    SPICA_ANEW(steps); /* as in tensor_a_place */
    return steps;
}

SPICA_INLINE uint32_t tensor_tiles_across(void)
{
    uint32_t tiles = TENSOR_BLOCKS(TENSOR->n, TENSOR_N);
    SPICA_ANEW(tiles);
    return tiles;
}

SPICA_INLINE uint32_t tensor_tiles_down(void)
{
    uint32_t tiles = TENSOR_BLOCKS(TENSOR->m, TENSOR_M);
    SPICA_ANEW(tiles);
    return tiles;
}

SPICA_INLINE uint32_t tensor_tiles(void)
{
    return tensor_tiles_down() * tensor_tiles_across();
}

/* All tiles of operands. */
SPICA_INLINE uint32_t tensor_rounds(void)
{
    return tensor_tiles() * TENSOR_BLOCKS(tensor_steps(), TENSOR_STEPS);
}

/* Waits for `warps` warps of each core, and for the accesses of this warp. Warp `first` of each core
 * takes part, and no two groups of warps have the same one. */
SPICA_INLINE void tensor_meet(uint32_t first, uint32_t warps)
{
    const uint32_t barrier = SPICA_BARRIER_ALL - first;
    vx_barrier(barrier, warps);
#if !SPICA_BARRIERS_OF_CLUSTER && SPICA_CORES > 1
    if (vx_warp_id() == first)
        vx_barrier(SPICA_CONSTANT(0x80000000u | barrier), SPICA_CORES);
    vx_barrier(barrier, warps);
#endif
}

#endif
