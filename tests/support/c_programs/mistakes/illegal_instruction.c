/* Uses an instruction that the cores do not support. */
#include <spica.h>

static void probe(void) {
    __asm__ volatile(".word 0xffffffff"); /* MISTAKE */
}

int main(void) {
    probe();
    return 0;
}
