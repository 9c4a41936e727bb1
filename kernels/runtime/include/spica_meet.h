/* Meetings of groups of warps of all cores. */
#ifndef SPICA_MEET_H
#define SPICA_MEET_H

#include <spica.h>
#include <spica_parallel.h>

/* Waits for `warps` warps of each core, and for the accesses of this warp. Warp `first` of each core
 * takes part, and no two groups of warps have the same one. */
SPICA_INLINE void spica_meet(uint32_t first, uint32_t warps)
{
    uint32_t barrier = SPICA_BARRIER_ALL - first;
    SPICA_ANEW(barrier);
    vx_barrier(barrier, warps);
#if !SPICA_BARRIERS_OF_CLUSTER && SPICA_CORES > 1
    if (vx_warp_id() == first)
        vx_barrier(0x80000000u | barrier, SPICA_CORES);
    vx_barrier(barrier, warps);
#endif
}

#endif
