/* Pieces of tiles that a core copies through integer registers: four rows of a panel each. */
#ifndef TENSOR_PIECES_H
#define TENSOR_PIECES_H

#include "tensor_rounds.h"

enum {
    PIECE_ROWS = 4,
    PIECE_BYTES = PIECE_ROWS * 4 * TENSOR_LANES,
    PANEL_PIECES = TENSOR_PANEL_BYTES / PIECE_BYTES,
};

typedef struct {
    uint32_t word[PIECE_ROWS];
} TensorWords;

/* Words of a piece in DRAM, of this lane; `from` is the address of the first. */
SPICA_INLINE TensorWords tensor_load_piece(uint32_t from)
{
    TensorWords words;
#pragma unroll
    for (int row = 0; row < PIECE_ROWS; row++)
        words.word[row] = ((const uint32_t *)from)[row * TENSOR_LANES];
    return words;
}

/* Puts them into shared memory. */
SPICA_INLINE void tensor_store_piece(uint32_t to, TensorWords words)
{
#pragma unroll
    for (int row = 0; row < PIECE_ROWS; row++)
        ((uint32_t *)to)[row * TENSOR_LANES] = words.word[row];
}

#endif
