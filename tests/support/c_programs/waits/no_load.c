/* Thread 0 of core 0 waits for a load that nobody commands. */
#include <virgo.h>

int main(void)
{
    if (vx_core_id() == 0)
        vx_wait(SPICA_DMA_LOADS_DONE, 5); /* line 7 */
    return 0;
}
