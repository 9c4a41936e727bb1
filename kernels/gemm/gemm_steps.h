/* Sequence of the tiles of a product: position of each step, addresses of its operands, its loads,
 * and when their slots are free.
 *
 * Memory is too slow for a stack. State of a step is in integer registers; state that only a new
 * tile of C needs is in float registers. */
#ifndef GEMM_STEPS_H
#define GEMM_STEPS_H

#include "gemm_sizes.h"

/* An integer parked in a float register. */
typedef struct {
    float held;
} GemmAside;

SPICA_INLINE GemmAside gemm_aside(uint32_t value)
{
    GemmAside aside;
    __asm__ volatile("fmv.w.x %0, %1" : "=f"(aside.held) : "r"(value));
    return aside;
}

/* Volatile, or the compiler would also keep it in an integer register. */
SPICA_INLINE uint32_t gemm_of(GemmAside aside)
{
    uint32_t value;
    __asm__ volatile("fmv.x.w %0, %1" : "=r"(value) : "f"(aside.held));
    return value;
}

/* Slots of one operand: a ring if not even one panel fits, else as many panels as fit. */
typedef struct {
    uint32_t first, end, bytes; /* first slot, end of the last, bytes of one */
    GemmAside panels;           /* panels that fit; 0: a ring */
    GemmAside back;             /* bytes from the first to the last slot of a panel */
} GemmSlots;

/* A product and its chosen plan. */
typedef struct {
    GemmSlots resident, swept;
    GemmAside outer, inner; /* panels of the operand kept, of the one swept */
    GemmAside m, n, k, a, b, a_pitch, b_pitch; /* copies of Gemm's fields */
    int keeps_b;
} GemmPlan;

/* A step in the sequence of all tiles: position, operands and loads. Computes and loads are counted
 * as the devices count them. */
typedef struct {
    GemmAside panel, sweep, position; /* panel kept; steps of the sweep; panel swept */
    uint32_t step;                    /* computes before it */
    uint32_t rest;                    /* rest of K, this step included */
    uint32_t resident, swept;         /* slot addresses */
    uint32_t loads;                   /* loads that it and earlier steps need */
    uint32_t loads_resident, loads_swept;
    uint32_t step_loads;              /* both: loads of a step of this tile of C */
} GemmStep;

#define GEMM_LIKELY(condition) __builtin_expect(!!(condition), 1)

SPICA_INLINE uint32_t gemm_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Panels of an operand that fit, of so many slots. */
SPICA_INLINE uint32_t gemm_panels(const Gemm *gemm, uint32_t slots)
{
    return slots / VIRGO_BLOCKS(gemm->k, GEMM_K);
}

SPICA_INLINE GemmSlots gemm_slots(uint32_t first, uint32_t slots, uint32_t bytes, uint32_t depth,
                                  uint32_t panels)
{
    uint32_t used = panels ? panels * depth : slots;
    return (GemmSlots){
        .first = first,
        .end = first + used * bytes,
        .bytes = bytes,
        .panels = gemm_aside(panels),
        .back = gemm_aside((depth - 1) * bytes),
    };
}

/* Elements loaded along the sides if one panel of `resident` is kept at a time. */
SPICA_INLINE uint32_t gemm_loaded(uint32_t resident, uint32_t swept, uint32_t outer, uint32_t inner,
                                  uint32_t fits, uint32_t held)
{
    return (fits ? resident : resident * inner) + swept * outer - held * (outer - 1);
}

/* Whether to keep panels of B rather than of A, given the panels of A that fit. */
SPICA_INLINE int gemm_keeps_b(const Gemm *gemm, uint32_t a_panels)
{
    uint32_t rows = VIRGO_BLOCKS(gemm->m, GEMM_M), columns = VIRGO_BLOCKS(gemm->n, GEMM_N);
    uint32_t b_panels = gemm_panels(gemm, GEMM_B_SLOTS);
    uint32_t keeping_a = gemm_loaded(gemm->m, gemm->n, rows, columns, a_panels,
                                     gemm_least(b_panels * GEMM_N, gemm->n));
    uint32_t keeping_b = gemm_loaded(gemm->n, gemm->m, columns, rows, b_panels,
                                     gemm_least(a_panels * GEMM_M, gemm->m));
    return keeping_b < keeping_a;
}

SPICA_INLINE GemmPlan gemm_plan(const Gemm *gemm, uint32_t a_panels, int keeps_b)
{
    uint32_t depth = VIRGO_BLOCKS(gemm->k, GEMM_K);
    uint32_t rows = VIRGO_BLOCKS(gemm->m, GEMM_M), columns = VIRGO_BLOCKS(gemm->n, GEMM_N);
    GemmSlots a = gemm_slots(GEMM_FIRST, GEMM_A_SLOTS, GEMM_A_BYTES, depth, a_panels);
    GemmSlots b = gemm_slots(GEMM_FIRST + GEMM_A_ROOM, GEMM_B_SLOTS, GEMM_B_BYTES, depth,
                             gemm_panels(gemm, GEMM_B_SLOTS));
    return (GemmPlan){
        .resident = keeps_b ? b : a,
        .swept = keeps_b ? a : b,
        .outer = gemm_aside(keeps_b ? columns : rows),
        .inner = gemm_aside(keeps_b ? rows : columns),
        .m = gemm_aside(gemm->m),
        .n = gemm_aside(gemm->n),
        .k = gemm_aside(gemm->k),
        .a = gemm_aside((uint32_t)gemm->a),
        .b = gemm_aside((uint32_t)gemm->b),
        .a_pitch = gemm_aside(gemm->a_pitch * VIRGO_OPERAND_BYTES),
        .b_pitch = gemm_aside(gemm->b_pitch * VIRGO_OPERAND_BYTES),
        .keeps_b = keeps_b,
    };
}

/* Sets the loads of the steps of a tile of C. */
SPICA_INLINE void gemm_enter(const GemmPlan *plan, GemmStep *at, uint32_t panel, uint32_t sweep)
{
    at->panel = gemm_aside(panel);
    at->sweep = gemm_aside(sweep);
    at->rest = gemm_of(plan->k);
    at->loads_resident = !gemm_of(plan->resident.panels) || sweep == 0;
    at->loads_swept = panel == 0 || sweep >= gemm_of(plan->swept.panels);
    at->step_loads = at->loads_resident + at->loads_swept;
}

/* The first step; `loads` and `computes` are the counters before it. */
SPICA_INLINE GemmStep gemm_first(const GemmPlan *plan, uint32_t loads, uint32_t computes)
{
    GemmStep at = {
        .position = gemm_aside(0),
        .step = computes,
        .resident = plan->resident.first,
        .swept = plan->swept.first,
        .loads = loads + 2,
    };
    gemm_enter(plan, &at, 0, 0);
    return at;
}

SPICA_INLINE uint32_t gemm_following(const GemmSlots *slots, uint32_t slot)
{
    slot += slots->bytes;
    return GEMM_LIKELY(slot != slots->end) ? slot : slots->first;
}

/* From the last slot of a panel to its first. */
SPICA_INLINE uint32_t gemm_again(const GemmSlots *slots, uint32_t slot)
{
    return gemm_of(slots->panels) ? slot - gemm_of(slots->back) : gemm_following(slots, slot);
}

/* From the last slot of a panel to the first of the previous panel. */
SPICA_INLINE uint32_t gemm_preceding(const GemmSlots *slots, uint32_t slot)
{
    if (!gemm_of(slots->panels))
        return gemm_following(slots, slot);
    uint32_t back = gemm_of(slots->back);
    slot -= back;
    return (slot == slots->first ? slots->end : slot) - back - slots->bytes;
}

SPICA_INLINE void gemm_count(GemmStep *at)
{
    at->step++;
    at->loads += at->step_loads;
}

/* Advances along K; the step must not be the last one of its tile of C. */
SPICA_INLINE void gemm_deeper(const GemmPlan *plan, GemmStep *at)
{
    at->rest -= GEMM_K;
    at->resident = gemm_following(&plan->resident, at->resident);
    at->swept = gemm_following(&plan->swept, at->swept);
    gemm_count(at);
}

/* Advances to the first step of the next tile of C; returns whether there is one. */
SPICA_INLINE int gemm_turn(const GemmPlan *plan, GemmStep *at)
{
    uint32_t panel = gemm_of(at->panel), sweep = gemm_of(at->sweep) + 1;
    if (sweep < gemm_of(plan->inner)) {
        at->resident = gemm_again(&plan->resident, at->resident);
        if (panel & 1) {
            at->position = gemm_aside(gemm_of(at->position) - 1);
            at->swept = gemm_preceding(&plan->swept, at->swept);
        } else {
            at->position = gemm_aside(gemm_of(at->position) + 1);
            at->swept = gemm_following(&plan->swept, at->swept);
        }
    } else {
        sweep = 0;
        if (++panel == gemm_of(plan->outer))
            return 0;
        at->resident = gemm_following(&plan->resident, at->resident);
        at->swept = gemm_again(&plan->swept, at->swept);
    }
    gemm_enter(plan, at, panel, sweep);
    gemm_count(at);
    return 1;
}

SPICA_INLINE uint32_t gemm_row(const GemmPlan *plan, const GemmStep *at)
{
    return gemm_of(plan->keeps_b ? at->position : at->panel) * GEMM_M;
}

SPICA_INLINE uint32_t gemm_column(const GemmPlan *plan, const GemmStep *at)
{
    return gemm_of(plan->keeps_b ? at->panel : at->position) * GEMM_N;
}

#endif
