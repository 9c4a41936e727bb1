/* Half of the warps wait at one barrier, half at another. */
#include <spica.h>

static void synchronize(void *arg) {
    (void)arg;
    if (vx_warp_id() & 1) {
        vx_barrier(3, vx_num_warps()); /* MISTAKE */
    } else {
        vx_barrier(2, vx_num_warps()); /* OTHER */
    }
}

int main(void) {
    spica_launch(synchronize, 0);
    return 0;
}
