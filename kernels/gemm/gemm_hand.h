/* How the thread that commands hands tiles of C to the cores, where these finish C. Part of gemm.h.
 *
 * All warps meet twice for a tile: when it is there, and when it was read and the next may come.
 * The thread looks for a tile only while it waits for something else. */
#ifndef GEMM_HAND_H
#define GEMM_HAND_H

#if GEMM_FINISHED

/* Computes started, in all; whether there was a tile for the cores; whether one is on its way. */
typedef struct {
    uint32_t started, is_handed, is_awaited;
} GemmHanded;

/* All warps but the one that loads. */
SPICA_INLINE void gemm_meet(void)
{
    virgo_meet_of(SPICA_WARPS - (GEMM_LOADERS && vx_core_id() == 0));
}

SPICA_INLINE void gemm_note_started(GemmHanded *handed, uint32_t started)
{
    handed->started = started;
}

/* Lets the cores go on if the tile that they wait for has come. */
SPICA_INLINE void gemm_look(GemmHanded *handed)
{
    const volatile uint32_t *place = (const volatile uint32_t *)SPICA_OF_UNIT(MATRIX, RUNNING);
    /* Of the commands that run, one that is no compute is the tile. They are counted before it is
     * known which computes are done, so that it may only seem to run for longer. */
    uint32_t running = virgo_look_again(&place);
    uint32_t done = spica_load_register(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE));
    if (running <= handed->started - done) {
        gemm_meet();
        handed->is_awaited = 0;
    }
}

/* Waits until a counter is at `count`, as virgo_await; a tile on its way is handed over. */
SPICA_INLINE uint32_t gemm_wait(GemmHanded *handed, uint32_t counter, uint32_t count)
{
    while (handed->is_awaited && (int32_t)(spica_load_register(counter) - count) < 0)
        gemm_look(handed);
    return virgo_await(counter, count);
}

/* Waits until no tile is on its way. */
SPICA_INLINE void gemm_hand_over(GemmHanded *handed)
{
    while (handed->is_awaited)
        gemm_look(handed);
}

/* Sends a tile of C to where the cores find it, as soon as they have read the one before. */
SPICA_INLINE void gemm_hand(GemmHanded *handed)
{
    gemm_hand_over(handed);
    if (handed->is_handed)
        gemm_meet();
    virgo_spill(SPICA_CONSTANT(GEMM_FIRST + GEMM_C_PLACE), VIRGO_WIDE);
    handed->is_handed = handed->is_awaited = 1;
}

#else

/* Nothing, so that the compiler has nothing to keep. */
typedef struct {
} GemmHanded;

SPICA_INLINE void gemm_note_started(GemmHanded *handed, uint32_t started)
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

#endif
