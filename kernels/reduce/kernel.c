// Sum of n floats.
#include <spica.h>
#include <spica_parallel.h>

// Each thread sums its share in UNROLL chains; a warp takes BLOCK consecutive elements at a time.
// The threads' sums are then combined in three steps: over all warps of a core per lane, over the
// lanes, over the cores.
enum {
    UNROLL = 8,
    BLOCK = UNROLL * SPICA_THREADS,
    ROUND = BLOCK * SPICA_WARPS * SPICA_CORES,
    ALL_THREADS = SPICA_THREADS * SPICA_WARPS * SPICA_CORES,
    // The lanes' sums followed by as many zeros, so that the tree needs no bounds checks.
    TREE = 2 * SPICA_THREADS,
    // Rows of thread sums in a core's part of shared memory: one per warp if they fit; otherwise
    // warps add theirs in turn.
    CORE_WORDS = SPICA_SHARED_BYTES / 4 / SPICA_CORES,
    ROOM = (CORE_WORDS - TREE) / SPICA_THREADS,
    ROWS = SPICA_WARPS < ROOM ? SPICA_WARPS : ROOM,
    // Words of DRAM per core, a cache line each.
    LINE_WORDS = 16,
};
_Static_assert(CORE_WORDS >= TREE + SPICA_THREADS,
               "[larger shared.size] shared memory must hold a row for each core");

typedef struct {
    uint32_t n;
    const float *x;
    float *total;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

static float core_sums[SPICA_CORES * LINE_WORDS];

SPICA_INLINE float sum_of_thread(void) {
    const uint32_t n = ARGUMENTS->n, lane = vx_thread_id();
    const uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id();
    const uint32_t whole = n / ROUND * ROUND;
    const float *x = ARGUMENTS->x + warp * BLOCK + lane;
    float sums[UNROLL] = {0};
    for (const float *end = x + whole; x != end; x += ROUND) {
#pragma unroll
        for (int i = 0; i < UNROLL; i++) sums[i] += x[i * SPICA_THREADS];
    }
    // The rest is less than a round: one row per warp at a time, the last one partial.
    x = ARGUMENTS->x;
    for (uint32_t row = whole + warp * SPICA_THREADS; row < n; row += ALL_THREADS) {
        const uint32_t i = row + lane;
        SPICA_IF (i < n) {
            sums[0] += x[i];
        } SPICA_END_IF
    }
#pragma unroll
    for (int step = UNROLL / 2; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i < step; i++) sums[i] += sums[i + step];
    return sums[0];
}

// Stores all threads' sums in `words`.
SPICA_INLINE void gather(volatile float *words, uint32_t warp, float sum) {
    volatile float *slot = words + warp % ROWS * SPICA_THREADS + vx_thread_id();
    for (uint32_t first = 0; first < SPICA_WARPS; first += ROWS) {
        if (warp - first < ROWS) *slot = first == 0 ? sum : *slot + sum;
        vx_barrier(0, SPICA_WARPS);
    }
}

// First warp of a core: the sum of `words`, in lane 0.
SPICA_INLINE float sum_of_core(volatile float *words) {
    volatile float *column = words + vx_thread_id();
    float sum = column[0];
#pragma unroll 8
    for (int row = 1; row < ROWS; row++) sum += column[row * SPICA_THREADS];
#if SPICA_WARP_OPERATIONS
    return spica_warp_sumf(sum);
#else
    volatile float *tree = column + ROWS * SPICA_THREADS;
    // A warp runs in lockstep: each lane's word is written before its neighbour reads it.
    tree[SPICA_THREADS] = 0.0f;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        if (step >= SPICA_THREADS) continue;
        tree[0] = sum;
        sum += tree[step];
    }
    return sum;
#endif
}

SPICA_INLINE void reduce(void) {
    const uint32_t core = vx_core_id(), warp = vx_warp_id();
    volatile float *words = (volatile float *)spica_shared() + core * CORE_WORDS;
    gather(words, warp, sum_of_thread());
    if (warp == 0) {
        const float sum = sum_of_core(words);
        float *result = SPICA_CORES == 1 ? ARGUMENTS->total : &core_sums[core * LINE_WORDS];
        SPICA_IF (vx_thread_id() == 0) {
            *result = sum;
        } SPICA_END_IF
    }
}

// First warp of the first core, after all cores have stored their sums.
SPICA_INLINE void reduce_cores(void) {
    float sum = core_sums[0];
    for (int core = 1; core < SPICA_CORES; core++) sum += core_sums[core * LINE_WORDS];
    *ARGUMENTS->total = sum;
}

int main(void) {
    SPICA_PARALLEL {
        reduce();
        if (SPICA_CORES > 1) {
            spica_barrier();
            if (vx_core_id() == 0 && vx_warp_id() == 0) reduce_cores();
        }
    } SPICA_END_PARALLEL
    return 0;
}
