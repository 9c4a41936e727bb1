/* The DMA loads rows into shared memory. CORRECT: the program waits for it before it reads them. */
#include <virgo.h>

static uint32_t rows[64];

int main(void)
{
    const volatile uint32_t *words = spica_shared();
    if (vx_core_id() != 0)
        return 0;
    vx_fence();
    virgo_dma_load(0, rows, 64, 64, 4, 64, 0, 0); /* FIRST */
#ifdef CORRECT
    virgo_await(SPICA_DMA_LOADS_DONE, 1);
#endif
    return words[3] == 9; /* SECOND */
}
