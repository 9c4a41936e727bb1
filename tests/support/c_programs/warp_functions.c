/* Calls the functions of spica_warp.h in one warp, with segments of every width. */
#include <spica.h>
#include <spica_parallel.h>

typedef struct {
    const uint32_t *values; /* of each thread */
    const float *numbers;
    uint32_t *shuffled; /* for each width, number and function a row of threads */
    float *moved;       /* likewise */
    uint32_t *combined; /* for each function a row of threads */
    float *totals;
} Arguments;

int main(void)
{
    SPICA_PARALLEL {
        const Arguments *all = spica_arguments();
        const uint32_t thread = vx_thread_id(), value = all->values[thread];
        const float number = all->numbers[thread];
        uint32_t *shuffled = all->shuffled + thread, *combined = all->combined + thread;
        float *moved = all->moved + thread, *totals = all->totals + thread;
        if (vx_core_id() == 0 && vx_warp_id() == 0) {
            for (uint32_t width = 1; width <= 32; width *= 2) {
                const uint32_t segment = width < SPICA_THREADS ? width : SPICA_THREADS;
                for (uint32_t b = 0; b < SPICA_THREADS; b++) {
#define SHUFFLE(name)                                                                 \
    *shuffled = name(value, b, segment), *moved = name##f(number, b, segment);        \
    shuffled += SPICA_THREADS, moved += SPICA_THREADS
                    SHUFFLE(spica_shuffle_up);
                    SHUFFLE(spica_shuffle_down);
                    SHUFFLE(spica_shuffle_xor);
                    SHUFFLE(spica_shuffle);
                }
            }
            const uint32_t results[] = {
                spica_all(value), spica_any(value), spica_uniform(value), spica_ballot(value & 4),
                spica_warp_sum(value), (uint32_t)spica_warp_min((int32_t)value),
                spica_warp_minu(value), (uint32_t)spica_warp_max((int32_t)value),
                spica_warp_maxu(value),
            };
#pragma unroll
            for (int k = 0; k < 9; k++) combined[k * SPICA_THREADS] = results[k];
            totals[0 * SPICA_THREADS] = spica_warp_sumf(number);
            totals[1 * SPICA_THREADS] = spica_warp_minf(number);
            totals[2 * SPICA_THREADS] = spica_warp_maxf(number);
        }
    } SPICA_END_PARALLEL
    return 0;
}
