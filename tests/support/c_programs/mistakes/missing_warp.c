/* The last warp does not arrive at a barrier of all warps. */
#include <spica.h>

static void synchronize(void *arg) {
    (void)arg;
    if (vx_warp_id() == vx_num_warps() - 1) {
        return;
    }
    vx_barrier(1, vx_num_warps()); /* MISTAKE */
}

int main(void) {
    spica_launch(synchronize, 0);
    return 0;
}
