/* Numbers of steps and tiles of a product, and the meeting of all warps. */
#ifndef TENSOR_ROUNDS_H
#define TENSOR_ROUNDS_H

#include "tensor_sizes.h"

/* Instructions along k. */
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

/* Waits for `warps` warps of each core, and for the accesses of this warp. Warp `first` of each core
 * takes part, and no two groups of warps have the same one. */
SPICA_INLINE void tensor_meet(uint32_t first, uint32_t warps)
{
    const uint32_t barrier = SPICA_BARRIER_ALL - first;
    vx_barrier(barrier, warps);
#if !SPICA_BARRIERS_OF_CLUSTER && SPICA_CORES > 1
    if (vx_warp_id() == first)
        vx_barrier(0x80000000u | barrier, SPICA_CORES);
    vx_barrier(barrier, warps);
#endif
}

#endif
