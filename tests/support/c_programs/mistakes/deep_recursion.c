/* Recurses until its stack overflows. */
#include <spica.h>

static volatile uint32_t sink;

__attribute__((noinline))
static uint32_t sum(volatile uint32_t *from, uint32_t n) { /* MISTAKE */
    volatile uint32_t kept[64];
    kept[n & 63] = n;
    return n + sum(kept, n + 1) + from[n & 63];
}

int main(void) {
    uint32_t start[64] = {0};
    sink = sum(start, 0);
    return 0;
}
