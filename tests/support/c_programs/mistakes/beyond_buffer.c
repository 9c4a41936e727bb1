/* Writes one element past the end of a buffer. */
#include <spica.h>

typedef struct {
    uint32_t n;
    uint32_t *out;
} Arguments;

static void fill(uint32_t i, void *arg) {
    const Arguments *a = arg;
    a->out[i] = i; /* MISTAKE */
}

int main(void) {
    const Arguments *a = spica_arguments();
    vx_spawn_tasks(a->n + 1, fill, (void *)a);
    return 0;
}
