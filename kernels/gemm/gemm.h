/* C = A * B on the matrix unit, commanded by one thread.
 *
 * Tiles of A and B are loaded into slots of shared memory, half of it for each operand, as far
 * ahead as slots are free; two computes are under way at a time; the store of a tile of C is queued
 * behind its last compute. Tiles of C are made panel by panel: the operand that is kept stays while
 * the other is swept, there and back, so that what was seen last at a turn is still there. Which
 * one is kept is decided by what must be loaded.
 *
 * Where the cores finish C (gemm_finish.h), a tile of C goes to shared memory instead, and all
 * warps meet twice: when it is there, and when they have read it and the next may come. The
 * commanding thread comes to these barriers last, unless K is so short that it must wait for them
 * with the next tile. */
#ifndef GEMM_H
#define GEMM_H

#include <virgo.h>

/* The part of shared memory that is used, from its start; who has programs on several matrix units
 * gives each its own, at a multiple of the bytes of its blocks. */
#ifndef GEMM_FIRST
#define GEMM_FIRST 0
#define GEMM_SHARED_BYTES SPICA_SHARED_BYTES
#endif

/* Whether the cores finish C. */
#ifndef GEMM_FINISHED
#define GEMM_FINISHED 0
#endif

/* Rows of M x K, K x N and M x N elements; pitches in elements, at least a row. */
typedef struct {
    uint32_t m, n, k;
    const char *a, *b;
    char *c;
    uint32_t a_pitch, b_pitch, c_pitch;
    uint32_t options; /* of virgo_store */
} Gemm;

enum {
    GEMM_M = VIRGO_TILE_M,
    /* Where a block is wider than its elements, a row of several is not dense in DRAM. */
    GEMM_N = VIRGO_B_BLOCK > VIRGO_COLUMNS * VIRGO_OPERAND_BYTES ? VIRGO_COLUMNS : VIRGO_TILE_N,
    GEMM_LEAST_CYCLES = 1000, /* of a compute: commands for it and its loads take less */
    GEMM_ALL_CHANNELS =
        SPICA_CONFIG_AXI_MASTERS * SPICA_CONFIG_AXI_INTERLEAVE_BYTES / VIRGO_OPERAND_BYTES,
    GEMM_ALL_COMMANDS =
        VIRGO_BLOCKS(GEMM_LEAST_CYCLES * VIRGO_ROWS * VIRGO_COLUMNS, VIRGO_TILE_M * VIRGO_TILE_N),
    GEMM_SHORTEST =
        VIRGO_B_ROWS(GEMM_ALL_CHANNELS > GEMM_ALL_COMMANDS ? GEMM_ALL_CHANNELS : GEMM_ALL_COMMANDS),
    GEMM_WANTED = VIRGO_A_BLOCK > VIRGO_ROWS * VIRGO_OPERAND_BYTES ? VIRGO_ROWS
                  : GEMM_SHORTEST < VIRGO_TILE_K                     ? GEMM_SHORTEST
                                                                     : VIRGO_TILE_K,
    /* A tile of C for the cores to finish lies at the end, operands before it: half for each, or
     * as much as its part of a block along K. */
    GEMM_C_BYTES = GEMM_M * VIRGO_BLOCKS(GEMM_N, VIRGO_COLUMNS) * VIRGO_COLUMNS * VIRGO_WIDE_BYTES,
    GEMM_C_PLACE = GEMM_SHARED_BYTES - GEMM_FINISHED * GEMM_C_BYTES,
    GEMM_A_BLOCKS = GEMM_M * VIRGO_A_BLOCK,
    GEMM_B_BLOCKS = VIRGO_ROWS * VIRGO_B_PITCH(GEMM_N),
    GEMM_A_PART = GEMM_C_PLACE / (GEMM_A_BLOCKS + GEMM_B_BLOCKS) * GEMM_A_BLOCKS,
    GEMM_A_ROOM = GEMM_FINISHED ? GEMM_A_PART / VIRGO_B_BLOCK * VIRGO_B_BLOCK : GEMM_C_PLACE / 2,
    GEMM_B_ROOM = GEMM_C_PLACE - GEMM_A_ROOM,
    /* Two slots of each operand must fit: blocks along K of which its room holds two tiles. */
    GEMM_A_FIT = GEMM_A_ROOM / 2 / GEMM_A_BLOCKS * VIRGO_ROWS,
    GEMM_B_FIT = GEMM_B_ROOM / 2 / GEMM_B_BLOCKS * VIRGO_ROWS,
    GEMM_FIT = GEMM_A_FIT < GEMM_B_FIT ? GEMM_A_FIT : GEMM_B_FIT,
    GEMM_K = GEMM_WANTED < GEMM_FIT ? GEMM_WANTED : GEMM_FIT,
    GEMM_A_BYTES = GEMM_M * VIRGO_A_PITCH(GEMM_K),
    GEMM_B_BYTES = VIRGO_B_BYTES(GEMM_N, GEMM_K),
};
_Static_assert(GEMM_K > 0, "the room of each operand must hold two tiles of a block along K");

#include "gemm_steps.h"
#include "gemm_hand.h"

SPICA_INLINE void gemm_load_a(const Gemm *gemm, uint32_t place, uint32_t row, uint32_t k)
{
    uint32_t rows = gemm_least(gemm->m - row, GEMM_M), depth = gemm_least(gemm->k - k, GEMM_K);
    uint32_t pitch = gemm->a_pitch * VIRGO_OPERAND_BYTES, bytes = VIRGO_A_PITCH(depth);
    virgo_dma_load(place, gemm->a + row * pitch + k * VIRGO_OPERAND_BYTES, pitch, bytes, rows,
                   depth * VIRGO_OPERAND_BYTES, rows, bytes);
}

SPICA_INLINE void gemm_load_b(const Gemm *gemm, uint32_t place, uint32_t k, uint32_t column)
{
    uint32_t depth = gemm_least(gemm->k - k, GEMM_K);
    uint32_t width = gemm_least(gemm->n - column, GEMM_N);
    uint32_t pitch = gemm->b_pitch * VIRGO_OPERAND_BYTES, bytes = VIRGO_B_PITCH(width);
    virgo_dma_load(place, gemm->b + k * pitch + column * VIRGO_OPERAND_BYTES, pitch, bytes, depth,
                   width * VIRGO_OPERAND_BYTES, VIRGO_B_ROWS(depth), bytes);
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
    GemmHanded handed;
} GemmState;

/* Waits until so many computes are done. */
SPICA_INLINE void gemm_await(GemmState *state, uint32_t computes)
{
    uint32_t count = state->first_compute + computes;
    uint32_t done = gemm_wait(&state->handed, SPICA_OF_UNIT(MATRIX, COMPUTES_DONE), count);
    state->computes_done = done - state->first_compute;
}

/* Prepares the compute of a step, waits for its operands and a place, starts it, and queues the
 * store of the tile of C that it completes, or its way to the cores. */
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
        state->loads_done =
            gemm_wait(&state->handed, SPICA_OF_UNIT(DMA, LOADS_DONE), count) - state->first_load;
    }
    if (at->step > state->computes_done + 1)
        gemm_await(state, at->step - 1);
    virgo_start();
    gemm_note_started(&state->handed, state->first_compute + at->step + 1);
    if (GEMM_FINISHED && at->k == plan->depth - 1) {
        gemm_hand(&state->handed);
    } else if (at->k == plan->depth - 1) {
        uint32_t bytes = gemm->options & VIRGO_WIDE ? VIRGO_WIDE_BYTES : VIRGO_NARROW_BYTES;
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
        .first_compute = spica_load_register(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE)),
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
    gemm_hand_over(&state.handed);
    virgo_fence(0);
}

/* Computes C; it is in DRAM on return. One thread calls this, and no other uses the DMA or the
 * matrix unit. Shared memory is overwritten. */
static void gemm_run(const Gemm *gemm)
{
    const uint32_t first_load = spica_load_register(SPICA_OF_UNIT(DMA, LOADS_DONE));
    /* Whatever the way is, it begins here: loads first, what can be thought of meanwhile later. */
    gemm_load_a(gemm, GEMM_FIRST, 0, 0);
    gemm_load_b(gemm, GEMM_FIRST + GEMM_A_ROOM, 0, 0);
    if (gemm_keeps_b(gemm))
        gemm_walk(gemm, 1, first_load);
    else
        gemm_walk(gemm, 0, first_load);
}

#endif
