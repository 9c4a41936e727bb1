/* Waits for a flag that is never set. */
#include <spica.h>

static volatile uint32_t flag;

static void wait_for_flag(void *arg) {
    (void)arg;
    while (flag == 0) { /* MISTAKE */
    }
}

int main(void) {
    spica_launch(wait_for_flag, 0);
    return 0;
}
