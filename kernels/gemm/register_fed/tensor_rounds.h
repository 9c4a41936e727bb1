/* Numbers of steps and tiles of a product. */
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

#endif
