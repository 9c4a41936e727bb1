/* GEMM library: C = A * B on the matrix unit, commanded by two warps of one thread each, or by one
 * thread.
 *
 * One warp loads, the other multiplies: the state of both does not fit the registers of one. They
 * synchronise only through the counters of the devices.
 *
 * Tiles of A and B are loaded into slots of shared memory, half of it for each operand, as far
 * ahead as slots are free. Two computes are in flight at a time. The store of a tile of C is queued
 * behind its last compute. Tiles of C are computed panel by panel: one operand is kept while the
 * other is swept in alternating directions, so that the tiles swept last are reused first. The
 * amount of data to load decides which operand is kept.
 *
 * If the cores finish C (gemm_finish.h), a tile of C goes to shared memory instead. All warps meet
 * twice per tile: when the tile is ready, and when all have read it and the next may overwrite it.
 * The commanding thread arrives at these barriers last, unless K is so short that it must wait for
 * them before the next tile. */
#ifndef GEMM_H
#define GEMM_H

#include <virgo.h>

/* Range of shared memory for this program, from its start. A program for several matrix units gives
 * each its own range, at a multiple of the bytes of its blocks. */
#ifndef GEMM_FIRST
#define GEMM_FIRST 0
#define GEMM_SHARED_BYTES SPICA_SHARED_BYTES
#endif

/* Whether the cores finish C. */
#ifndef GEMM_FINISHED
#define GEMM_FINISHED 0
#endif

/* Whether warp 1 loads; at least one warp must then remain to finish C. */
#define GEMM_LOADERS (SPICA_WARPS > 1 && SPICA_WARPS * SPICA_CORES > 1 + GEMM_FINISHED)

/* Rows of M x K, K x N and M x N elements; pitches in elements, at least a row. */
typedef struct {
    uint32_t m, n, k;
    const char *a, *b;
    char *c;
    uint32_t a_pitch, b_pitch, c_pitch;
    uint32_t options; /* options of virgo_store */
} Gemm;

enum {
    GEMM_M = VIRGO_TILE_M,
    /* If a block is wider than its elements, a row of several blocks is not dense in DRAM. */
    GEMM_N = VIRGO_B_BLOCK > VIRGO_COLUMNS * VIRGO_OPERAND_BYTES ? VIRGO_COLUMNS : VIRGO_TILE_N,
    GEMM_LEAST_CYCLES = 1000, /* least duration of a compute: longer than its commands and loads */
    GEMM_ALL_CHANNELS =
        SPICA_CONFIG_AXI_MASTERS * SPICA_CONFIG_AXI_INTERLEAVE_BYTES / VIRGO_OPERAND_BYTES,
    GEMM_ALL_COMMANDS =
        VIRGO_BLOCKS(GEMM_LEAST_CYCLES * VIRGO_ROWS * VIRGO_COLUMNS, VIRGO_TILE_M * VIRGO_TILE_N),
    GEMM_SHORTEST =
        VIRGO_B_ROWS(GEMM_ALL_CHANNELS > GEMM_ALL_COMMANDS ? GEMM_ALL_CHANNELS : GEMM_ALL_COMMANDS),
    GEMM_WANTED = VIRGO_A_BLOCK > VIRGO_ROWS * VIRGO_OPERAND_BYTES ? VIRGO_ROWS
                  : GEMM_SHORTEST < VIRGO_TILE_K                     ? GEMM_SHORTEST
                                                                     : VIRGO_TILE_K,
    /* The tile of C that the cores finish is at the end, operands before it: half for each, or in
     * proportion to their blocks along K. */
    GEMM_C_BYTES = GEMM_M * VIRGO_BLOCKS(GEMM_N, VIRGO_COLUMNS) * VIRGO_COLUMNS * VIRGO_WIDE_BYTES,
    GEMM_C_PLACE = GEMM_SHARED_BYTES - GEMM_FINISHED * GEMM_C_BYTES,
    GEMM_A_BLOCKS = GEMM_M * VIRGO_A_BLOCK,
    GEMM_B_BLOCKS = VIRGO_ROWS * VIRGO_B_PITCH(GEMM_N),
    GEMM_A_PART = GEMM_C_PLACE / (GEMM_A_BLOCKS + GEMM_B_BLOCKS) * GEMM_A_BLOCKS,
    GEMM_A_ROOM = GEMM_FINISHED ? GEMM_A_PART / VIRGO_B_BLOCK * VIRGO_B_BLOCK : GEMM_C_PLACE / 2,
    GEMM_B_ROOM = GEMM_C_PLACE - GEMM_A_ROOM,
    /* Two slots of each operand must fit: blocks along K such that the operand's range holds two
     * tiles. */
    GEMM_A_FIT = GEMM_A_ROOM / 2 / GEMM_A_BLOCKS * VIRGO_ROWS,
    GEMM_B_FIT = GEMM_B_ROOM / 2 / GEMM_B_BLOCKS * VIRGO_ROWS,
    GEMM_FIT = GEMM_A_FIT < GEMM_B_FIT ? GEMM_A_FIT : GEMM_B_FIT,
    GEMM_K = GEMM_WANTED < GEMM_FIT ? GEMM_WANTED : GEMM_FIT,
    GEMM_A_BYTES = GEMM_M * VIRGO_A_PITCH(GEMM_K),
    GEMM_B_BYTES = VIRGO_B_BYTES(GEMM_N, GEMM_K),
};
_Static_assert(GEMM_K > 0, "the range of each operand must hold two tiles of one block along K");

#include "gemm_steps.h"
#include "gemm_hand.h"

/* A product whose first loads are queued, and the devices' counters before it. */
typedef struct {
    const Gemm *gemm;
    uint32_t loads, computes;
} GemmBegun;

/* Known counters of the devices, and the state of the last tile of C handed to the cores. */
typedef struct {
    uint32_t loads_done, computes_done;
    GemmHanded handed;
} GemmKnown;

SPICA_INLINE void gemm_await_loads(GemmKnown *known, uint32_t count)
{
    if ((int32_t)(count - known->loads_done) > 0)
        known->loads_done =
            gemm_wait(&known->handed, SPICA_CONSTANT(SPICA_OF_UNIT(DMA, LOADS_DONE)), count);
}

SPICA_INLINE void gemm_await_computes(GemmKnown *known, uint32_t count)
{
    if ((int32_t)(count - known->computes_done) > 0)
        known->computes_done = gemm_wait(
            &known->handed, SPICA_CONSTANT(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE)), count);
}

#include "gemm_load.h"
#include "gemm_multiply.h"

/* For the loading warp, which starts with undefined registers; start-up does not clear it. */
static GemmBegun gemm_begun __attribute__((section(".unset")));

/* Reads all words of a product at once; otherwise the compiler reads each at its first use. */
SPICA_INLINE Gemm gemm_read(const Gemm *from)
{
    Gemm gemm = *from;
    __asm__ volatile("" : "+r"(gemm.m), "+r"(gemm.n), "+r"(gemm.k), "+r"(gemm.a), "+r"(gemm.b),
                          "+r"(gemm.c), "+r"(gemm.a_pitch), "+r"(gemm.b_pitch), "+r"(gemm.c_pitch),
                          "+r"(gemm.options));
    return gemm;
}

/* Queues the loads of the first step, which is the same for both plans. The plan is computed while
 * they run. */
SPICA_INLINE GemmBegun gemm_begin(const Gemm *from, const Gemm *gemm)
{
    GemmBegun begun = {.gemm = from, .loads = spica_load_register(SPICA_OF_UNIT(DMA, LOADS_DONE))};
    uint32_t m = gemm_least(gemm->m, GEMM_M), n = gemm_least(gemm->n, GEMM_N);
    uint32_t k = gemm_least(gemm->k, GEMM_K);
    gemm_load_a(GEMM_FIRST, gemm->a, gemm->a_pitch * VIRGO_OPERAND_BYTES, m, k);
    gemm_load_b(GEMM_FIRST + GEMM_A_ROOM, gemm->b, gemm->b_pitch * VIRGO_OPERAND_BYTES, k, n);
    begun.computes = spica_load_register(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE));
    if (GEMM_LOADERS)
        gemm_begun = begun;
    return begun;
}

/* Instantiates both plans, one branch each. The first compute precedes the choice. */
SPICA_INLINE void gemm_command(const Gemm *gemm, GemmBegun begun)
{
    GemmTarget target = gemm_target(gemm);
    GemmKnown known = {.loads_done = begun.loads, .computes_done = begun.computes};
    gemm_multiply_first(gemm, &target, &known);
    int keeps_b = gemm_keeps_b(gemm);
    if (GEMM_LOADERS && keeps_b)
        gemm_multiply_all(gemm, begun, target, known, 1);
    else if (GEMM_LOADERS)
        gemm_multiply_all(gemm, begun, target, known, 0);
    else if (keeps_b)
        gemm_do_all(gemm, begun, target, known, 1);
    else
        gemm_do_all(gemm, begun, target, known, 0);
    virgo_fence(0);
}

/* Body of warp 1, which ends here. It is compiled into the function that starts it, but shares no
 * registers or stack with it: the compiler's values there belong to another warp. */
SPICA_INLINE void gemm_supply(void)
{
    const GemmBegun *place;
    __asm__ volatile("" : : : "a0", SPICA_EVERY_REGISTER_);
    __asm__ volatile("la %0, %1" : "=r"(place) : "S"(&gemm_begun));
    const GemmBegun begun = *place;
    const Gemm gemm = gemm_read(begun.gemm);
    if (gemm_keeps_b(&gemm))
        gemm_load_all(&gemm, begun, 1);
    else
        gemm_load_all(&gemm, begun, 0);
    __asm__ volatile("1:\t" SPICA_INSN("x0, x0, x0", SPICA_INSN_VX_TMC) "\n\tj 1b");
    __builtin_unreachable();
}

/* Computes C; C is in DRAM on return. One thread of warp 0 calls this. Warp 1 must be idle, and
 * nothing else may use the DMA or the matrix unit. Shared memory is overwritten. */
static void gemm_run(const Gemm *from)
{
    const Gemm gemm = gemm_read(from);
    const GemmBegun begun = gemm_begin(from, &gemm);
#if GEMM_LOADERS
    __asm__ goto("li t0, 2\n\t"
                 "la t1, %l[loads]\n\t"
                 SPICA_INSN("x0, t0, t1", SPICA_INSN_VX_WSPAWN)
                 : : : "t0", "t1", "memory" : loads);
    gemm_command(&gemm, begun);
    while (vx_warp_mask() & 2)
        ;
    return;
loads:
    gemm_supply();
#else
    gemm_command(&gemm, begun);
#endif
}

#endif
