/* A product on each of two matrix units: core 0 commands the first, core 1 the second. */
#define GEMM_FIRST 0
#define GEMM_SHARED_BYTES (SPICA_SHARED_BYTES / 2)
#include "../../kernels/gemm/gemm.h"

int second_product(const Gemm *gemm);

int main(void)
{
    const Gemm *all = spica_arguments();
    if (vx_core_id() == 1)
        return second_product(all + 1);
    gemm_run(all);
    return (int)(spica_load_register(SPICA_OF_UNIT(MATRIX, ERROR)) |
                 spica_load_register(SPICA_OF_UNIT(DMA, ERROR)));
}
