/* All warps but one meet; that one waits elsewhere. RIGHT: all meet. */
#include <spica.h>

static void meet(void *argument)
{
#ifndef RIGHT
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
    spica_launch(meet, 0);
    return 0;
}
