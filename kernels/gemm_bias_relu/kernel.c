/* C = relu(A * B + bias): the matrix unit multiplies while the cores apply bias and relu. */
#include "../gemm_bias/gemm_bias.h"

/* The sign, repeated in all bits, clears negative elements. Sums are never negative NaNs. */
SPICA_INLINE float finish_element(float sum, float bias, float before)
{
    (void)before;
    int32_t x = (int32_t)spica_bits(sum + bias);
    return spica_float((uint32_t)(x & ~(x >> 31)));
}

int main(void)
{
    finish_run();
    return gemm_error();
}
