/* Commands a DMA on a machine without one. */
#include <spica.h>

int main(void) {
    *(volatile uint32_t *)(SPICA_WINDOW_BASE + 0x1018) = 0; /* MISTAKE */
    return 0;
}
