/* Progress of a product: waits for loads and computes, and hand-over of C tiles from the commanding
 * thread to the cores, if these finish C.
 *
 * A tile has two barriers of all warps: when it is ready, and when it has been read and the next may
 * overwrite it. The thread checks for a tile only while it waits for something else. */
#ifndef GEMM_PROGRESS_H
#define GEMM_PROGRESS_H

#include "gemm_steps.h"

#if GEMM_FINISHED

/* Computes started in all; whether any tile was handed over; whether one is in progress. */
typedef struct {
    GemmAside started, is_handed;
    uint32_t is_awaited;
} GemmHanded;

/* Barrier of all warps except the loading one. */
SPICA_INLINE void gemm_barrier(void)
{
    virgo_meet_of(SPICA_WARPS - (GEMM_LOADERS && vx_core_id() == 0));
}

SPICA_INLINE void gemm_record_started(GemmHanded *handed, uint32_t started)
{
    handed->started = gemm_aside(started);
}

/* Releases the cores if the tile they wait for is ready; otherwise sleeps until a command has
 * ended, unless the caller also waits for loads. */
SPICA_INLINE void gemm_poll(GemmHanded *handed, int waits_for_loads)
{
    /* Among the running commands, the one that is not a compute is the tile. It is read before the
     * number of finished computes, so the tile can only appear to run longer than it does. */
    const volatile uint32_t *address = (const volatile uint32_t *)SPICA_OF_UNIT(MATRIX, RUNNING);
    uint32_t running = waits_for_loads ? virgo_look_again(&address) : *address;
    uint32_t done = spica_load_register(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE));
    if (running <= gemm_of(handed->started) - done) {
        gemm_barrier();
        handed->is_awaited = 0;
    } else if (!waits_for_loads) {
        vx_wait(SPICA_OF_UNIT(MATRIX, RUNNING), running - 1);
    }
}

/* Waits until a counter is at `count`, like virgo_await; hands over a tile in progress. */
SPICA_INLINE uint32_t gemm_wait(GemmHanded *handed, uint32_t counter, uint32_t count)
{
    while (handed->is_awaited && (int32_t)(spica_load_register(counter) - count) < 0)
        gemm_poll(handed, counter != SPICA_OF_UNIT(MATRIX, COMPUTES_DONE));
    return virgo_await(counter, count);
}

/* Waits until no tile is in progress. */
SPICA_INLINE void gemm_hand_over(GemmHanded *handed)
{
    while (handed->is_awaited)
        gemm_poll(handed, 0);
}

/* Stores a tile of C to shared memory for the cores, as soon as they have read the previous one. */
SPICA_INLINE void gemm_hand(GemmHanded *handed)
{
    gemm_hand_over(handed);
    if (gemm_of(handed->is_handed))
        gemm_barrier();
    virgo_spill(SPICA_CONSTANT(GEMM_FIRST + GEMM_C_PLACE), VIRGO_WIDE);
    handed->is_handed = gemm_aside(1);
    handed->is_awaited = 1;
}

#else

/* Empty, so that the compiler keeps nothing. */
typedef struct {
} GemmHanded;

SPICA_INLINE void gemm_record_started(GemmHanded *handed, uint32_t started)
{
    (void)handed, (void)started;
}

SPICA_INLINE uint32_t gemm_wait(GemmHanded *handed, uint32_t counter, uint32_t count)
{
    (void)handed;
    return virgo_await(counter, count);
}

SPICA_INLINE void gemm_hand_over(GemmHanded *handed)
{
    (void)handed;
}

SPICA_INLINE void gemm_hand(GemmHanded *handed)
{
    (void)handed;
}

#endif

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
    known->loads_done =
        gemm_wait(&known->handed, SPICA_CONSTANT(SPICA_OF_UNIT(DMA, LOADS_DONE)), count);
}

SPICA_INLINE void gemm_await_computes(GemmKnown *known, uint32_t count)
{
    known->computes_done = gemm_wait(&known->handed, SPICA_OF_UNIT(MATRIX, COMPUTES_DONE), count);
}

#endif
