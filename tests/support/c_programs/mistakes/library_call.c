/* Copies to a null pointer in a function of the library. */
#include <spica.h>

static char *volatile target;
static char text[] = "some text that is too long for a copy of a few words";

int main(void) {
    memcpy(target, text, sizeof text); /* MISTAKE */
    return 0;
}
