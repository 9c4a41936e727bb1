/* One tile of a few blocks; its result goes to shared memory and from there to DRAM. */
#include <virgo.h>

typedef struct {
    uint32_t m, n, k;
    const char *a, *b;
    char *c;
    uint32_t a_pitch, b_pitch, c_pitch;
} Arguments;

int main(void)
{
    const Arguments *all = spica_arguments();
    if (vx_core_id() != 0)
        return 0;
    uint32_t m = all->m, n = all->n, k = all->k;
    uint32_t b = m * VIRGO_A_PITCH(k), c = b + VIRGO_B_BYTES(n, k);
    virgo_dma_load(0, all->a, all->a_pitch * SPICA_OPERAND_BYTES, VIRGO_A_PITCH(k), m,
                   k * SPICA_OPERAND_BYTES, 0, 0);
    virgo_dma_load(b, all->b, all->b_pitch * SPICA_OPERAND_BYTES, VIRGO_B_PITCH(n), k,
                   n * SPICA_OPERAND_BYTES, 0, 0);
    virgo_dma_fence(0);
    virgo_tile(m, n, k);
    virgo_compute(0, c, 0);
    virgo_spill(c, 0);
    virgo_fence(0);
    virgo_dma_store(all->c, c, all->c_pitch * SPICA_NARROW_BYTES, n * SPICA_NARROW_BYTES, m,
                    n * SPICA_NARROW_BYTES);
    virgo_await(SPICA_DMA_STORES_DONE, 1);
    return (int)spica_load_register(SPICA_DMA_RUNNING);
}
