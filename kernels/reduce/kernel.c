// The sum of n floats.
#include <spica.h>
#include <spica_parallel.h>

// Each thread sums its share in UNROLL chains, a warp BLOCK consecutive elements at a time. The
// threads' sums then meet in three steps: those of one lane in all warps of a core, those of the
// lanes, those of the cores.
enum {
    UNROLL = 8,
    BLOCK = UNROLL * SPICA_THREADS,
    ROUND = BLOCK * SPICA_WARPS * SPICA_CORES,
    ALL_THREADS = SPICA_THREADS * SPICA_WARPS * SPICA_CORES,
    CORE_THREADS = SPICA_THREADS * SPICA_WARPS,
    // The lanes' sums with as many zeros behind them, so that the tree needs no limits.
    TREE = 2 * SPICA_THREADS,
    CORE_WORDS = CORE_THREADS + TREE,
    // Words of DRAM of each core, a line of its own.
    LINE_WORDS = 16,
};

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
    // What is left is less than a round: one row per warp at a time, the last one cut off.
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

// In the first warp of a core, with every thread's sum in `words`: their sum, in lane 0.
SPICA_INLINE float sum_of_core(volatile float *words) {
    volatile float *mine = words + vx_thread_id();
    float sum = mine[0];
#pragma unroll 8
    for (int warp = 1; warp < SPICA_WARPS; warp++) sum += mine[warp * SPICA_THREADS];
    // A warp runs in step: each lane's word is written before its neighbour reads it.
    volatile float *tree = mine + CORE_THREADS;
    tree[SPICA_THREADS] = 0.0f;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        if (step >= SPICA_THREADS) continue;
        tree[0] = sum;
        sum += tree[step];
    }
    return sum;
}

SPICA_INLINE void reduce(void) {
    const uint32_t core = vx_core_id(), warp = vx_warp_id(), lane = vx_thread_id();
    volatile float *words = (volatile float *)spica_shared() + core * CORE_WORDS;
    words[warp * SPICA_THREADS + lane] = sum_of_thread();
    vx_barrier(0, SPICA_WARPS);
    if (warp == 0) {
        const float sum = sum_of_core(words);
        float *result = SPICA_CORES == 1 ? ARGUMENTS->total : &core_sums[core * LINE_WORDS];
        SPICA_IF (lane == 0) {
            *result = sum;
        } SPICA_END_IF
    }
}

// In the first warp of the first core, when all cores have left their sums.
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
