/* Computes of a product and stores of its tiles. */
#ifndef GEMM_MULTIPLY_H
#define GEMM_MULTIPLY_H

#include "gemm_load.h"

/* State of a compute besides the plan: address of C; rows of the tile of A with the columns of that
 * of B in the upper half; the depth that is set with them, or 0, and the bytes of the tile of B;
 * and whether the compute adds to the accumulator. */
typedef struct {
    GemmAside c, c_pitch, options, sizes, b_bytes, depth;
    uint32_t accumulate;
} GemmTarget;

SPICA_INLINE GemmTarget gemm_target(const Gemm *gemm)
{
    uint32_t m = gemm_least(gemm->m, GEMM_M), n = gemm_least(gemm->n, GEMM_N);
    return (GemmTarget){
        .sizes = gemm_aside(m | n << 16),
        .c = gemm_aside((uint32_t)gemm->c),
        .c_pitch = gemm_aside(gemm->c_pitch),
        .options = gemm_aside(gemm->options),
    };
}

/* Queues the store of a tile of C whose last compute was started. */
SPICA_INLINE void gemm_store(const GemmTarget *target, uint32_t row, uint32_t column)
{
    uint32_t options = gemm_of(target->options);
    uint32_t bytes = options & VIRGO_WIDE ? VIRGO_WIDE_BYTES : VIRGO_NARROW_BYTES;
    uint32_t offset = (row * gemm_of(target->c_pitch) + column) * bytes;
    virgo_store((char *)gemm_of(target->c) + offset, options);
}

/* Sets the sizes of the following computes. */
SPICA_INLINE void gemm_set_tile(GemmTarget *target, uint32_t m, uint32_t n, uint32_t k)
{
    target->depth = gemm_aside(k);
    target->b_bytes = gemm_aside(VIRGO_B_BYTES(n, k));
    virgo_tile(m, n, k);
    virgo_store_pitch(gemm_of(target->c_pitch));
}

/* Prepares the product of two tiles. */
SPICA_INLINE void gemm_prepare(const GemmTarget *target, uint32_t a, uint32_t b)
{
    virgo_operands(a, b + gemm_of(target->b_bytes));
    virgo_prepare(target->accumulate);
}

/* Starts the prepared product as soon as its loads are done; a place for it is free. */
SPICA_INLINE void gemm_start(GemmKnown *known, uint32_t loads, uint32_t step)
{
    gemm_await_loads(known, loads);
    virgo_start();
    gemm_record_started(&known->handed, step + 1);
}

/* The compute of the first step, which is the same for both plans. Returns the panels of A that fit:
 * their division ends while the loads run. */
SPICA_INLINE uint32_t gemm_multiply_first(const Gemm *gemm, GemmTarget *target, GemmKnown *known)
{
    gemm_set_tile(target, gemm_least(gemm->m, GEMM_M), gemm_least(gemm->n, GEMM_N),
                  gemm_least(gemm->k, GEMM_K));
    gemm_prepare(target, GEMM_FIRST, GEMM_FIRST + GEMM_A_ROOM);
    uint32_t a_panels = gemm_panels(gemm, GEMM_A_SLOTS);
    if (!GEMM_FINISHED)
        SPICA_ANEW(a_panels);
    gemm_start(known, known->loads_done + 2, known->computes_done);
    return a_panels;
}

/* The compute of a later step. */
SPICA_INLINE void gemm_multiply(const GemmPlan *plan, GemmTarget *target, const GemmStep *at,
                                GemmKnown *known)
{
    uint32_t k = gemm_least(at->rest, GEMM_K);
    if (gemm_of(target->depth) != k) {
        uint32_t sizes = gemm_of(target->sizes);
        gemm_set_tile(target, sizes & 0xffff, sizes >> 16, k);
    }
    gemm_prepare(target, plan->keeps_b ? at->swept : at->resident,
                 plan->keeps_b ? at->resident : at->swept);
    gemm_await_computes(known, at->step - 1);
    gemm_start(known, at->loads, at->step);
}

/* Queues the store of a tile of C, to DRAM or to the cores. */
SPICA_INLINE void gemm_complete(const GemmTarget *target, GemmKnown *known, uint32_t row,
                                uint32_t column)
{
    if (GEMM_FINISHED)
        gemm_hand(&known->handed);
    else
        gemm_store(target, row, column);
}

/* Advances to the next compute, after the last one of a tile of C with its store; returns whether
 * there is one. */
SPICA_INLINE int gemm_next_compute(const GemmPlan *plan, GemmTarget *target, GemmStep *at,
                                   GemmKnown *known)
{
    if (GEMM_LIKELY(at->rest > GEMM_K)) {
        gemm_deeper(plan, at);
        target->accumulate = VIRGO_ACCUMULATE;
        return 1;
    }
    gemm_complete(target, known, gemm_row(plan, at), gemm_column(plan, at));
    if (!gemm_turn(plan, at))
        return 0;
    uint32_t m = gemm_least(gemm_of(plan->m) - gemm_row(plan, at), GEMM_M);
    uint32_t n = gemm_least(gemm_of(plan->n) - gemm_column(plan, at), GEMM_N);
    target->accumulate = 0;
    if (gemm_of(target->sizes) != (m | n << 16)) {
        target->sizes = gemm_aside(m | n << 16);
        target->depth = gemm_aside(0);
    }
    return 1;
}

/* All computes except the first; another warp loads. */
SPICA_INLINE void gemm_multiply_all(const Gemm *gemm, GemmBegun begun, GemmTarget target,
                                    GemmKnown known, uint32_t a_panels, int keeps_b)
{
    const GemmPlan plan = gemm_plan(gemm, a_panels, keeps_b);
    GemmStep at = gemm_first(&plan, begun.loads, begun.computes);
    while (gemm_next_compute(&plan, &target, &at, &known))
        gemm_multiply(&plan, &target, &at, &known);
    gemm_hand_over(&known.handed);
}

/* Computes and loads in one thread, if no warp is available for loads: first the loads a step
 * needs, then further loads for which slots are free. */
SPICA_INLINE void gemm_do_all(const Gemm *gemm, GemmBegun begun, GemmTarget target, GemmKnown known,
                              uint32_t a_panels, int keeps_b)
{
    const GemmPlan plan = gemm_plan(gemm, a_panels, keeps_b);
    GemmStep at = gemm_first(&plan, begun.loads, begun.computes), ahead = at;
    const GemmReuse reuse = gemm_reuse(&plan);
    GemmSource from = {.b_step = GEMM_K * gemm_of(plan.b_pitch)};
    gemm_source(&plan, &reuse, &ahead, &from);
    int is_ahead = gemm_next(&plan, &reuse, &ahead, &from);
    while (gemm_next_compute(&plan, &target, &at, &known)) {
        while (is_ahead && (ahead.step == at.step || gemm_may_load(&ahead, &from, &known))) {
            gemm_await_computes(&known, gemm_users(&ahead, &from));
            gemm_load(&plan, &ahead, &from);
            is_ahead = gemm_next(&plan, &reuse, &ahead, &from);
        }
        gemm_multiply(&plan, &target, &at, &known);
    }
    gemm_hand_over(&known.handed);
}

#endif
