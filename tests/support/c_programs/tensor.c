/* Tiles of a matrix product, one per warp, by the tensor instruction on registers. */
#include <spica.h>

typedef struct {
    uint32_t steps;          /* steps of 16 along the inner dimension */
    const float *a, *b;      /* pairs of FP16 values: 8 words per step and thread */
    float *c;                /* 8 per thread */
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
