// Vector copy: c = a, n words.
#include <spica.h>
#include <spica_parallel.h>

// A warp copies a block of consecutive words at a time: UNROLL rows, one word of each per lane. All
// warps of all cores together copy a round. Loads of a whole block are in flight before its first
// store. A block is two lines or more, so that stores fill lines; short blocks keep the warps close
// together, which suits the L2 prefetcher. The rest is copied row by row.
enum {
    UNROLL = 4,
    ALL_WARPS = SPICA_WARPS * SPICA_CORES,
};

// Any 32 bits, moved through float registers: the integer registers hold addresses.
typedef float Word;

typedef struct {
    uint32_t n;
    const Word *a;
    Word *c;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

SPICA_INLINE void copy(void) {
    const uint32_t block = UNROLL * SPICA_THREADS, round = block * ALL_WARPS;
    const uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id();
    const uint32_t n = ARGUMENTS->n, whole = n - n % SPICA_CONSTANT(round);
    const uint32_t start = warp * SPICA_CONSTANT(block) + vx_thread_id();
    const Word *a = ARGUMENTS->a + start;
    Word *c = ARGUMENTS->c + start;
#pragma unroll 1
    for (const Word *end = a + whole; a != end; c += round) {
        Word words[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) words[i] = a[i * SPICA_THREADS];
        a += round;
        SPICA_ANEW(a);
#pragma unroll
        for (int i = 0; i < UNROLL; i++) c[i * SPICA_THREADS] = words[i];
    }
    for (uint32_t row = whole + warp * SPICA_THREADS; row < n; row += ALL_WARPS * SPICA_THREADS) {
        const uint32_t i = row + vx_thread_id();
        SPICA_IF (i < n) {
            ARGUMENTS->c[i] = ARGUMENTS->a[i];
        } SPICA_END_IF
    }
}

int main(void) {
    SPICA_PARALLEL {
        copy();
    } SPICA_END_PARALLEL
    return 0;
}
