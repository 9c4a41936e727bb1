/* Two concurrent products on two matrix units: core 0 commands the first, core 1 the second. A
 * product with 0 rows is skipped. */
#define GEMM_HALVED 1
#include "../gemm/gemm.h"

int second_product(const Gemm *gemm);

int main(void)
{
    const Gemm *all = spica_arguments();
    if (vx_core_id() == 1 && all[1].m)
        return second_product(all + 1);
    if (vx_core_id() != 0 || !all[0].m)
        return 0;
    spica_begin();
    gemm_run(all);
    spica_end();
    return gemm_error();
}
