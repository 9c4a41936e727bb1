// Gather from random indices: y[i] = x[index[i]], n words.
#include <spica.h>
#include <spica_parallel.h>

// A warp takes BLOCK consecutive results at a time: UNROLL rows, one result of each per lane. All
// warps of all cores together take ROUND. The indices of a block are loaded first, then its words,
// each lane's from its own address, and then the words are stored.
enum {
    UNROLL = 8,
    BLOCK = UNROLL * SPICA_THREADS,
    ROUND = BLOCK * SPICA_WARPS * SPICA_CORES,
    ALL_THREADS = SPICA_THREADS * SPICA_WARPS * SPICA_CORES,
};

// Any 32 bits, moved through float registers: the integer registers hold addresses.
typedef float Word;

typedef struct {
    uint32_t n;
    const Word *x;
    const uint32_t *index;
    Word *y;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

SPICA_INLINE void gather(void) {
    const uint32_t n = ARGUMENTS->n, lane = vx_thread_id();
    const uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id();
    const uint32_t whole = n - n % SPICA_CONSTANT(ROUND);
    const uint32_t first = warp * SPICA_CONSTANT(BLOCK) + lane;
    const Word *x = ARGUMENTS->x;
    const uint32_t *index = ARGUMENTS->index + first;
    Word *y = ARGUMENTS->y + first;
#pragma unroll 1
    for (const Word *end = y + whole; y != end; index += ROUND, y += ROUND) {
        uint32_t places[UNROLL];
        Word words[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) places[i] = index[i * SPICA_THREADS];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) words[i] = x[places[i]];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) y[i * SPICA_THREADS] = words[i];
    }
    // The rest is less than a round: one row per warp at a time, the last one partial.
    for (uint32_t row = whole + warp * SPICA_THREADS; row < n; row += ALL_THREADS) {
        const uint32_t i = row + lane;
        SPICA_IF (i < n) {
            ARGUMENTS->y[i] = x[ARGUMENTS->index[i]];
        } SPICA_END_IF
    }
}

int main(void) {
    SPICA_PARALLEL {
        gather();
    } SPICA_END_PARALLEL
    return 0;
}
