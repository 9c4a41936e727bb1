/* All warps store to one byte of DRAM. CORRECT: each to a byte of its own. */
#include <spica.h>

static volatile uint8_t last[SPICA_WARPS];

static void store(void *argument)
{
#ifdef CORRECT
    last[vx_warp_id()] = 1;
#else
    last[1] = (uint8_t)vx_warp_id(); /* FIRST SECOND */
#endif
    (void)argument;
}

int main(void)
{
    spica_run_warps(SPICA_WARPS, store, 0);
    return 0;
}
