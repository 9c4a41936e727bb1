/* Product on tensor units: C = A * B.
 *
 * All warps multiply tile by tile. Fragments of a step are fetched while the tensor unit works on
 * other warps' steps. In each tile, before the last step, all warps of all cores meet: the next
 * tile is in shared memory then, and all have read the previous one, whose slot is free. Fragments
 * are already fetched, so that the tensor units resume at once. Copies run ahead across tiles of C.
 */
#ifndef TENSOR_GEMM_H
#define TENSOR_GEMM_H

#include "tensor_copy.h"
#include "tensor_store.h"

/* Waits for all warps of all cores. */
SPICA_INLINE void tensor_meet(void)
{
    vx_barrier(SPICA_BARRIER_ALL, SPICA_WARPS);
#if !SPICA_BARRIERS_OF_CLUSTER && SPICA_CORES > 1
    if (vx_warp_id() == 0)
        vx_barrier(0x80000000u | SPICA_BARRIER_ALL, SPICA_CORES);
    vx_barrier(SPICA_BARRIER_ALL, SPICA_WARPS);
#endif
}

/* Whether this warp commands the DMA. */
SPICA_INLINE int tensor_commands(void)
{
    return (vx_core_id() | vx_warp_id()) == 0;
}

/* Meets the other warps, and copies ahead: returns when the next tile is there. */
SPICA_INLINE void tensor_turn(void)
{
    if (tensor_commands())
        tensor_await_tile();
    tensor_meet();
    if (tensor_commands()) {
        tensor_copy_ahead(2);
        tensor_copies.free++; /* after the next turn, the slot of this tile */
    }
}

/* Multiplies a full tile, except its last step. */
SPICA_INLINE void tensor_multiply_full(const TensorPlace *at)
{
    if (TENSOR_STEPS > 1) {
        TENSOR_MULTIPLY(*at, 0);
        TENSOR_FETCH(*at, FRAGMENT_BYTES);
    }
    if (TENSOR_STEPS > 2) {
        TENSOR_MULTIPLY(*at, FRAGMENT_BYTES);
        TENSOR_FETCH(*at, 2 * FRAGMENT_BYTES);
    }
    if (TENSOR_STEPS > 3) {
        TENSOR_MULTIPLY(*at, 2 * FRAGMENT_BYTES);
        TENSOR_FETCH(*at, 3 * FRAGMENT_BYTES);
    }
}

/* All tiles. The first one is there. */
SPICA_INLINE void tensor_multiply(void)
{
    TensorPlace at = tensor_first_place();
    uint32_t slot = 0, rest = tensor_rounds(), i = 0, j = 0, left = tensor_steps();
    TENSOR_FETCH(at, 0);
    tensor_clear();
    for (;;) {
        const uint32_t steps = left < TENSOR_STEPS ? left : TENSOR_STEPS;
        if (steps == TENSOR_STEPS) {
            tensor_multiply_full(&at);
            tensor_move(&at, (TENSOR_STEPS - 1) * FRAGMENT_BYTES);
        } else {
            for (uint32_t step = 1; step < steps; step++) {
                TENSOR_MULTIPLY(at, 0);
                tensor_move(&at, FRAGMENT_BYTES);
                TENSOR_FETCH(at, 0);
            }
        }
        rest--;
        if (rest)
            tensor_turn();
        TENSOR_MULTIPLY(at, 0);
        if (rest) {
            uint32_t back = (steps - 1) * FRAGMENT_BYTES;
            if (++slot == TENSOR_SLOTS) {
                slot = 0;
                back += SPICA_CONSTANT((TENSOR_SLOTS - 1) * TENSOR_SLOT_BYTES);
            } else {
                back -= SPICA_CONSTANT(TENSOR_SLOT_BYTES);
            }
            tensor_move(&at, -back);
            TENSOR_FETCH(at, 0);
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
    if (tensor_commands()) {
        spica_begin();
        tensor_begin_copies();
        tensor_await_tile();
    }
    tensor_meet();
    tensor_multiply();
    vx_fence();
    spica_end();
}

#endif
