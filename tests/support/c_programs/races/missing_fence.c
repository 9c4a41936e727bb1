/* Core 0 stores to DRAM and meets core 1, which loads. CORRECT: it fences before. */
#include <spica.h>

static volatile uint32_t value;

int main(void)
{
    if (vx_core_id() == 0) {
        value = 1; /* FIRST */
#ifdef CORRECT
        vx_fence();
#endif
    }
    vx_barrier(0, 1);
    if (vx_core_id() == 1)
        return value == 9; /* SECOND */
    return 0;
}
