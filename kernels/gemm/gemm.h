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
 * If the cores finish C (gemm_finish.h), a tile of C goes to shared memory instead. All warps wait
 * twice per tile: when the tile is ready, and when all have read it and the next may overwrite it.
 * The commanding thread arrives at these barriers last, unless K is so short that it must wait for
 * them before the next tile. */
#ifndef GEMM_H
#define GEMM_H

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

/* Sleeps until no command is running. */
SPICA_INLINE void gemm_fence(void)
{
    virgo_fence(0);
}

/* Whether the first step is the only one. */
SPICA_INLINE int gemm_is_one_step(const Gemm *gemm)
{
    return gemm->m <= GEMM_M && gemm->n <= GEMM_N && gemm->k <= GEMM_K;
}

/* The steps after the first, with its store. Instantiates both plans, one branch each. If the cores
 * finish C, they share the divider, so the compiler must not move the divisions of the plan before
 * the first compute. */
SPICA_INLINE void gemm_command_rest(const Gemm *first, GemmBegun begun, GemmTarget target,
                                    GemmKnown known, uint32_t a_panels)
{
    Gemm gemm = *first;
    if (GEMM_FINISHED)
        __asm__ volatile("" : "+r"(gemm.m), "+r"(gemm.n), "+r"(gemm.k));
    int keeps_b = gemm_keeps_b(&gemm, a_panels);
    if (GEMM_LOADERS && keeps_b)
        gemm_multiply_all(&gemm, begun, target, known, a_panels, 1);
    else if (GEMM_LOADERS)
        gemm_multiply_all(&gemm, begun, target, known, a_panels, 0);
    else if (keeps_b)
        gemm_do_all(&gemm, begun, target, known, a_panels, 1);
    else
        gemm_do_all(&gemm, begun, target, known, a_panels, 0);
}

/* All computes and stores. The first compute precedes the choice of the plan. */
SPICA_INLINE void gemm_command(const Gemm *first, GemmBegun begun)
{
    GemmTarget target = gemm_target(first);
    GemmKnown known = {.loads_done = begun.loads, .computes_done = begun.computes};
    uint32_t a_panels = gemm_multiply_first(first, &target, &known);
    if (gemm_is_one_step(first)) {
        gemm_complete(&target, &known, 0, 0);
        gemm_hand_over(&known.handed);
    } else {
        gemm_command_rest(first, begun, target, known, a_panels);
    }
    gemm_fence();
}

#if GEMM_LOADERS
/* Body of warp 1, which ends here. A function of its own: registers and stack of the function that
 * starts it belong to another warp. */
static __attribute__((noinline, noreturn, used)) void gemm_supply(void)
{
    SPICA_ENTRY_
    const GemmBegun begun = gemm_begun;
    const Gemm gemm = gemm_read(begun.gemm);
    const uint32_t a_panels = gemm_panels(&gemm, GEMM_A_SLOTS);
    if (gemm_keeps_b(&gemm, a_panels))
        gemm_load_all(&gemm, begun, a_panels, 1);
    else
        gemm_load_all(&gemm, begun, a_panels, 0);
    vx_tmc_zero();
    __builtin_unreachable();
}
#endif

/* Errors of the matrix unit and the DMA: 0 if every command was right. */
SPICA_INLINE int gemm_error(void)
{
    return (int)(spica_load_register(SPICA_OF_UNIT(MATRIX, ERROR)) |
                 spica_load_register(SPICA_OF_UNIT(DMA, ERROR)));
}

/* Computes C; C is in DRAM on return. One thread of warp 0 calls this. Warp 1 must be idle, and
 * nothing else may use the DMA or the matrix unit. Shared memory is overwritten. */
static void gemm_run(const Gemm *from)
{
    Gemm gemm = gemm_read(from);
    const GemmBegun begun = gemm_begin(from, &gemm);
    /* The first loads go before the comparisons of sizes. */
    SPICA_ANEW(gemm.m);
    SPICA_ANEW(gemm.n);
    SPICA_ANEW(gemm.k);
#if GEMM_LOADERS
    if (!gemm_is_one_step(&gemm))
        vx_wspawn(2, gemm_supply);
    gemm_command(&gemm, begun);
    while (vx_warp_mask() & 2)
        ;
#else
    gemm_command(&gemm, begun);
#endif
}

#endif
