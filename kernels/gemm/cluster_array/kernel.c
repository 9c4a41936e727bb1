/* One matrix product: thread 0 of core 0 commands the matrix unit, all other threads end at
 * once. */
#include "../gemm.h"

int main(void)
{
    if (vx_core_id() != 0)
        return 0;
    spica_begin();
    gemm_run(spica_arguments());
    spica_end();
    return gemm_error();
}
