/* C = A * B + C: the matrix unit multiplies while the cores add. */
#define FINISH_READS_C 1
#include "../gemm/gemm_finish.h"

SPICA_INLINE float finish_column(const void *more, uint32_t column)
{
    (void)more, (void)column;
    return 0.0f;
}

/* Rounds the product to the accumulator's format, the sum to the same, the result to the format of
 * C. */
SPICA_INLINE float finish_element(float sum, float column, float before)
{
    (void)column;
    if (FINISH_INTEGERS)
        return spica_float(spica_bits(sum) + spica_bits(before));
    return sum + before;
}

int main(void)
{
    finish_run();
    return gemm_error();
}
