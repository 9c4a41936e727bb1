/* The way through the tiles of a product: where each step is, where its operands are, what it must
 * load, and when the slots for that are free. Part of gemm.h. */
#ifndef GEMM_STEPS_H
#define GEMM_STEPS_H

/* Slots of one operand: a ring where not even one panel fits, else as many panels as do. */
typedef struct {
    uint32_t first, end, bytes; /* place of the first slot, of the end of the last, bytes of one */
    uint32_t panels;            /* that fit; 0: a ring */
    uint32_t back;              /* bytes from the first to the last slot of a panel */
    uint32_t distance;          /* steps from the last use of a slot to the load of what is next */
} GemmSlots;

typedef struct {
    GemmSlots kept, swept;
    uint32_t depth, outer, inner; /* tiles along K, panels of the operand kept, of the one swept */
    uint32_t steps;
    int keeps_b;
} GemmPlan;

/* A step on the way through all tiles: where it is, where its operands are, what it loads, how
 * many loads it and those before it need, and after which step its slots are used again. */
typedef struct {
    uint32_t step, k, panel, sweep, position; /* panel kept; sweep counts its steps; panel swept */
    uint32_t kept, swept;
    uint32_t loads_kept, loads_swept, loads, distance;
} GemmStep;

#define GEMM_LIKELY(condition) __builtin_expect(!!(condition), 1)

SPICA_INLINE uint32_t gemm_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

SPICA_INLINE GemmSlots gemm_slots(uint32_t first, uint32_t room, uint32_t bytes, uint32_t depth)
{
    uint32_t slots = room / bytes, panels = slots / depth;
    uint32_t used = panels ? panels * depth : slots;
    return (GemmSlots){first, first + used * bytes, bytes, panels, (depth - 1) * bytes, used};
}

/* Elements along the sides that are loaded if a panel of `kept` is kept at a time. */
SPICA_INLINE uint32_t gemm_loaded(uint32_t kept, uint32_t swept, uint32_t outer, uint32_t inner,
                                  uint32_t fits, uint32_t held)
{
    return (fits ? kept : kept * inner) + swept * outer - held * (outer - 1);
}

/* Whether to keep panels of B rather than of A. */
SPICA_INLINE int gemm_keeps_b(const Gemm *gemm)
{
    uint32_t depth = VIRGO_BLOCKS(gemm->k, GEMM_K);
    uint32_t rows = VIRGO_BLOCKS(gemm->m, GEMM_M), columns = VIRGO_BLOCKS(gemm->n, GEMM_N);
    uint32_t a_panels = GEMM_A_ROOM / GEMM_A_BYTES / depth;
    uint32_t b_panels = GEMM_B_ROOM / GEMM_B_BYTES / depth;
    uint32_t keeping_a = gemm_loaded(gemm->m, gemm->n, rows, columns, a_panels,
                                     gemm_least(b_panels * GEMM_N, gemm->n));
    uint32_t keeping_b = gemm_loaded(gemm->n, gemm->m, columns, rows, b_panels,
                                     gemm_least(a_panels * GEMM_M, gemm->m));
    return keeping_b < keeping_a;
}

SPICA_INLINE GemmPlan gemm_plan(const Gemm *gemm, int keeps_b)
{
    uint32_t depth = VIRGO_BLOCKS(gemm->k, GEMM_K);
    uint32_t rows = VIRGO_BLOCKS(gemm->m, GEMM_M), columns = VIRGO_BLOCKS(gemm->n, GEMM_N);
    GemmSlots a = gemm_slots(GEMM_FIRST, GEMM_A_ROOM, GEMM_A_BYTES, depth);
    GemmSlots b = gemm_slots(GEMM_FIRST + GEMM_A_ROOM, GEMM_B_ROOM, GEMM_B_BYTES, depth);
    GemmPlan plan = {
        .kept = keeps_b ? b : a,
        .swept = keeps_b ? a : b,
        .depth = depth,
        .outer = keeps_b ? columns : rows,
        .inner = keeps_b ? rows : columns,
        .keeps_b = keeps_b,
        .steps = rows * columns * depth,
    };
    if (plan.kept.panels)
        plan.kept.distance = ((plan.kept.panels - 1) * plan.inner + 1) * depth;
    return plan;
}

/* Notes what the steps of a tile of C must load, and how long before the slots were used. */
SPICA_INLINE void gemm_enter(const GemmPlan *plan, GemmStep *at)
{
    at->loads_kept = !plan->kept.panels || at->sweep == 0;
    at->loads_swept = at->panel == 0 || at->sweep >= plan->swept.panels;
    at->distance = at->loads_kept ? plan->kept.distance : plan->swept.distance;
    if (at->loads_swept)
        at->distance = gemm_least(at->distance, plan->swept.distance);
}

SPICA_INLINE GemmStep gemm_first(const GemmPlan *plan)
{
    GemmStep at = {.kept = plan->kept.first, .swept = plan->swept.first};
    gemm_enter(plan, &at);
    at.loads = 2;
    return at;
}

SPICA_INLINE uint32_t gemm_following(const GemmSlots *slots, uint32_t place)
{
    place += slots->bytes;
    return place == slots->end ? slots->first : place;
}

/* From the last slot of a panel to the first of the same one. */
SPICA_INLINE uint32_t gemm_again(const GemmSlots *slots, uint32_t place)
{
    return slots->panels ? place - slots->back : gemm_following(slots, place);
}

/* From the last slot of a panel to the first of the one before. */
SPICA_INLINE uint32_t gemm_preceding(const GemmSlots *slots, uint32_t place)
{
    if (!slots->panels)
        return gemm_following(slots, place);
    place -= slots->back;
    return (place == slots->first ? slots->end : place) - slots->back - slots->bytes;
}

SPICA_INLINE void gemm_next(const GemmPlan *plan, GemmStep *at)
{
    at->step++;
    if (GEMM_LIKELY(++at->k < plan->depth)) {
        at->kept = gemm_following(&plan->kept, at->kept);
        at->swept = gemm_following(&plan->swept, at->swept);
    } else {
        at->k = 0;
        if (++at->sweep < plan->inner) {
            at->kept = gemm_again(&plan->kept, at->kept);
            if (at->panel & 1) {
                at->position--;
                at->swept = gemm_preceding(&plan->swept, at->swept);
            } else {
                at->position++;
                at->swept = gemm_following(&plan->swept, at->swept);
            }
        } else {
            at->sweep = 0;
            at->panel++;
            at->kept = gemm_following(&plan->kept, at->kept);
            at->swept = gemm_again(&plan->swept, at->swept);
        }
        gemm_enter(plan, at);
    }
    at->loads += at->loads_kept + at->loads_swept;
}

SPICA_INLINE uint32_t gemm_row(const GemmPlan *plan, const GemmStep *at)
{
    return (plan->keeps_b ? at->position : at->panel) * GEMM_M;
}

SPICA_INLINE uint32_t gemm_column(const GemmPlan *plan, const GemmStep *at)
{
    return (plan->keeps_b ? at->panel : at->position) * GEMM_N;
}

#endif
