/* Reads a field through a null pointer. */
#include <spica.h>

typedef struct {
    int32_t first, second;
} Pair;

static Pair *volatile pair;
static volatile int32_t sum;

static void add(void) {
    const Pair *p = pair;
    sum = p->second; /* MISTAKE */
}

int main(void) {
    add();
    return 0;
}
