/* Attention on the tensor units of all cores, with operands in shared memory. */
#include "attention_hgmma.h"

int main(void)
{
    SPICA_PARALLEL {
        attention_run();
    } SPICA_END_PARALLEL
    return (int)*(volatile uint32_t *)SPICA_DMA_ERROR;
}
