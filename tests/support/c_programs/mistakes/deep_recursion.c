/* Recurses until its stack overflows. */
#include <spica.h>

static volatile uint32_t sink;

__attribute__((noinline))
static uint32_t sum(volatile uint32_t *from, uint32_t n) { /* MISTAKE */
    volatile uint32_t numbers[64];
    numbers[n & 63] = n;
    return n + sum(numbers, n + 1) + from[n & 63];
}

int main(void) {
    uint32_t start[64] = {0};
    sink = sum(start, 0);
    return 0;
}
