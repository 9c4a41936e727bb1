/* A wait for a register that makes no progress. */
#include <virgo.h>

int main(void)
{
    vx_wait(SPICA_DMA_ERROR, 0); /* line 6 */
    return 0;
}
