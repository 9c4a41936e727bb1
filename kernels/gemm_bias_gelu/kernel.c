/* C = gelu(A * B + bias): the matrix unit multiplies while the cores apply bias and gelu. */
#include "../gemm_bias/gemm_bias.h"

/* x / (1 + 2^(x (k0 + k1 x^2))) equals x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715
 * x^3); k0 = -2 log2(e) sqrt(2 / pi), k1 = 0.044715 k0. */
SPICA_INLINE float finish_element(float sum, float bias, float before)
{
    (void)before;
    float x = sum + bias;
    float exponent = x * fmaf(x * x, -0x1.a5a7d0p-4f, -0x1.26aec2p+1f);
    return x * spica_rcpf(spica_exp2f(exponent) + 1.0f);
}

int main(void)
{
    finish_run();
    return gemm_error();
}
