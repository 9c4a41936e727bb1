/* Ends the core at once, with an exit code. */
#include <spica.h>

int main(void) {
    puts("about to end");
    __asm__ volatile("li gp, 3\n\tebreak" ::: "memory");
    return 0;
}
