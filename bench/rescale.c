/* Steps of attention on the matrix unit without the softmax: O = O scaled by rows + P V.
 *
 * WAY_SCALES: the unit scales O in the accumulator. WAY_D: O goes to shared memory, the cores scale
 * it, and it returns as D. With SCORES the unit also computes a product of the same size in other
 * rows of the accumulator, and stores it in shared memory, in each step. */
#include <virgo.h>

#define WAY_SCALES 0
#define WAY_D 1
enum {
    ROWS = 64, DEPTH = 64, KEYS = 64, STEPS = 8,
    BANK = SPICA_CONFIG_SHARED_SIZE / SPICA_CONFIG_SHARED_BANKS,
    /* Half of O is in each of two banks, which the cores then access at the same time. */
    P = 0, V = BANK, O = 2 * BANK - ROWS * DEPTH * 2, S = 3 * BANK, SCALES = S + ROWS * KEYS * 4,
    O_BASE = ROWS * (KEYS / VIRGO_COLUMNS),
    RESCALED = ROWS / (SPICA_CORES * SPICA_WARPS),
};

typedef struct {
    const void *p, *v, *scales;
    void *o;
} Arguments;

/* Multiplies the rows of O in shared memory that belong to this warp by their factors. */
SPICA_INLINE void rescale(uint32_t step)
{
    const uint32_t first = (vx_core_id() * SPICA_WARPS + vx_warp_id()) * RESCALED;
    const float *scales = (const float *)(SPICA_SHARED_BASE + SCALES) + step * ROWS + first;
    float *row = (float *)(SPICA_SHARED_BASE + O) + first * DEPTH + vx_thread_id();
    for (uint32_t i = 0; i < RESCALED; i++) {
        const float scale = scales[i];
        float values[DEPTH / SPICA_THREADS];
#pragma unroll
        for (uint32_t j = 0; j < DEPTH / SPICA_THREADS; j++)
            values[j] = row[i * DEPTH + j * SPICA_THREADS];
#pragma unroll
        for (uint32_t j = 0; j < DEPTH / SPICA_THREADS; j++)
            row[i * DEPTH + j * SPICA_THREADS] = values[j] * scale;
    }
}

/* Starts the product P V with options, C from O_BASE on. */
SPICA_INLINE void multiply(uint32_t step, uint32_t options)
{
    virgo_tile(ROWS, DEPTH, KEYS);
    virgo_accumulator(O_BASE, SCALES + step * ROWS * 4);
    virgo_compute(P, V + VIRGO_B_BYTES(DEPTH, KEYS), options);
}

SPICA_INLINE void spill(uint32_t base, uint32_t place)
{
    virgo_accumulator(base, 0);
    virgo_spill(place, VIRGO_WIDE);
}

/* Commands of a step before the cores scale O. */
SPICA_INLINE void begin_step(uint32_t step)
{
    if (WAY != WAY_SCALES && step)
        spill(O_BASE, O);
    if (SCORES) {
        virgo_accumulator(0, 0);
        virgo_compute(P, V + VIRGO_B_BYTES(DEPTH, KEYS), 0);
        spill(0, S);
    }
    if (WAY != WAY_SCALES && step)
        virgo_fence(SCORES ? 2 : 0); /* the spill of O is the first to end */
}

/* Commands of a step after the cores have scaled O. */
SPICA_INLINE void end_step(uint32_t step)
{
    if (!step) {
        multiply(step, 0);
    } else if (WAY == WAY_SCALES) {
        multiply(step, VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS);
    } else {
        virgo_accumulator(O_BASE, 0);
        virgo_load_d((const void *)(SPICA_SHARED_BASE + O));
        multiply(step, VIRGO_ACCUMULATE);
    }
    virgo_fence(0);
}

SPICA_INLINE void load(const Arguments *all)
{
    virgo_dma_load(P, all->p, KEYS * 2, KEYS * 2, ROWS, KEYS * 2, 0, 0);
    virgo_dma_load(V, all->v, DEPTH * 2, DEPTH * 2, KEYS, DEPTH * 2, 0, 0);
    virgo_dma_load(SCALES, all->scales, 0, 0, 1, STEPS * ROWS * 4, 0, 0);
    virgo_dma_fence(0);
    virgo_tile(ROWS, DEPTH, KEYS);
#if WAY == WAY_D
    virgo_pitches(DEPTH, DEPTH);
#else
    virgo_store_pitch(DEPTH);
#endif
}

#define COMMAND(...)                                                          \
    if (vx_core_id() == 0 && vx_warp_id() == 0) {                             \
        SPICA_IF (vx_thread_id() == 0) {                                      \
            __VA_ARGS__;                                                      \
        } SPICA_END_IF                                                        \
    }

int main(void)
{
    SPICA_PARALLEL {
        COMMAND(load(spica_arguments()))
        virgo_meet();
        spica_begin();
        for (uint32_t step = 0; step < STEPS; step++) {
            COMMAND(begin_step(step))
            if (WAY != WAY_SCALES && step) {
                virgo_meet();
                rescale(step);
                virgo_meet();
            }
            COMMAND(end_step(step))
        }
        virgo_meet();
        spica_end();
        COMMAND(virgo_store(((const Arguments *)spica_arguments())->o, VIRGO_WIDE); virgo_fence(0))
    } SPICA_END_PARALLEL
    return (int)(spica_load_register(SPICA_OF_UNIT(MATRIX, ERROR)) |
                 spica_load_register(SPICA_OF_UNIT(DMA, ERROR)));
}
