/* Copies of whole tiles by the cores, with the position of each warp in memory: for machines on which
 * the pieces of a warp, or their addresses, would not fit its registers. */
#ifndef TENSOR_POSITIONS_H
#define TENSOR_POSITIONS_H

#include "tensor_pieces.h"

enum { TENSOR_TILE_PIECES = (TENSOR_DOWN + 2 * TENSOR_ACROSS) * PANEL_PIECES };

/* Position of a warp's copies, in the order in which tiles are multiplied. */
typedef struct {
    uint32_t a, b; /* DRAM addresses of the first panels of the tile */
    uint32_t left; /* fragments left along k */
    uint32_t i, j; /* tile of C */
    uint32_t slot; /* offset in each bank */
    uint32_t rest; /* tiles that are not copied yet */
} TensorPosition;

/* Start-up does not clear them. */
static volatile TensorPosition tensor_positions[TENSOR_WARPS] __attribute__((section(".unset")));

/* Copies the pieces of this warp: every piece whose number is its own modulo all warps. */
SPICA_INLINE void tensor_copy_pieces(const volatile TensorPosition *at)
{
#pragma unroll 1
    for (uint32_t piece = tensor_warp(); piece < TENSOR_TILE_PIECES; piece += TENSOR_WARPS) {
        const uint32_t within = piece % PANEL_PIECES * PIECE_BYTES + 4 * vx_thread_id();
        uint32_t panel = piece / PANEL_PIECES, from = at->a, to;
        SPICA_ANEW(panel); /* as in tensor_a_place */
        if (panel < TENSOR_DOWN) {
            to = tensor_a_place(panel);
        } else {
            panel -= TENSOR_DOWN;
            from = at->b;
            to = tensor_b_place(panel);
        }
        from += panel * (tensor_steps() * FRAGMENT_BYTES) + within;
        tensor_store_piece(SPICA_SHARED_BASE + at->slot + to + within, tensor_load_piece(from));
    }
}

/* Sets the addresses at the beginning of a tile of C. */
SPICA_INLINE void tensor_set_tile(volatile TensorPosition *at, uint32_t i, uint32_t j)
{
    const uint32_t pitch = tensor_steps() * FRAGMENT_BYTES;
    at->i = i;
    at->j = j;
    at->a = (uint32_t)TENSOR->a_fragments + i * TENSOR_DOWN * pitch;
    at->b = (uint32_t)TENSOR->b_fragments + j * 2 * TENSOR_ACROSS * pitch;
    at->left = tensor_steps();
}

/* Copies the next tile, if there is one. */
SPICA_INLINE void tensor_copy_tile(void)
{
    volatile TensorPosition *at = &tensor_positions[tensor_warp()];
    if (!at->rest)
        return;
    tensor_copy_pieces(at);
    at->rest--;
    const uint32_t slot = at->slot + SPICA_CONSTANT(TENSOR_SLOT_BYTES);
    at->slot = slot == SPICA_CONSTANT(TENSOR_SLOTS * TENSOR_SLOT_BYTES) ? 0 : slot;
    if (at->left > TENSOR_STEPS) {
        at->left -= TENSOR_STEPS;
        at->a += TENSOR_PANEL_BYTES;
        at->b += TENSOR_PANEL_BYTES;
    } else if (at->j + 1 < tensor_tiles_across()) {
        tensor_set_tile(at, at->i, at->j + 1);
    } else {
        tensor_set_tile(at, at->i + 1, 0);
    }
}

/* Copies the first two tiles. */
SPICA_INLINE void tensor_copy_first(void)
{
    volatile TensorPosition *at = &tensor_positions[tensor_warp()];
    at->slot = 0;
    at->rest = tensor_rounds();
    tensor_set_tile(at, 0, 0);
#pragma unroll 1
    for (int tile = 0; tile < 2; tile++)
        tensor_copy_tile();
}

#endif
