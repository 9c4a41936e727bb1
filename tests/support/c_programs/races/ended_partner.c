/* All warps but one meet; that one has ended. */
#include <spica.h>

static void synchronize(void *argument)
{
    if (vx_warp_id() == 2)
        return;
    vx_barrier(0, SPICA_WARPS); /* WAITS */
    (void)argument;
} /* ENDED */

int main(void)
{
    spica_launch(synchronize, 0);
    return 0;
}
