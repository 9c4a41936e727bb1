/* Tiles of a product of matrices, one per warp, by the tensor instruction on registers. */
#include <spica.h>

typedef struct {
    uint32_t steps;          /* of 16 along the inner dimension */
    const float *a, *b;      /* pairs of halves: of each step, of each thread 8 words */
    float *c;                /* 8 of each thread */
} Arguments;

static void entry(void *argument)
{
    const Arguments *arguments = argument;
    const float *a = arguments->a + 8 * vx_thread_id(), *b = arguments->b + 8 * vx_thread_id();
    float c[8] = {0};
    for (uint32_t step = 0; step < arguments->steps; step++, a += 64, b += 64)
        spica_hmma(c, a, b);
    float *to = arguments->c + 8 * spica_thread();
    for (int k = 0; k < 8; k++)
        to[k] = c[k] + (float)vx_warp_id();
}

int main(void)
{
    spica_launch(entry, (void *)spica_arguments());
    return 0;
}
