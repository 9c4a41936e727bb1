/* One matrix product on the tensor units of all cores. */
#include "tensor_gemm.h"

int main(void)
{
    SPICA_PARALLEL {
        tensor_run();
    } SPICA_END_PARALLEL
    return tensor_copy_error();
}
