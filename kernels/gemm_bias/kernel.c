/* C = A * B + bias: the matrix unit multiplies while the cores apply the bias. */
#include "../gemm/gemm_finish.h"

SPICA_INLINE float finish_column(const void *more, uint32_t column)
{
    return ((const float *)more)[column];
}

SPICA_INLINE float finish_element(float sum, float bias, float before)
{
    (void)before;
    return sum + bias;
}

int main(void)
{
    finish_run();
    return (int)(spica_load_register(SPICA_OF_UNIT(MATRIX, ERROR)) |
                 spica_load_register(SPICA_OF_UNIT(DMA, ERROR)));
}
