/* C = relu(A * B + bias): the matrix unit multiplies while the cores apply bias and relu. */
#include "../gemm/gemm_finish.h"

SPICA_INLINE float finish_column(const void *more, uint32_t column)
{
    return ((const float *)more)[column];
}

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
    return (int)(spica_load_register(SPICA_OF_UNIT(MATRIX, ERROR)) |
                 spica_load_register(SPICA_OF_UNIT(DMA, ERROR)));
}
