/* Barrier rounds: every thread reads the value that the next thread wrote in the previous round. */
#include <spica.h>

typedef struct {
    uint32_t rounds;
    uint32_t *from, *to;
} Arguments;

static void entry(void *argument)
{
    const Arguments *a = argument;
    uint32_t threads = spica_threads(), thread = spica_thread();
    uint32_t neighbour = (thread + 1) % threads;
    uint32_t *from = a->from, *to = a->to;
    for (uint32_t round = 0; round < a->rounds; round++) {
        to[thread] = from[neighbour] + 1;
        spica_barrier();
        uint32_t *other = from;
        from = to;
        to = other;
    }
}

int main(void)
{
    spica_launch(entry, (void *)spica_arguments());
    return 0;
}
