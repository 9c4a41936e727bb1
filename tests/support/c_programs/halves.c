/* Converts pairs of FP32 to FP16, and FP16 to FP32, by kernels/gemm/halves.h. */
#include <spica.h>

#include "../../../kernels/gemm/halves.h"

typedef struct {
    uint32_t pairs, halves;
    const float *numbers;
    uint32_t *rounded;
    const uint16_t *given;
    float *values;
} Arguments;

static void task(uint32_t index, void *argument)
{
    const Arguments *all = argument;
    all->rounded[index] = halves_of(all->numbers[2 * index], all->numbers[2 * index + 1]);
}

static void value_task(uint32_t index, void *argument)
{
    const Arguments *all = argument;
    all->values[index] = halves_value(all->given[index]);
}

int main(void)
{
    const Arguments *all = spica_arguments();
    spica_spawn_tasks(all->pairs, task, (void *)all);
    spica_spawn_tasks(all->halves, value_task, (void *)all);
    return 0;
}
