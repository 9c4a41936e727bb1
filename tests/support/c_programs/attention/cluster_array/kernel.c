/* Attention to single keys in FP32: O is the key's value, LSE its score, which is 0 if Q is 0. */
#include <spica.h>
#include "../../../../../kernels/attention/attention.h"

int main(void)
{
    const Attention *attention = (const Attention *)spica_arguments();
    if (vx_core_id() != 0)
        return 0;
    if (attention->keys != 1)
        return 1;
    spica_begin();
    for (uint32_t head = 0; head < attention->problems; head++) {
        const float *v = (const float *)attention->v + head / attention->group * ATTENTION_DEPTH;
        for (uint32_t row = 0; row < attention->queries; row++) {
            const uint32_t at = head * attention->queries + row;
            const int is_empty = attention->causal && row + 1 < attention->queries;
            for (uint32_t column = 0; column < ATTENTION_DEPTH; column++)
                ((float *)attention->o)[at * ATTENTION_DEPTH + column] = is_empty ? 0 : v[column];
            attention->lse[at] = is_empty ? -__builtin_inff() : 0;
        }
    }
    spica_end();
    return 0;
}
