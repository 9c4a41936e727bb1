/* Tiles of a matrix product by the tensor instruction on shared memory, one per warp.
 *
 * A and B of a warp's steps are copied to shared memory by the warp itself. Odd warps begin with C
 * from memory. C leaves as FP32, and once more as FP16. */
#include <spica.h>

#define TILE 1024u

typedef struct {
    uint32_t steps;
    const uint32_t *a, *b; /* tiles of all steps of warp 0, then of warp 1, ... */
    float *c;              /* 16 x 16 values per warp, before and after */
    uint32_t *halves;      /* the same, two FP16 values per word */
} Arguments;

/* Operands of a warp: dense one after the other, or side by side in swizzled rows of 128 bytes. */
#if SPICA_HGMMA_IS_SWIZZLED
#define ROOM 4096u
#define PLACE_OF_B 64u
#else
#define ROOM (2 * TILE)
#define PLACE_OF_B TILE
#endif

static void copy(uint32_t place, const uint32_t *words, uint32_t row_words)
{
    for (uint32_t k = vx_thread_id(); k < TILE / 4; k += SPICA_THREADS) {
#if SPICA_HGMMA_IS_SWIZZLED
        uint32_t to = spica_swizzled(place + 128 * (k / row_words) + 4 * (k % row_words));
#else
        uint32_t to = place + 4 * k;
        (void)row_words;
#endif
        *(volatile uint32_t *)to = words[k];
    }
}

static void entry(void *argument)
{
    const Arguments *arguments = argument;
    uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id(), thread = vx_thread_id();
    uint32_t a = SPICA_SHARED_BASE + ROOM * warp, b = a + PLACE_OF_B;
    const uint32_t *from_a = arguments->a + warp * arguments->steps * (TILE / 4);
    const uint32_t *from_b = arguments->b + warp * arguments->steps * (TILE / 4);
    char *c = (char *)(arguments->c + 256 * warp + 2 * thread);
    char *halves = (char *)(arguments->halves + 128 * warp + thread);

    spica_hgmma_clear();
#define LOAD(row) SPICA_HGMMA_LOAD(row, c + 64 * row)
#define STORE(row) SPICA_HGMMA_STORE(row, c + 64 * row)
#define STORE_FP16(row) SPICA_HGMMA_STORE_FP16(row, halves + 32 * row)
#define ALL(DO) \
    DO(0); DO(1); DO(2); DO(3); DO(4); DO(5); DO(6); DO(7); \
    DO(8); DO(9); DO(10); DO(11); DO(12); DO(13); DO(14); DO(15)
    if (warp & 1) {
        ALL(LOAD);
    }
    for (uint32_t step = 0; step < arguments->steps; step++) {
        copy(a, from_a, 16);
        copy(b, from_b, 8);
        vx_fence();
        spica_hgmma(a, b);
        from_a += TILE / 4, from_b += TILE / 4;
        spica_hgmma_wait();
    }
    ALL(STORE);
    ALL(STORE_FP16);
}

int main(void)
{
    spica_launch(entry, (void *)spica_arguments());
    return 0;
}
