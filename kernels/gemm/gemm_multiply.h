/* Computes of a product and stores of its tiles. */
#ifndef GEMM_MULTIPLY_H
#define GEMM_MULTIPLY_H

#include "gemm_load.h"

/* State of a compute besides the plan: address of C, and the tile size currently set. */
typedef struct {
    GemmAside c, c_pitch, options;
    uint32_t sizes, depth;
} GemmTarget;

SPICA_INLINE GemmTarget gemm_target(const Gemm *gemm)
{
    return (GemmTarget){
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

/* Starts the product of two tiles as soon as its loads are done and a place is free. */
SPICA_INLINE void gemm_start(GemmTarget *target, GemmKnown *known, uint32_t m, uint32_t n,
                             uint32_t k, uint32_t a, uint32_t b, uint32_t accumulate,
                             uint32_t loads, uint32_t step)
{
    if (target->sizes != (m | n << 16) || target->depth != k) {
        target->sizes = m | n << 16;
        target->depth = k;
        virgo_tile(m, n, k);
        virgo_store_pitch(gemm_of(target->c_pitch));
    }
    virgo_operands(a, b + VIRGO_B_BYTES(n, k));
    virgo_prepare(accumulate);
    gemm_await_loads(known, loads);
    gemm_await_computes(known, step - 1);
    virgo_start();
    gemm_record_started(&known->handed, step + 1);
}

/* The compute of the first step, which is the same for both plans. */
SPICA_INLINE void gemm_multiply_first(const Gemm *gemm, GemmTarget *target, GemmKnown *known)
{
    gemm_start(target, known, gemm_least(gemm->m, GEMM_M), gemm_least(gemm->n, GEMM_N),
               gemm_least(gemm->k, GEMM_K), GEMM_FIRST, GEMM_FIRST + GEMM_A_ROOM, 0,
               known->loads_done + 2, known->computes_done);
}

/* The compute of a later step. */
SPICA_INLINE void gemm_multiply(const GemmPlan *plan, GemmTarget *target, const GemmStep *at,
                                GemmKnown *known)
{
    uint32_t m = gemm_least(gemm_of(plan->m) - gemm_row(plan, at), GEMM_M);
    uint32_t n = gemm_least(gemm_of(plan->n) - gemm_column(plan, at), GEMM_N);
    gemm_start(target, known, m, n, gemm_least(at->rest, GEMM_K),
               plan->keeps_b ? at->swept : at->resident, plan->keeps_b ? at->resident : at->swept,
               at->rest != gemm_of(plan->k) ? VIRGO_ACCUMULATE : 0, at->loads, at->step);
}

/* Queues the store of the tile of C that a step completes, to DRAM or to the cores. */
SPICA_INLINE void gemm_complete(const GemmPlan *plan, const GemmTarget *target, const GemmStep *at,
                                GemmKnown *known)
{
    if (at->rest > GEMM_K)
        return;
    if (GEMM_FINISHED)
        gemm_hand(&known->handed);
    else
        gemm_store(target, gemm_row(plan, at), gemm_column(plan, at));
}

/* All computes except the first; another warp loads. */
SPICA_INLINE void gemm_multiply_all(const Gemm *gemm, GemmBegun begun, GemmTarget target,
                                    GemmKnown known, int keeps_b)
{
    const GemmPlan plan = gemm_plan(gemm, keeps_b);
    GemmStep at = gemm_first(&plan, begun.loads, begun.computes);
    for (;;) {
        gemm_complete(&plan, &target, &at, &known);
        if (!gemm_next(&plan, &at))
            break;
        gemm_multiply(&plan, &target, &at, &known);
    }
    gemm_hand_over(&known.handed);
}

/* Computes and loads in one thread, if no warp is available for loads: first the loads a step
 * needs, then further loads for which slots are free. */
SPICA_INLINE void gemm_do_all(const Gemm *gemm, GemmBegun begun, GemmTarget target, GemmKnown known,
                              int keeps_b)
{
    const GemmPlan plan = gemm_plan(gemm, keeps_b);
    GemmStep at = gemm_first(&plan, begun.loads, begun.computes), ahead = at;
    int is_ahead = gemm_next(&plan, &ahead);
    for (;;) {
        gemm_complete(&plan, &target, &at, &known);
        if (!gemm_next(&plan, &at))
            break;
        while (is_ahead && (ahead.step == at.step || gemm_may_load(&ahead, &known))) {
            gemm_await_computes(&known, gemm_users(&ahead));
            gemm_load(&plan, &ahead);
            is_ahead = gemm_next(&plan, &ahead);
        }
        gemm_multiply(&plan, &target, &at, &known);
    }
    gemm_hand_over(&known.handed);
}

#endif
