/* One warp of the last core does not arrive at the second barrier, which needs all cores. */
#include <spica.h>

static void synchronize(void *arg) {
    (void)arg;
    vx_barrier(0, vx_num_warps());
    if (vx_core_id() == vx_num_cores() - 1 && vx_warp_id() == 0) {
        return;
    }
    vx_barrier(1, vx_num_warps()); /* MISTAKE */
}

int main(void) {
    spica_launch(synchronize, 0);
    return 0;
}
