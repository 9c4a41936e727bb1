/* Core 1 has a copy of the line that core 0 stores to. CORRECT: core 1 fences before it loads again. */
#include <spica.h>

static volatile uint32_t value;

int main(void)
{
    uint32_t seen = 0;
    if (vx_core_id() == 1)
        seen = value;
    vx_barrier(0, 1);
    if (vx_core_id() == 0) {
        value = 1; /* FIRST */
        vx_fence();
    }
    vx_barrier(0, 1);
    if (vx_core_id() == 1) {
#ifdef CORRECT
        vx_fence();
#endif
        seen += value; /* SECOND */
    }
    return seen == 9;
}
