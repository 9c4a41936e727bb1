// c = a, n words.
#include <spica.h>
#include <spica_parallel.h>

// A warp takes a block of consecutive words at a time, its lanes side by side in each of UNROLL
// rows, and all warps of all cores together take a round: loads of a whole block are in flight
// before its first store. Between them each lane asks for one line of the warp's next block, so that
// one load of the warp brings as much as the UNROLL that find it in the cache later. What is left
// is copied likewise by smaller blocks, and the end row by row.
enum {
    // Words of a line, as many rows as let each lane ask for one.
    UNROLL = 16,
    NARROW = 4,
    ALL_WARPS = SPICA_WARPS * SPICA_CORES,
};

// Any 32 bits, by way of the registers of floats: those of integers hold addresses.
typedef float Word;

typedef struct {
    uint32_t n;
    const Word *a;
    Word *c;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

// Ask for the line of a word that is wanted soon: a load whose result nobody waits for.
SPICA_INLINE void ask(const Word *word) {
    __asm__ volatile("lw x0, 0(%0)" : : "r"(word));
}

// Copy from word `first` on as many words as there are whole rounds of `unroll` rows per warp;
// return where they end.
SPICA_INLINE uint32_t copy_rounds(uint32_t first, uint32_t warp, const int unroll) {
    const uint32_t block = unroll * SPICA_THREADS, round = block * ALL_WARPS;
    const uint32_t rest = ARGUMENTS->n - first, whole = rest - rest % SPICA_CONSTANT(round);
    const uint32_t mine = first + warp * SPICA_CONSTANT(block) + vx_thread_id();
    const Word *a = ARGUMENTS->a + mine;
    Word *c = ARGUMENTS->c + mine;
    const uint32_t ahead = vx_thread_id() * (unroll - 1);
#pragma unroll 1
    for (const Word *end = a + whole; a != end; c += round) {
        Word words[UNROLL];
#pragma unroll
        for (int i = 0; i < unroll; i++) words[i] = a[i * SPICA_THREADS];
        a += round;
        SPICA_ANEW(a);
        if (__builtin_expect(a != end, 1)) ask(a + ahead);
#pragma unroll
        for (int i = 0; i < unroll; i++) c[i * SPICA_THREADS] = words[i];
    }
    return first + whole;
}

SPICA_INLINE void copy(void) {
    const uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id();
    uint32_t row = copy_rounds(copy_rounds(0, warp, UNROLL), warp, NARROW);
    for (row += warp * SPICA_THREADS; row < ARGUMENTS->n; row += ALL_WARPS * SPICA_THREADS) {
        const uint32_t i = row + vx_thread_id();
        SPICA_IF (i < ARGUMENTS->n) {
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
