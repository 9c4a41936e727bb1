/* Warp 0 waits for a flag of warp 1. CORRECT: the program declares it. */
#include <spica.h>

#ifdef CORRECT
static volatile SPICA_FLAG uint32_t flag;
#else
static volatile uint32_t flag;
#endif
static volatile uint32_t value;

static void pass(void *argument)
{
    if (vx_warp_id() == 1) {
        value = 7;
        vx_fence();
        flag = 1; /* FIRST SECOND */
    }
    if (vx_warp_id() == 0) {
        while (!flag) /* FIRST SECOND */
            ;
        if (value != 7)
            abort();
    }
    (void)argument;
}

int main(void)
{
    spica_run_warps(2, pass, 0);
    return 0;
}
