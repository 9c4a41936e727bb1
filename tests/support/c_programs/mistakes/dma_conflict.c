/* Two loads to the same bytes of shared memory, without order between them and without a wait. */
#include <spica.h>

static volatile uint32_t source[64];

static void load(void) {
    *(volatile uint32_t *)SPICA_DMA_DRAM = (uint32_t)source;
    *(volatile uint32_t *)SPICA_DMA_DRAM_PITCH = 64;
    *(volatile uint32_t *)SPICA_DMA_LOCAL = 0;
    *(volatile uint32_t *)SPICA_DMA_LOCAL_PITCH = 64;
    *(volatile uint32_t *)SPICA_DMA_SHAPE = 1 | 64 << 16;
    *(volatile uint32_t *)SPICA_DMA_FILL = 1 | 64 << 16;
    *(volatile uint32_t *)SPICA_DMA_START = 0; /* MISTAKE */
}

int main(void) {
    load();
    *(volatile uint32_t *)(SPICA_SHARED_BASE + 64) = 1;
    load();
    return 0;
}
