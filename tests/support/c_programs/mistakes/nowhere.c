/* Uses a plain number as an address. */
#include <spica.h>

static volatile uint32_t address = 0x40000000u;

int main(void) {
    *(volatile uint32_t *)address = 7; /* MISTAKE */
    return 0;
}
