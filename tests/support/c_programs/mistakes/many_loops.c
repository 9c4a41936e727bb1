/* Every warp waits in a different loop. */
#include <spica.h>

static volatile uint32_t flags[8];

static void wait(void *arg) {
    (void)arg;
    switch (vx_warp_id()) {
    case 0:
        while (!flags[0]) {
            flags[1]++;
            flags[2]++;
            flags[3]++;
            flags[4]++;
        }
        break;
    case 1:
        while (!flags[0]) {
            flags[2]++;
            flags[3]++;
            flags[4]++;
            flags[5]++;
        }
        break;
    case 2:
        while (!flags[0]) {
            flags[3]++;
            flags[4]++;
            flags[5]++;
            flags[6]++;
        }
        break;
    case 3:
        while (!flags[0]) {
            flags[4]++;
            flags[5]++;
            flags[6]++;
            flags[7]++;
        }
        break;
    case 4:
        while (!flags[0]) {
            flags[5]++;
            flags[6]++;
            flags[7]++;
            flags[1]++;
        }
        break;
    case 5:
        while (!flags[0]) {
            flags[6]++;
            flags[7]++;
            flags[1]++;
            flags[2]++;
        }
        break;
    case 6:
        while (!flags[0]) {
            flags[7]++;
            flags[1]++;
            flags[2]++;
            flags[3]++;
        }
        break;
    default:
        vx_barrier(3, 2);
    }
}

int main(void) {
    spica_launch(wait, 0);
    return 0;
}
