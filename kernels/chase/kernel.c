// Pointer chase along a ring of n nodes: once around, then `steps` measured steps.
#include <spica.h>

// One thread of the first core; the others are idle. A step is a load and an addition for the next
// address. The step counter is updated while the load is in flight.
enum { UNROLL = 16 };

typedef struct {
    uint32_t n, steps;
    const char *nodes;
    uint32_t *last;
} Arguments;

SPICA_INLINE uint32_t step(const char *nodes, uint32_t offset) {
    return *(const volatile uint32_t *)(nodes + offset);
}

// Returns the offset after `steps` steps. One function for both walks, so that its instructions are
// cached when the second starts.
static __attribute__((noinline)) uint32_t walk(const char *nodes, uint32_t offset, uint32_t steps) {
#pragma unroll 1
    for (; steps >= UNROLL; steps -= UNROLL) {
#pragma unroll
        for (int i = 0; i < UNROLL; i++) offset = step(nodes, offset);
    }
#pragma unroll 1
    for (; steps > 0; steps--) offset = step(nodes, offset);
    return offset;
}

int main(void) {
    const Arguments *arguments = spica_arguments();
    if (vx_core_id() > 0) return 0;
    const char *nodes = arguments->nodes;
    const uint32_t steps = arguments->steps;
    uint32_t offset = walk(nodes, 0, arguments->n);
    spica_begin();
    offset = walk(nodes, offset, steps);
    *arguments->last = offset;
    spica_end();
    return 0;
}
