// Strided copy: y[i] = x[stride i], n words.
#include <spica.h>
#include <spica_parallel.h>

// A warp takes BLOCK consecutive results at a time: UNROLL rows, one result of each per lane. All
// warps of all cores together take ROUND. A row of y is one access of consecutive words. A row of x
// spreads over more lines as the stride grows, each used by few lanes.
enum {
    UNROLL = 8,
    BLOCK = UNROLL * SPICA_THREADS,
    ROUND = BLOCK * SPICA_WARPS * SPICA_CORES,
    ALL_THREADS = SPICA_THREADS * SPICA_WARPS * SPICA_CORES,
};

// Any 32 bits, moved through float registers: the integer registers hold addresses.
typedef float Word;

typedef struct {
    uint32_t n, stride;
    const Word *x;
    Word *y;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

SPICA_INLINE void gather(void) {
    const uint32_t n = ARGUMENTS->n, stride = ARGUMENTS->stride, lane = vx_thread_id();
    const uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id();
    const uint32_t whole = n - n % SPICA_CONSTANT(ROUND);
    const uint32_t first = warp * SPICA_CONSTANT(BLOCK) + lane;
    const uint32_t row = stride * SPICA_THREADS, next = stride * SPICA_CONSTANT(ROUND - BLOCK);
    const Word *x = ARGUMENTS->x + first * stride;
    Word *y = ARGUMENTS->y + first;
#pragma unroll 1
    for (const Word *end = y + whole; y != end; x += next, y += ROUND) {
        Word words[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++, x += row) words[i] = *x;
#pragma unroll
        for (int i = 0; i < UNROLL; i++) y[i * SPICA_THREADS] = words[i];
    }
    // The rest is less than a round: one row per warp at a time, the last one partial.
    for (uint32_t start = whole + warp * SPICA_THREADS; start < n; start += ALL_THREADS) {
        const uint32_t i = start + lane;
        SPICA_IF (i < n) {
            ARGUMENTS->y[i] = ARGUMENTS->x[i * stride];
        } SPICA_END_IF
    }
}

int main(void) {
    SPICA_PARALLEL {
        gather();
    } SPICA_END_PARALLEL
    return 0;
}
