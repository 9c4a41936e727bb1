/* Loads of a product: tiles of A and B, as far ahead as slots are free. */
#ifndef GEMM_LOAD_H
#define GEMM_LOAD_H

#include "gemm_steps.h"
#include "gemm_progress.h"

SPICA_INLINE void gemm_load_a(uint32_t local, const char *a, uint32_t pitch, uint32_t rows,
                              uint32_t depth)
{
    uint32_t bytes = VIRGO_A_PITCH(depth);
    virgo_dma_load(local, a, pitch, bytes, rows, depth * VIRGO_OPERAND_BYTES, rows, bytes);
}

SPICA_INLINE void gemm_load_b(uint32_t local, const char *b, uint32_t pitch, uint32_t depth,
                              uint32_t width)
{
    uint32_t bytes = VIRGO_B_PITCH(width);
    virgo_dma_load(local, b, pitch, bytes, depth, width * VIRGO_OPERAND_BYTES, VIRGO_B_ROWS(depth),
                   bytes);
}

/* Loads the tiles of a step that are not present. */
SPICA_INLINE void gemm_load(const GemmPlan *plan, const GemmStep *at)
{
    uint32_t k = gemm_of(plan->k) - at->rest, depth = gemm_least(at->rest, GEMM_K);
    if (plan->keeps_b ? at->loads_swept : at->loads_resident) {
        uint32_t row = gemm_row(plan, at), pitch = gemm_of(plan->a_pitch);
        uint32_t a = gemm_of(plan->a) + row * pitch + k * VIRGO_OPERAND_BYTES;
        gemm_load_a(plan->keeps_b ? at->swept : at->resident, (const char *)a, pitch,
                    gemm_least(gemm_of(plan->m) - row, GEMM_M), depth);
    }
    if (plan->keeps_b ? at->loads_resident : at->loads_swept) {
        uint32_t column = gemm_column(plan, at), pitch = gemm_of(plan->b_pitch);
        uint32_t b = gemm_of(plan->b) + k * pitch + column * VIRGO_OPERAND_BYTES;
        gemm_load_b(plan->keeps_b ? at->resident : at->swept, (const char *)b, pitch, depth,
                    gemm_least(gemm_of(plan->n) - column, GEMM_N));
    }
}

/* Number of computes that must be done before a step's loads: those that use the same slots. */
SPICA_INLINE uint32_t gemm_users(const GemmStep *at)
{
    return at->step + 1 - at->distance;
}

/* Whether a step's loads can be queued at once: slots are free and the DMA queue has room for all.
 * A full queue would delay the start of a compute. */
SPICA_INLINE int gemm_may_load(const GemmStep *at, const GemmKnown *known)
{
    return (int32_t)(gemm_users(at) - known->computes_done) <= 0 &&
           at->loads - known->loads_done <= GEMM_LOADS;
}

/* Queues all loads except those of the first step, in a warp of its own. */
SPICA_INLINE void gemm_load_all(const Gemm *gemm, GemmBegun begun, int keeps_b)
{
    const GemmPlan plan = gemm_plan(gemm, keeps_b);
    GemmKnown known = {.loads_done = begun.loads, .computes_done = begun.computes};
    GemmStep at = gemm_first(&plan, begun.loads, begun.computes);
    while (gemm_next(&plan, &at)) {
        if (at.loads_resident | at.loads_swept) {
            gemm_await_computes(&known, gemm_users(&at));
            gemm_await_loads(&known, at.loads - GEMM_LOADS);
            gemm_load(&plan, &at);
        }
    }
}

#endif
