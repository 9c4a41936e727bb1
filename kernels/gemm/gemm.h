/* C = A * B on the matrix unit, commanded by one thread.
 *
 * Tiles of A and B are loaded into slots of shared memory, half of it for each operand, as far
 * ahead as slots are free; two computes are under way at a time; the store of a tile of C is queued
 * behind its last compute. Tiles of C are made panel by panel: the operand that is kept stays while
 * the other is swept, there and back, so that what was seen last at a turn is still there. Which
 * one is kept is decided by what must be loaded. */
#ifndef GEMM_H
#define GEMM_H

#include <virgo.h>

/* Rows of M x K, K x N and M x N elements; pitches in elements, at least a row. */
typedef struct {
    uint32_t m, n, k;
    const char *a, *b;
    char *c;
    uint32_t a_pitch, b_pitch, c_pitch;
    uint32_t options; /* of virgo_store */
} Gemm;

enum {
    GEMM_HALF = SPICA_SHARED_BYTES / 2,
    GEMM_M = SPICA_CONFIG_MATRIX_TILE_0,
    /* Where a block is wider than its elements, a row of several is not dense in DRAM. */
    GEMM_N = VIRGO_B_BLOCK > VIRGO_COLUMNS * SPICA_OPERAND_BYTES ? VIRGO_COLUMNS
                                                                 : SPICA_CONFIG_MATRIX_TILE_1,
    GEMM_LEAST_CYCLES = 1000, /* of a compute: commands for it and its loads take less */
    GEMM_ALL_CHANNELS =
        SPICA_CONFIG_AXI_MASTERS * SPICA_CONFIG_AXI_INTERLEAVE_BYTES / SPICA_OPERAND_BYTES,
    GEMM_ALL_COMMANDS = VIRGO_BLOCKS(GEMM_LEAST_CYCLES * VIRGO_ROWS * VIRGO_COLUMNS,
                                     SPICA_CONFIG_MATRIX_TILE_0 * SPICA_CONFIG_MATRIX_TILE_1),
    GEMM_SHORTEST =
        VIRGO_B_ROWS(GEMM_ALL_CHANNELS > GEMM_ALL_COMMANDS ? GEMM_ALL_CHANNELS : GEMM_ALL_COMMANDS),
    GEMM_WANTED = VIRGO_A_BLOCK > VIRGO_ROWS * SPICA_OPERAND_BYTES ? VIRGO_ROWS
                  : GEMM_SHORTEST < SPICA_CONFIG_MATRIX_TILE_2 ? GEMM_SHORTEST
                                                               : SPICA_CONFIG_MATRIX_TILE_2,
    /* Two slots of each operand must fit: blocks along K of which a half holds two tiles. */
    GEMM_A_FIT = GEMM_HALF / 2 / (GEMM_M * VIRGO_A_BLOCK) * VIRGO_ROWS,
    GEMM_B_FIT = GEMM_HALF / 2 / (VIRGO_ROWS * VIRGO_B_PITCH(GEMM_N)) * VIRGO_ROWS,
    GEMM_FIT = GEMM_A_FIT < GEMM_B_FIT ? GEMM_A_FIT : GEMM_B_FIT,
    GEMM_K = GEMM_WANTED < GEMM_FIT ? GEMM_WANTED : GEMM_FIT,
    GEMM_A_BYTES = GEMM_M * VIRGO_A_PITCH(GEMM_K),
    GEMM_B_BYTES = VIRGO_B_BYTES(GEMM_N, GEMM_K),
};
_Static_assert(GEMM_K > 0, "each half of shared memory must hold two tiles of a block along K");

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

SPICA_INLINE GemmSlots gemm_slots(uint32_t first, uint32_t bytes, uint32_t depth)
{
    uint32_t slots = GEMM_HALF / bytes, panels = slots / depth;
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
    uint32_t a_panels = GEMM_HALF / GEMM_A_BYTES / depth;
    uint32_t b_panels = GEMM_HALF / GEMM_B_BYTES / depth;
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
    GemmSlots a = gemm_slots(0, GEMM_A_BYTES, depth);
    GemmSlots b = gemm_slots(GEMM_HALF, GEMM_B_BYTES, depth);
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

SPICA_INLINE void gemm_load_a(const Gemm *gemm, uint32_t place, uint32_t row, uint32_t k)
{
    uint32_t rows = gemm_least(gemm->m - row, GEMM_M), depth = gemm_least(gemm->k - k, GEMM_K);
    uint32_t pitch = gemm->a_pitch * SPICA_OPERAND_BYTES, bytes = VIRGO_A_PITCH(depth);
    virgo_dma_load(place, gemm->a + row * pitch + k * SPICA_OPERAND_BYTES, pitch, bytes, rows,
                   depth * SPICA_OPERAND_BYTES, rows, bytes);
}

SPICA_INLINE void gemm_load_b(const Gemm *gemm, uint32_t place, uint32_t k, uint32_t column)
{
    uint32_t depth = gemm_least(gemm->k - k, GEMM_K);
    uint32_t width = gemm_least(gemm->n - column, GEMM_N);
    uint32_t pitch = gemm->b_pitch * SPICA_OPERAND_BYTES, bytes = VIRGO_B_PITCH(width);
    virgo_dma_load(place, gemm->b + k * pitch + column * SPICA_OPERAND_BYTES, pitch, bytes, depth,
                   width * SPICA_OPERAND_BYTES, VIRGO_B_ROWS(depth), bytes);
}

/* Loads what a step needs and is not there. */
SPICA_INLINE void gemm_load(const Gemm *gemm, const GemmPlan *plan, const GemmStep *at)
{
    uint32_t k = at->k * GEMM_K;
    if (plan->keeps_b ? at->loads_swept : at->loads_kept)
        gemm_load_a(gemm, plan->keeps_b ? at->swept : at->kept, gemm_row(plan, at), k);
    if (plan->keeps_b ? at->loads_kept : at->loads_swept)
        gemm_load_b(gemm, plan->keeps_b ? at->kept : at->swept, k, gemm_column(plan, at));
}

/* How many computes must be done before a step's loads, those that use the same slots, less those
 * that are: at most 0 if they may begin. */
SPICA_INLINE int32_t gemm_missing(const GemmStep *at, uint32_t computes_done)
{
    return (int32_t)(at->step + 1 - at->distance - computes_done);
}

/* What is known of the devices: counters before this product, what is done of it, and the size of
 * tiles that is set. */
typedef struct {
    uint32_t first_load, first_compute, loads_done, computes_done;
    uint32_t sizes, depth;
} GemmState;

/* Waits until so many computes are done. */
SPICA_INLINE void gemm_await(GemmState *state, uint32_t computes)
{
    uint32_t count = state->first_compute + computes;
    state->computes_done = virgo_await(SPICA_MATRIX_COMPUTES_DONE, count) - state->first_compute;
}

/* Prepares the compute of a step, waits for its operands and a place, starts it, and queues the
 * store of the tile of C that it completes. */
SPICA_INLINE void gemm_multiply(const Gemm *gemm, const GemmPlan *plan, const GemmStep *at,
                                GemmState *state)
{
    uint32_t row = gemm_row(plan, at), column = gemm_column(plan, at);
    uint32_t m = gemm_least(gemm->m - row, GEMM_M), n = gemm_least(gemm->n - column, GEMM_N);
    uint32_t k = gemm_least(gemm->k - at->k * GEMM_K, GEMM_K);
    if (state->sizes != (m | n << 16) || state->depth != k) {
        state->sizes = m | n << 16;
        state->depth = k;
        virgo_tile(m, n, k);
        virgo_store_pitch(gemm->c_pitch);
    }
    virgo_operands(plan->keeps_b ? at->swept : at->kept,
                   (plan->keeps_b ? at->kept : at->swept) + VIRGO_B_BYTES(n, k));
    virgo_prepare(at->k ? VIRGO_ACCUMULATE : 0);
    if (at->loads > state->loads_done) {
        uint32_t count = state->first_load + at->loads;
        state->loads_done = virgo_await(SPICA_DMA_LOADS_DONE, count) - state->first_load;
    }
    if (at->step > state->computes_done + 1)
        gemm_await(state, at->step - 1);
    virgo_start();
    if (at->k == plan->depth - 1) {
        uint32_t bytes = gemm->options & VIRGO_WIDE ? SPICA_WIDE_BYTES : SPICA_NARROW_BYTES;
        virgo_store(gemm->c + (row * gemm->c_pitch + column) * bytes, gemm->options);
    }
}

/* The same for both choices, of which the compiler makes one each. */
SPICA_INLINE void gemm_walk(const Gemm *all, int keeps_b, uint32_t first_load)
{
    const Gemm gemm = *all; /* as a whole, or it is read again after every command */
    const GemmPlan plan = gemm_plan(&gemm, keeps_b);
    GemmState state = {
        .first_load = first_load,
        .first_compute = spica_load_register(SPICA_MATRIX_COMPUTES_DONE),
    };
    GemmStep at = gemm_first(&plan);
    gemm_multiply(&gemm, &plan, &at, &state);
    if (plan.steps > 1) {
        gemm_next(&plan, &at);
        for (GemmStep ahead = at;;) {
            /* What this step needs, as soon as there is room, and then what there is room for: no
             * more than the DMA can queue, which would hold up the start of the compute. */
            while (ahead.step < plan.steps) {
                int32_t missing = gemm_missing(&ahead, state.computes_done);
                if (ahead.step > at.step &&
                    (missing > 0 || ahead.loads - state.loads_done > SPICA_CONFIG_DMA_QUEUE))
                    break;
                if (missing > 0)
                    gemm_await(&state, state.computes_done + missing);
                gemm_load(&gemm, &plan, &ahead);
                gemm_next(&plan, &ahead);
            }
            gemm_multiply(&gemm, &plan, &at, &state);
            if (at.step == plan.steps - 1)
                break;
            gemm_next(&plan, &at);
        }
    }
    virgo_fence(0);
}

/* Computes C; it is in DRAM on return. One thread calls this, and no other uses the DMA or the
 * matrix unit. Shared memory is overwritten. */
static void gemm_run(const Gemm *gemm)
{
    const uint32_t first_load = spica_load_register(SPICA_DMA_LOADS_DONE);
    /* Whatever the way is, it begins here: loads first, what can be thought of meanwhile later. */
    gemm_load_a(gemm, 0, 0, 0);
    gemm_load_b(gemm, GEMM_HALF, 0, 0);
    if (gemm_keeps_b(gemm))
        gemm_walk(gemm, 1, first_load);
    else
        gemm_walk(gemm, 0, first_load);
}

#endif
