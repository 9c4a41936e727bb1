/* The second product: the same library, compiled for the second matrix unit. */
#define VIRGO_UNIT 1
#define GEMM_HALVED 1
#include "../gemm/gemm.h"

_Static_assert(VIRGO_ROWS == SPICA_CONFIG_MATRIX1_ROWS, "sizes must be those of the second unit");

int second_product(const Gemm *gemm)
{
    spica_begin();
    gemm_run(gemm);
    spica_end();
    return gemm_error();
}
