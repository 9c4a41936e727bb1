/* Calls a function through an invalid pointer. */
#include <spica.h>

static void (*volatile callee)(void) = (void (*)(void))0x90000000u;

int main(void) {
    callee(); /* MISTAKE */
    return 0;
}
