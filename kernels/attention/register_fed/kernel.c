/* Attention on the tensor units of all cores, with fragments in registers. */
#include "attention_tensor.h"

int main(void)
{
    SPICA_PARALLEL {
        attention_run();
    } SPICA_END_PARALLEL
    return 0;
}
