/* Every thread uses a multiple of its own number as an address. */
#include <spica.h>

static void scatter(void *arg) {
    (void)arg;
    *(volatile uint32_t *)(vx_thread_id() * 0x30000000u) = 1; /* MISTAKE */
}

int main(void) {
    spica_launch(scatter, 0);
    return 0;
}
