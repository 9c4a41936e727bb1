/* One matrix product on tensor units that read shared memory. */
#include "hgmma_gemm.h"

int main(void)
{
    SPICA_PARALLEL {
        hgmma_run();
    } SPICA_END_PARALLEL
    return (int)*(volatile uint32_t *)SPICA_DMA_ERROR;
}
