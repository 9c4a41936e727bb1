/* Progress of a product: waits for loads and computes. */
#ifndef GEMM_PROGRESS_H
#define GEMM_PROGRESS_H

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

#endif
