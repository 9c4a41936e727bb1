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

/* Steps from the last use of a slot to its next load. */
typedef struct {
    GemmAside resident, swept;
} GemmReuse;

/* Largest distance: a wait compares counters of 16 bits. */
enum { GEMM_FARTHEST = 1 << 14 };

SPICA_INLINE GemmReuse gemm_reuse(const GemmPlan *plan)
{
    uint32_t depth = VIRGO_BLOCKS(gemm_of(plan->k), GEMM_K);
    uint32_t resident = gemm_of(plan->resident.panels), swept = gemm_of(plan->swept.panels);
    resident = resident ? ((resident - 1) * gemm_of(plan->inner) + 1) * depth
                        : (plan->keeps_b ? GEMM_B_SLOTS : GEMM_A_SLOTS);
    swept = swept ? swept * depth : (plan->keeps_b ? GEMM_A_SLOTS : GEMM_B_SLOTS);
    return (GemmReuse){
        .resident = gemm_aside(gemm_least(resident, GEMM_FARTHEST)),
        .swept = gemm_aside(gemm_least(swept, GEMM_FARTHEST)),
    };
}

/* Sources of the next loads of a tile of C in DRAM, with the bytes of B between two steps along K,
 * the rows of A and columns of B; steps after which the slots of its loads are used again; and the
 * load that the registers of the DMA describe: the depth of a tile of A, the complement of that of
 * B, or 0. */
typedef struct {
    uint32_t a, b, b_step;
    GemmAside rows, columns;
    uint32_t distance, described;
} GemmSource;

SPICA_INLINE uint32_t gemm_loads_a(const GemmPlan *plan, const GemmStep *at)
{
    return plan->keeps_b ? at->loads_swept : at->loads_resident;
}

SPICA_INLINE uint32_t gemm_loads_b(const GemmPlan *plan, const GemmStep *at)
{
    return plan->keeps_b ? at->loads_resident : at->loads_swept;
}

/* Sets the sources that a tile of C loads; its first step is `at`. */
SPICA_INLINE void gemm_source(const GemmPlan *plan, const GemmReuse *reuse, const GemmStep *at,
                              GemmSource *from)
{
    uint32_t swept = gemm_of(reuse->swept);
    from->distance = at->loads_resident ? gemm_of(reuse->resident) : swept;
    if (at->loads_swept)
        from->distance = gemm_least(from->distance, swept);
    if (gemm_loads_a(plan, at)) {
        uint32_t row = gemm_row(plan, at);
        from->a = gemm_of(plan->a) + row * gemm_of(plan->a_pitch);
        from->rows = gemm_aside(gemm_least(gemm_of(plan->m) - row, GEMM_M));
    }
    if (gemm_loads_b(plan, at)) {
        uint32_t column = gemm_column(plan, at);
        from->b = gemm_of(plan->b) + column * VIRGO_OPERAND_BYTES;
        from->columns = gemm_aside(gemm_least(gemm_of(plan->n) - column, GEMM_N));
    }
    from->described = 0;
}

SPICA_INLINE void gemm_source_deeper(GemmSource *from)
{
    from->a += GEMM_K * VIRGO_OPERAND_BYTES;
    from->b += from->b_step;
}

/* Loads the tiles of a step that are not present. */
SPICA_INLINE void gemm_load(const GemmPlan *plan, const GemmStep *at, GemmSource *from)
{
    uint32_t depth = gemm_least(at->rest, GEMM_K);
    if (gemm_loads_a(plan, at)) {
        uint32_t local = plan->keeps_b ? at->swept : at->resident;
        if (from->described == depth) {
            virgo_dma_load_again(local, (const char *)from->a);
        } else {
            gemm_load_a(local, (const char *)from->a, gemm_of(plan->a_pitch), gemm_of(from->rows),
                        depth);
            from->described = depth;
        }
    }
    if (gemm_loads_b(plan, at)) {
        uint32_t local = plan->keeps_b ? at->resident : at->swept;
        if (from->described == ~depth) {
            virgo_dma_load_again(local, (const char *)from->b);
        } else {
            gemm_load_b(local, (const char *)from->b, gemm_of(plan->b_pitch), depth,
                        gemm_of(from->columns));
            from->described = ~depth;
        }
    }
}

/* Number of computes that must be done before a step's loads: those that use the same slots. */
SPICA_INLINE uint32_t gemm_users(const GemmStep *at, const GemmSource *from)
{
    return at->step + 1 - from->distance;
}

/* Whether a step's loads can be queued at once: slots are free and the DMA queue has room for all.
 * A full queue would delay the start of a compute. */
SPICA_INLINE int gemm_may_load(const GemmStep *at, const GemmSource *from, const GemmKnown *known)
{
    return (int32_t)(gemm_users(at, from) - known->computes_done) <= 0 &&
           at->loads - known->loads_done <= GEMM_LOADS;
}

/* Advances to the next step and its sources; returns whether there is one. */
SPICA_INLINE int gemm_next(const GemmPlan *plan, const GemmReuse *reuse, GemmStep *at,
                           GemmSource *from)
{
    if (GEMM_LIKELY(at->rest > GEMM_K)) {
        gemm_deeper(plan, at);
        gemm_source_deeper(from);
    } else if (gemm_turn(plan, at)) {
        gemm_source(plan, reuse, at, from);
    } else {
        return 0;
    }
    return 1;
}

/* Queues all loads except those of the first step, in a warp of its own. */
SPICA_INLINE void gemm_load_all(const Gemm *gemm, GemmBegun begun, uint32_t a_panels, int keeps_b)
{
    const GemmPlan plan = gemm_plan(gemm, a_panels, keeps_b);
    GemmKnown known = {.loads_done = begun.loads, .computes_done = begun.computes};
    GemmStep at = gemm_first(&plan, begun.loads, begun.computes);
    const GemmReuse reuse = gemm_reuse(&plan);
    GemmSource from = {.b_step = GEMM_K * gemm_of(plan.b_pitch)};
    gemm_source(&plan, &reuse, &at, &from);
    while (gemm_next(&plan, &reuse, &at, &from)) {
        if (at.step_loads) {
            gemm_await_computes(&known, gemm_users(&at, &from));
            gemm_await_loads(&known, at.loads - GEMM_LOADS);
            gemm_load(&plan, &at, &from);
        }
    }
}

#endif
