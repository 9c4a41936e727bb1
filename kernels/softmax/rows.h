/* Rows of a matrix, each processed by a warp, BLOCK adjacent columns per iteration; values of the
 * lanes are combined by shuffles. In cores without them they are combined in shared memory, and
 * warps without slots there take no rows. */
#ifndef SPICA_KERNELS_ROWS_H
#define SPICA_KERNELS_ROWS_H

#include <spica.h>
#include <spica_parallel.h>

enum {
    UNROLL = 4,
    BLOCK = UNROLL * SPICA_THREADS,
    WARPS = SPICA_WARPS * SPICA_CORES,
    ROOM = SPICA_SHARED_BYTES / (4 * SPICA_THREADS),
    WORKERS = SPICA_WARP_OPERATIONS || WARPS < ROOM ? WARPS : ROOM,
};

_Static_assert(SPICA_WARP_OPERATIONS || ROOM >= 1,
               "[larger shared.size] shared memory must hold a word for each lane");

// Combines the values of all lanes; every lane returns the same.
#if SPICA_WARP_OPERATIONS
SPICA_INLINE float sum_of_lanes(float value, volatile float *slots, uint32_t lane) {
    (void)slots, (void)lane;
    return spica_warp_sumf(value);
}

SPICA_INLINE float largest_of_lanes(float value, volatile float *slots, uint32_t lane) {
    (void)slots, (void)lane;
    return spica_warp_maxf(value);
}
#else
SPICA_INLINE float add(float a, float b) { return a + b; }

SPICA_INLINE float larger(float a, float b) { return fmaxf(a, b); }

// A warp runs in lockstep: all lanes write their slots before any is read.
SPICA_INLINE float across_lanes(float value, volatile float *slots, uint32_t lane,
                                float (*combine)(float, float)) {
    if ((SPICA_THREADS & (SPICA_THREADS - 1)) == 0) {
#pragma unroll
        for (uint32_t distance = 1; distance < SPICA_THREADS; distance *= 2) {
            slots[lane] = value;
            value = combine(value, slots[lane ^ distance]);
        }
        return value;
    }
    slots[lane] = value;
    float all = slots[0];
#pragma unroll
    for (uint32_t other = 1; other < SPICA_THREADS; other++) all = combine(all, slots[other]);
    return all;
}

SPICA_INLINE float sum_of_lanes(float value, volatile float *slots, uint32_t lane) {
    return across_lanes(value, slots, lane, add);
}

SPICA_INLINE float largest_of_lanes(float value, volatile float *slots, uint32_t lane) {
    return across_lanes(value, slots, lane, larger);
}
#endif

#endif
