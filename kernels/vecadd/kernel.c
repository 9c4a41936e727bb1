// Vector sum z = x + y.
#include <spica.h>

// A warp adds BLOCK consecutive elements at a time: UNROLL rows, one element of each per lane. All
// warps of all cores together add ROUND. Loads of a block are issued before its first sum.
enum {
    UNROLL = 8,
    BLOCK = UNROLL * SPICA_THREADS,
    ROUND = BLOCK * SPICA_WARPS * SPICA_CORES,
    ALL_THREADS = SPICA_THREADS * SPICA_WARPS * SPICA_CORES,
};

typedef struct {
    uint32_t n;
    const float *x, *y;
    float *z;
} Arguments;

static void vecadd(void *pointer) {
    const Arguments *arguments = pointer;
    const uint32_t n = arguments->n, lane = vx_thread_id();
    const uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id();
    const uint32_t whole = n / ROUND * ROUND;
    const uint32_t first = warp * BLOCK + lane;
    const float *x = arguments->x + first, *y = arguments->y + first;
    float *z = arguments->z + first;
    for (const float *end = x + whole; x != end; x += ROUND, y += ROUND, z += ROUND) {
        float left[UNROLL], right[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) left[i] = x[i * SPICA_THREADS];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) right[i] = y[i * SPICA_THREADS];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) z[i * SPICA_THREADS] = left[i] + right[i];
    }
    // The rest is less than a round: one row per warp at a time, the last one partial.
    x = arguments->x, y = arguments->y, z = arguments->z;
    for (uint32_t row = whole + warp * SPICA_THREADS; row < n; row += ALL_THREADS) {
        const uint32_t i = row + lane;
        SPICA_IF (i < n) {
            z[i] = x[i] + y[i];
        } SPICA_END_IF
    }
}

int main(void) {
    spica_launch(vecadd, (void *)spica_arguments());
    return 0;
}
