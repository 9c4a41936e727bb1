/* One matrix product: thread 0 of core 0 commands the matrix unit, all others end at once. */
#include "gemm.h"

int main(void)
{
    if (vx_core_id() != 0)
        return 0;
    gemm_run(spica_arguments());
    return (int)(spica_load_register(SPICA_MATRIX_ERROR) | spica_load_register(SPICA_DMA_ERROR));
}
