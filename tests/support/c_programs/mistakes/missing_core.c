/* The last core does not arrive at the barrier of all cores. */
#include <spica.h>

int main(void) {
    if (vx_core_id() != vx_num_cores() - 1) {
        vx_barrier(0x80000002u, vx_num_cores()); /* MISTAKE */
    }
    return 0;
}
