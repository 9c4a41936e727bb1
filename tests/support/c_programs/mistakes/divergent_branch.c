/* A plain if on a condition that differs between the threads of a warp. */
#include <spica.h>

static volatile uint32_t odd[1024];

static void count(void *arg) {
    (void)arg;
    uint32_t thread = spica_thread();
    if (thread & 1) { /* MISTAKE */
        odd[thread] = thread;
        odd[thread] += 1;
    }
}

int main(void) {
    spica_launch(count, 0);
    return 0;
}
