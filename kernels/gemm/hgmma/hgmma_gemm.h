/* Product on tensor units that read shared memory: C = A * B.
 *
 * A warp issues a product per step and meets its group from time to time. Its next product stalls
 * until the previous one is complete, while those of seven other warps keep the unit busy. Copies
 * run ahead across tiles of C, and so does group 0: one group stores its elements of C or waits
 * while the other one multiplies. Warps whose elements are outside C only meet. */
#ifndef HGMMA_GEMM_H
#define HGMMA_GEMM_H

#include "hgmma_dma.h"
#include "hgmma_store.h"

/* First column of the warp in a tile. */
SPICA_INLINE uint32_t hgmma_first_column(void)
{
    return hgmma_across() * HGMMA_SIDE;
}

/* All steps. The first one is there. */
SPICA_INLINE void hgmma_multiply(void)
{
    const uint32_t a = SPICA_SHARED_BASE + hgmma_place(vx_core_id(), HGMMA_ROWS_BYTES) +
                       hgmma_down() * HGMMA_OPERAND;
    const uint32_t b = SPICA_SHARED_BASE + HGMMA_A_BYTES + hgmma_place(hgmma_across(), HGMMA_OPERAND);
    uint32_t row = vx_core_id() * HGMMA_CORE_M + hgmma_down() * HGMMA_SIDE;
    uint32_t column = hgmma_first_column();
    uint32_t slot = 0, left = hgmma_steps(), rest = hgmma_rounds(), until_turn = 1, started = 0;
    spica_hgmma_clear();
    for (;;) {
        if ((row < HGMMA->m) & (column < HGMMA->n)) {
            spica_hgmma(a + slot, b + slot);
            started = 1;
        }
        for (int count = hgmma_commands() ? 2 : 0; count > 0; count--)
            hgmma_copy_ahead();
        slot += HGMMA_SLOT_BYTES;
        if (slot == SPICA_CONSTANT(HGMMA_SLOTS * HGMMA_SLOT_BYTES))
            slot = 0;
        if (--left == 0) {
            if ((row < HGMMA->m) & (column < HGMMA->n))
                hgmma_store(row, column);
            spica_hgmma_clear();
            left = hgmma_steps();
            column += HGMMA_N;
            if (column - hgmma_first_column() >= HGMMA->n) {
                column = hgmma_first_column();
                row += HGMMA_M;
            }
        }
        if (--rest == 0)
            break;
        if (--until_turn == 0) {
            until_turn = HGMMA_TURN;
            hgmma_before_turn();
            if (started)
                spica_hgmma_wait();
            started = 0;
            hgmma_turn();
        }
    }
}

SPICA_INLINE void hgmma_run(void)
{
    spica_begin();
    hgmma_begin();
    hgmma_multiply();
    vx_fence();
    spica_end();
}

#endif
