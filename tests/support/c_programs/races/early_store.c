/* The DMA stores a word of shared memory. CORRECT: the program fences before the command. */
#include <virgo.h>

static uint32_t rows[64];

int main(void)
{
    volatile uint32_t *words = spica_shared();
    if (vx_core_id() != 0)
        return 0;
    words[3] = 9; /* FIRST */
#ifdef CORRECT
    vx_fence();
#endif
    virgo_dma_store(rows, 0, 64, 64, 4, 64); /* SECOND */
    virgo_await(SPICA_DMA_STORES_DONE, 1);
    return 0;
}
