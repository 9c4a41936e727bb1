/* Converts FP32 to FP16 and BF16, and back, by the intrinsics of spica_convert.h. */
#include <spica.h>

typedef struct {
    uint32_t pairs;        /* of numbers to convert to 16 bits */
    uint32_t given_pairs;  /* of 16-bit numbers to convert to FP32 */
    const float *numbers;
    uint32_t *packed[2];   /* in FP16 and in BF16 */
    uint16_t *single[2];
    const uint32_t *given; /* codes, in both formats */
    float *values[2];
} Arguments;

static void narrow_task(uint32_t index, void *argument)
{
    const Arguments *all = argument;
    float low = all->numbers[2 * index], high = all->numbers[2 * index + 1];
    all->packed[0][index] = spica_pack_fp16(low, high);
    all->packed[1][index] = spica_pack_bf16(low, high);
    all->single[0][2 * index] = spica_to_fp16(low);
    all->single[0][2 * index + 1] = spica_to_fp16(high);
    all->single[1][2 * index] = spica_to_bf16(low);
    all->single[1][2 * index + 1] = spica_to_bf16(high);
}

static void widen_task(uint32_t index, void *argument)
{
    const Arguments *all = argument;
    uint32_t pair = all->given[index];
    all->values[0][2 * index] = spica_low_fp16(pair);
    all->values[0][2 * index + 1] = spica_high_fp16(pair);
    all->values[1][2 * index] = spica_low_bf16(pair);
    all->values[1][2 * index + 1] = spica_high_bf16(pair);
}

int main(void)
{
    const Arguments *all = spica_arguments();
    spica_spawn_tasks(all->pairs, narrow_task, (void *)all);
    spica_spawn_tasks(all->given_pairs, widen_task, (void *)all);
    return 0;
}
