/* Copies of tiles from DRAM to slots of shared memory by the cores, through integer registers.
 *
 * With a few whole pieces for each warp, it copies those of the tile after the next between two
 * turns, piece by piece: it takes the words of a piece before it multiplies a step, and puts them
 * into shared memory after. The warps side by side share a panel of A, those below each other two
 * panels of B. With other numbers of pieces, a warp copies all of them at once after each turn. */
#ifndef TENSOR_CORES_H
#define TENSOR_CORES_H

#include <spica_meet.h>

#include "tensor_positions.h"

enum {
    TENSOR_GROUPS = 1, /* all warps copy for all, so a barrier has all warps */
    TENSOR_A_PIECES = PANEL_PIECES / TENSOR_ACROSS,
    TENSOR_B_PIECES = 2 * PANEL_PIECES / TENSOR_DOWN,
    /* Whether every warp has a few whole pieces, whose position fits its registers. With few warps
     * the numbers of its panels would need more of them. */
    TENSOR_IS_SPREAD = PANEL_PIECES % TENSOR_ACROSS == 0 && 2 * PANEL_PIECES % TENSOR_DOWN == 0 &&
                       TENSOR_A_PIECES + TENSOR_B_PIECES <= 3 && SPICA_WARPS >= 8,
    /* Pieces of a warp that it copies one by one. */
    TENSOR_PIECES = TENSOR_IS_SPREAD ? TENSOR_A_PIECES + TENSOR_B_PIECES : 0,
};

/* Copies of a lane: DRAM addresses of its words in the warp's first pieces of A and B, places of
 * these in shared memory, steps left along k, tile of C, and slot. After the last tile the position
 * stays, and the tile is copied again. */
typedef struct {
    uint32_t a, b, a_place, b_place, left, i, j, slot;
} TensorCopies;

/* First piece of A of the warp, and piece n of B. */
SPICA_INLINE uint32_t tensor_a_piece(void)
{
    return tensor_across() * TENSOR_A_PIECES;
}

SPICA_INLINE uint32_t tensor_b_piece(int n)
{
    return tensor_down() + n * SPICA_CONSTANT(TENSOR_DOWN);
}

/* Panel of piece n of B. */
SPICA_INLINE uint32_t tensor_b_panel(int n)
{
    uint32_t odd = tensor_b_piece(n) / PANEL_PIECES;
    SPICA_ANEW(odd); /* or masks occupy registers */
    return tensor_across() + odd * TENSOR_ACROSS;
}

/* Bytes before piece n of B in its panel. */
SPICA_INLINE uint32_t tensor_b_within(int n)
{
    uint32_t piece = tensor_b_piece(n) % PANEL_PIECES;
    SPICA_ANEW(piece);
    return piece * PIECE_BYTES;
}

SPICA_INLINE uint32_t tensor_b_offset(int n)
{
    return tensor_b_panel(n) * (tensor_steps() * FRAGMENT_BYTES) + tensor_b_within(n);
}

SPICA_INLINE uint32_t tensor_b_target(int n)
{
    return tensor_b_place(tensor_b_panel(n)) + tensor_b_within(n);
}

/* Sets the addresses at the beginning of a tile of C. */
SPICA_INLINE void tensor_seek(TensorCopies *at)
{
    const uint32_t pitch = tensor_steps() * FRAGMENT_BYTES, lane = 4 * vx_thread_id();
    at->a = (uint32_t)TENSOR->a_fragments + lane + tensor_a_piece() * PIECE_BYTES +
            (at->i * TENSOR_DOWN + tensor_down()) * pitch;
    at->b = (uint32_t)TENSOR->b_fragments + lane + at->j * 2 * TENSOR_ACROSS * pitch +
            tensor_b_offset(0);
    at->left = tensor_steps();
}

SPICA_INLINE TensorWords tensor_take(const TensorCopies *at, int piece)
{
    uint32_t from = at->a + piece * PIECE_BYTES;
    if (piece >= TENSOR_A_PIECES) {
        from = at->b;
        if (piece > TENSOR_A_PIECES)
            from += tensor_b_offset(piece - TENSOR_A_PIECES) - tensor_b_offset(0);
    }
    return tensor_load_piece(from);
}

SPICA_INLINE void tensor_put(const TensorCopies *at, int piece, TensorWords words)
{
    uint32_t to = at->a_place + piece * PIECE_BYTES;
    if (piece >= TENSOR_A_PIECES) {
        to = at->b_place;
        if (piece > TENSOR_A_PIECES)
            to += tensor_b_target(piece - TENSOR_A_PIECES) - tensor_b_target(0);
    }
    tensor_store_piece(to, words);
}

/* Advances to the next tile and the next slot. */
SPICA_INLINE void tensor_advance(TensorCopies *at)
{
    if (++at->slot == TENSOR_SLOTS) {
        at->slot = 0;
        at->a_place -= SPICA_CONSTANT((TENSOR_SLOTS - 1) * TENSOR_SLOT_BYTES);
        at->b_place -= SPICA_CONSTANT((TENSOR_SLOTS - 1) * TENSOR_SLOT_BYTES);
    } else {
        at->a_place += SPICA_CONSTANT(TENSOR_SLOT_BYTES);
        at->b_place += SPICA_CONSTANT(TENSOR_SLOT_BYTES);
    }
    if (at->left > TENSOR_STEPS) {
        at->left -= TENSOR_STEPS;
        at->a += TENSOR_PANEL_BYTES;
        at->b += TENSOR_PANEL_BYTES;
        return;
    }
    if (at->j + 1 < tensor_tiles_across())
        at->j++;
    else if ((at->i + 1) * TENSOR_M < TENSOR->m)
        at->i++, at->j = 0;
    else
        return;
    tensor_seek(at);
}

/* Copies the first tile, or the first two. */
SPICA_INLINE TensorCopies tensor_begin(void)
{
    if (!TENSOR_IS_SPREAD) {
        tensor_copy_first();
        spica_meet(0, SPICA_WARPS);
        return (TensorCopies){};
    }
    const uint32_t lane = SPICA_SHARED_BASE + 4 * vx_thread_id();
    TensorCopies at = {
        .a_place = lane + tensor_a_place(tensor_down()) + tensor_a_piece() * PIECE_BYTES,
        .b_place = lane + tensor_b_target(0),
    };
    tensor_seek(&at);
#pragma unroll
    for (int piece = 0; piece < TENSOR_PIECES; piece++)
        tensor_put(&at, piece, tensor_take(&at, piece));
    tensor_advance(&at);
    tensor_put(&at, 0, tensor_take(&at, 0));
    spica_meet(0, SPICA_WARPS);
    return at;
}

/* Loads and stores of cores that fail are faults. */
SPICA_INLINE int tensor_copy_error(void)
{
    return 0;
}

/* Barrier of all warps: the next tile is there, and the one after it can be copied. */
SPICA_INLINE void tensor_turn(TensorCopies *at, int group)
{
    (void)group;
    spica_meet(0, SPICA_WARPS);
    if (TENSOR_IS_SPREAD)
        tensor_advance(at);
    else
        tensor_copy_tile();
}

#endif
