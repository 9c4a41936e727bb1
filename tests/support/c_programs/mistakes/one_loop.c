/* One warp never ends; the warp that started it waits in start-up code. */
#include <spica.h>

static volatile uint32_t flag;

static void work(void *arg) {
    (void)arg;
    if (vx_warp_id() == 3) {
        while (flag == 0) { /* MISTAKE */
        }
    }
}

int main(void) {
    spica_launch(work, 0);
    return 0;
}
