/* All warps but one meet; that one waits elsewhere. CORRECT: all meet. */
#include <spica.h>

static void synchronize(void *argument)
{
#ifndef CORRECT
    if (vx_warp_id() == 2) {
        vx_barrier(1, 2); /* ELSEWHERE */
        return;
    }
#endif
    vx_barrier(0, SPICA_WARPS); /* WAITS */
    (void)argument;
}

int main(void)
{
    spica_launch(synchronize, 0);
    return 0;
}
