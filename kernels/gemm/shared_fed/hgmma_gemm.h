/* Product on tensor units that read shared memory: C = A * B.
 *
 * A warp starts a product per step, with a barrier from time to time. Its next product stalls until
 * the previous one is complete, while those of seven other warps keep the unit busy. Copies
 * run ahead across tiles of C. Warps complete their tiles one after the other: one stores its
 * elements of C while the others multiply. Warps whose elements are outside C only wait. */
#ifndef HGMMA_GEMM_H
#define HGMMA_GEMM_H

#include "hgmma_dma.h"
#include "hgmma_store.h"

/* First row and column of the warp in a tile. */
SPICA_INLINE uint32_t hgmma_first_row(void)
{
    return vx_core_id() * HGMMA_CORE_M + hgmma_down() * HGMMA_SIDE;
}

SPICA_INLINE uint32_t hgmma_first_column(void)
{
    return hgmma_across() * HGMMA_SIDE;
}

/* Address of A of the warp in the first slot, or 0 if the warp has no elements of C in the tile at
 * this row and column. */
SPICA_INLINE uint32_t hgmma_first_a(uint32_t row, uint32_t column)
{
    const int is_within =
        (row + hgmma_first_row() < HGMMA->m) & (column + hgmma_first_column() < HGMMA->n);
    const uint32_t offset = hgmma_place(vx_core_id(), SPICA_CONSTANT(HGMMA_ROWS_BYTES));
    uint32_t a = is_within ? SPICA_SHARED_BASE + offset + hgmma_down() * HGMMA_OPERAND : 0;
    SPICA_ANEW(a); /* or its terms occupy registers */
    return a;
}

/* All steps. */
SPICA_INLINE void hgmma_multiply(void)
{
    hgmma_begin();
    uint32_t b = SPICA_SHARED_BASE + HGMMA_A_BYTES + hgmma_place(hgmma_across(), HGMMA_OPERAND);
    SPICA_ANEW(b);
    int leads = hgmma_leads();
    SPICA_ANEW(leads);
    uint32_t row = 0, column = 0, slot = 0, step = 0, left = hgmma_steps(), a = hgmma_first_a(0, 0);
    spica_hgmma_clear();
    hgmma_turn(leads);
    for (;;) {
        if (a) {
            spica_hgmma(a + slot, b + slot);
            if (!HGMMA_IS_AHEAD)
                spica_hgmma_wait();
        }
        if (step < HGMMA_SHORT || step % HGMMA_TURN == 0)
            hgmma_turn(leads);
        if (leads) {
            hgmma_copy_ahead();
            if (step < HGMMA_SHORT || step % 2 == 0) /* more than one per step, to get ahead */
                hgmma_copy_ahead();
        }
        step++;
        slot += SPICA_CONSTANT(HGMMA_SLOT_BYTES);
        if (slot == SPICA_CONSTANT(HGMMA_SLOTS * HGMMA_SLOT_BYTES))
            slot = 0;
        if (--left)
            continue;
        /* While the last product is under way, prepare what follows. */
        const uint32_t is_within = a;
        const HgmmaPlace place =
            hgmma_place_of(row + hgmma_first_row(), column + hgmma_first_column());
        left = hgmma_steps();
        column += HGMMA_N;
        if (column >= HGMMA->n) {
            column = 0;
            row += HGMMA_M;
        }
        a = hgmma_first_a(row, column);
        if (is_within) {
            if (HGMMA_IS_AHEAD)
                spica_hgmma_wait();
            hgmma_store(place);
        }
        if (row >= HGMMA->m)
            break;
    }
}

SPICA_INLINE void hgmma_run(void)
{
    spica_begin();
    hgmma_multiply();
    vx_fence();
    spica_end();
}

#endif
