/* Reads a register that the DMA does not have. */
#include <spica.h>

static volatile uint32_t result;

int main(void) {
    result = *(volatile uint32_t *)(SPICA_DMA_ERROR + 0x100); /* MISTAKE */
    return 0;
}
