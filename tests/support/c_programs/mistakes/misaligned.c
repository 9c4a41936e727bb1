/* Reads a word from an address that is not a multiple of four. */
#include <spica.h>

static uint32_t words[2] = {1, 2};
static volatile uint32_t result;

int main(void) {
    volatile uintptr_t address = (uintptr_t)words + 2;
    result = *(const volatile uint32_t *)address; /* MISTAKE */
    return 0;
}
