/* Histogram of bytes, with counts in shared memory.
 *
 * There are no atomic operations, so every thread counts in a column of its own:
 *
 *     counts[bin][thread]      lanes of a warp use neighbouring words, hence different subbanks
 *
 * After a barrier, each thread adds the columns of some bins. */
#include <spica.h>

#define BINS 32
#define SHIFT 3 /* 256 values of a byte / BINS */
#define THREADS (SPICA_CORES * SPICA_WARPS * SPICA_THREADS)

/* Pixels of a load: 1, or 4 in a word. */
#ifndef PIXELS
#define PIXELS 4
#endif

_Static_assert(4 * BINS * THREADS <= SPICA_SHARED_BYTES, "the counts must fit shared memory");

struct arguments {
    const void *pixels;
    uint32_t count; /* a multiple of PIXELS */
    uint32_t *histogram;
};

static void count_pixels(const struct arguments *given, uint32_t *column)
{
    const uint32_t thread = spica_thread();
    for (uint32_t bin = 0; bin < BINS; bin++)
        column[bin * THREADS] = 0;
    /* The number of rounds is the same in all threads; the last round may be partial. */
    for (uint32_t first = 0; first < given->count / PIXELS; first += THREADS) {
        const uint32_t i = first + thread;
        SPICA_IF (i < given->count / PIXELS) {
#if PIXELS == 1
            column[(((const uint8_t *)given->pixels)[i] >> SHIFT) * THREADS]++;
#else
            const uint32_t word = ((const uint32_t *)given->pixels)[i];
#pragma unroll
            for (uint32_t pixel = 0; pixel < 4; pixel++)
                column[(word >> (8 * pixel + SHIFT)) % BINS * THREADS]++;
#endif
        } SPICA_END_IF
    }
}

static void add_columns(const struct arguments *given, const uint32_t *counts)
{
    const uint32_t thread = spica_thread();
    for (uint32_t first = 0; first < BINS; first += THREADS) {
        const uint32_t bin = first + thread;
        SPICA_IF (bin < BINS) {
            uint32_t sum = 0;
            for (uint32_t i = 0; i < THREADS; i++)
                sum += counts[bin * THREADS + i];
            given->histogram[bin] = sum;
        } SPICA_END_IF
    }
}

static void histogram(void *argument)
{
    uint32_t *counts = (uint32_t *)spica_shared();
    count_pixels(argument, counts + spica_thread());
    spica_barrier();
    add_columns(argument, counts);
}

int main(void)
{
    spica_launch(histogram, (void *)spica_arguments());
    return 0;
}
