/* Products added to D from DRAM and from shared memory, and to a product that was spilled. */
#include <virgo.h>

typedef struct {
    const char *a, *b, *d;
    void *from_dram, *from_shared, *twice;
    uint32_t m, n, k;
} Arguments;

int main(void)
{
    const Arguments *all = spica_arguments();
    if (vx_core_id() != 0)
        return 0;
    const uint32_t m = all->m, n = all->n, k = all->k;
    const uint32_t b = m * VIRGO_A_PITCH(k), b_end = b + VIRGO_B_BYTES(n, k);
    const uint32_t row = VIRGO_BLOCKS(n, VIRGO_COLUMNS) * VIRGO_COLUMNS * VIRGO_WIDE_BYTES;
    const uint32_t sums = b_end, d = sums + VIRGO_B_ROWS(m) * row, d_pitch = (n + 1) * 4;
    virgo_dma_load(0, all->a, k * VIRGO_OPERAND_BYTES, VIRGO_A_PITCH(k), m,
                   k * VIRGO_OPERAND_BYTES, 0, 0);
    virgo_dma_load(b, all->b, n * VIRGO_OPERAND_BYTES, VIRGO_B_PITCH(n), k,
                   n * VIRGO_OPERAND_BYTES, 0, 0);
    virgo_dma_load(d, all->d, n * 4, d_pitch, m, n * 4, 0, 0);
    virgo_dma_fence(0);
    virgo_tile(m, n, k);
    virgo_pitches(n, n);
    virgo_load_d(all->d);
    virgo_compute(0, b_end, VIRGO_ACCUMULATE);
    virgo_store(all->from_dram, VIRGO_WIDE);
    virgo_spill(sums, VIRGO_WIDE);
    virgo_accumulator(VIRGO_B_ROWS(m) * VIRGO_BLOCKS(n, VIRGO_COLUMNS), 0);
    virgo_pitches(n + 1, n);
    virgo_load_d((const void *)(SPICA_SHARED_BASE + d));
    virgo_compute(0, b_end, VIRGO_ACCUMULATE);
    virgo_store(all->from_shared, VIRGO_WIDE);
    virgo_fence(0);
    virgo_pitches(row / VIRGO_WIDE_BYTES, n);
    virgo_load_d((const void *)(SPICA_SHARED_BASE + sums));
    virgo_compute(0, b_end, VIRGO_ACCUMULATE);
    virgo_store(all->twice, VIRGO_WIDE);
    virgo_fence(0);
    return (int)(spica_load_register(SPICA_OF_UNIT(MATRIX, ERROR)) |
                 spica_load_register(SPICA_OF_UNIT(DMA, ERROR)));
}
