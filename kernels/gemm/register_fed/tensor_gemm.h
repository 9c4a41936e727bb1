/* Product on tensor units: C = A * B.
 *
 * All warps multiply tile by tile. Fragments of a step are fetched while the tensor unit works on
 * other warps' steps. In each tile the warps of all cores have one barrier: the next tile is in
 * shared memory then, and all have read the previous one, whose slot is free. Fragments are already
 * fetched, so that the tensor units resume at once. Group 0 waits before the last step of a tile,
 * group 1 before the second. Copies run ahead across tiles of C. */
#ifndef TENSOR_GEMM_H
#define TENSOR_GEMM_H

#include "tensor_rounds.h"
#if SPICA_HAS_DMA
#include "tensor_dma.h"
#else
#include "tensor_cores.h"
#endif
#include "tensor_arrange.h"
#include "tensor_store.h"

/* Multiplies a step of a full tile and fetches the next; copies a piece meanwhile. */
#define TENSOR_STEP_(number)                                                                     \
    if (TENSOR_STEPS > (number) + 1) {                                                           \
        TensorWords words_;                                                                      \
        if (TENSOR_PIECES > (number) + 1)                                                        \
            words_ = tensor_take(copies, (number) + 1);                                          \
        TENSOR_MULTIPLY(*at, (number)*FRAGMENT_BYTES);                                           \
        if (TENSOR_PIECES > (number) + 1)                                                        \
            tensor_put(copies, (number) + 1, words_);                                            \
        TENSOR_FETCH(*at, ((number) + 1) * FRAGMENT_BYTES);                                      \
    }

/* Copies pieces from `first` on. */
SPICA_INLINE void tensor_copy_rest(const TensorCopies *copies, int first)
{
#pragma unroll
    for (int piece = first; piece < TENSOR_PIECES; piece++)
        tensor_put(copies, piece, tensor_take(copies, piece));
}

/* Multiplies a full tile, except its last step. */
SPICA_INLINE void tensor_multiply_full(const TensorPlace *at, TensorCopies *copies, uint32_t rest,
                                       int group)
{
    TENSOR_STEP_(0)
    if (group && rest > 1)
        tensor_turn(copies, group);
    TENSOR_STEP_(1)
    TENSOR_STEP_(2)
    tensor_copy_rest(copies, TENSOR_STEPS);
}

/* All tiles. The first one is there. */
SPICA_INLINE void tensor_multiply(TensorCopies copies, const int group)
{
    TensorPlace at = tensor_first_place();
    uint32_t slot = 0, rest = tensor_rounds(), i = 0, j = 0, left = tensor_steps();
    TENSOR_FETCH(at, 0);
    tensor_clear();
    for (;;) {
        const uint32_t steps = left < TENSOR_STEPS ? left : TENSOR_STEPS;
        if (steps == TENSOR_STEPS) {
            tensor_multiply_full(&at, &copies, rest, group);
            tensor_move(&at, (TENSOR_STEPS - 1) * FRAGMENT_BYTES);
        } else {
            if (group && rest > 1)
                tensor_turn(&copies, group);
            for (uint32_t step = 1; step < steps; step++) {
                TENSOR_MULTIPLY(at, 0);
                tensor_move(&at, FRAGMENT_BYTES);
                TENSOR_FETCH(at, 0);
            }
            tensor_copy_rest(&copies, 1);
        }
        rest--;
        if (rest) {
            if (!group)
                tensor_turn(&copies, 0);
            TensorWords words;
            if (TENSOR_PIECES)
                words = tensor_take(&copies, 0);
            TENSOR_MULTIPLY(at, 0);
            if (TENSOR_PIECES)
                tensor_put(&copies, 0, words);
            uint32_t back = (steps - 1) * FRAGMENT_BYTES;
            SPICA_ANEW(back); /* or a sum of constants occupies a register */
            if (++slot == TENSOR_SLOTS) {
                slot = 0;
                back += SPICA_CONSTANT((TENSOR_SLOTS - 1) * TENSOR_SLOT_BYTES);
            } else {
                back -= SPICA_CONSTANT(TENSOR_SLOT_BYTES);
            }
            tensor_move(&at, -back);
            TENSOR_FETCH(at, 0);
        } else {
            TENSOR_MULTIPLY(at, 0);
        }
        left -= steps;
        if (left)
            continue;
        tensor_store(i, j);
        if (!rest)
            break;
        tensor_clear();
        left = tensor_steps();
        if (++j == tensor_tiles_across()) {
            j = 0;
            i++;
        }
    }
}

SPICA_INLINE void tensor_run(void)
{
    spica_begin();
    if (TENSOR->options & TENSOR_ARRANGE)
        tensor_arrange();
    const TensorCopies copies = tensor_begin();
    if (TENSOR_GROUPS > 1 && (vx_warp_id() & 1))
        tensor_multiply(copies, 1);
    else
        tensor_multiply(copies, 0);
    vx_fence();
    spica_end();
}

#endif
