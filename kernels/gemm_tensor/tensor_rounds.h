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

/* Waits for all warps of all cores, and for the accesses of this warp. */
SPICA_INLINE void tensor_meet(void)
{
    vx_barrier(SPICA_BARRIER_ALL, SPICA_WARPS);
#if !SPICA_BARRIERS_OF_CLUSTER && SPICA_CORES > 1
    if (vx_warp_id() == 0)
        vx_barrier(0x80000000u | SPICA_BARRIER_ALL, SPICA_CORES);
    vx_barrier(SPICA_BARRIER_ALL, SPICA_WARPS);
#endif
}

#endif
