/* The second product of two_units.c: the same library, for the second matrix unit. */
#define VIRGO_UNIT 1
#define GEMM_FIRST (SPICA_SHARED_BYTES / 2)
#define GEMM_SHARED_BYTES (SPICA_SHARED_BYTES / 2)
#include "../../kernels/gemm/gemm.h"

_Static_assert(VIRGO_ROWS == SPICA_CONFIG_MATRIX1_ROWS, "the sizes are those of the second unit");

int second_product(const Gemm *gemm)
{
    gemm_run(gemm);
    return (int)(spica_load_register(SPICA_OF_UNIT(MATRIX, ERROR)) |
                 spica_load_register(SPICA_OF_UNIT(DMA, ERROR)));
}
