/* Splits the warp repeatedly without a join. */
#include <spica.h>

static void split(void *arg) {
    (void)arg;
    for (uint32_t k = 0; k < 64; k++) {
        vx_split(vx_thread_id() == 0); /* MISTAKE */
        vx_tmc(0xFF);
    }
}

int main(void) {
    spica_launch(split, 0);
    return 0;
}
