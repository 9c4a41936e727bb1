// Matrix-vector product y = A x in FP32: m x n, row-major and dense.
#include <spica.h>
#include <spica_parallel.h>

// A warp processes ROWS rows at a time, BLOCK adjacent columns per iteration: a loaded word of x is
// used for each row, a word of A once. Rows beyond the last repeat the last one; their sums are not
// stored. At the end, the lanes' sums are combined in shared memory; warps without room there take
// no rows.
enum {
    ROWS = 4,
    UNROLL = 4,
    BLOCK = UNROLL * SPICA_THREADS,
    SLOTS = ROWS * SPICA_THREADS,
    WARPS = SPICA_WARPS * SPICA_CORES,
    ROOM = SPICA_SHARED_BYTES / (4 * SLOTS),
    WORKERS = WARPS < ROOM ? WARPS : ROOM,
};
_Static_assert(ROOM >= 1, "[larger shared.size] shared memory must hold four words for each lane");

typedef struct {
    uint32_t m, n;
    const float *a, *x;
    float *y;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

// One lane's sum of each row, over every SPICA_THREADS-th column.
typedef struct {
    float of[ROWS];
} Sums;

SPICA_INLINE Sums sums_of_lane(uint32_t first, uint32_t lane) {
    uint32_t n = ARGUMENTS->n, last = ARGUMENTS->m - 1;
    const float *x = ARGUMENTS->x + lane, *a[ROWS];
    a[0] = ARGUMENTS->a + first * n + lane;
#pragma unroll
    for (uint32_t r = 1; r < ROWS; r++) a[r] = a[r - 1] + (first + r <= last ? n : 0);
    // Each pointer includes the lane's offset; otherwise the compiler adds it again in every block.
    SPICA_ANEW(x);
#pragma unroll
    for (int r = 0; r < ROWS; r++) SPICA_ANEW(a[r]);
    Sums sums = {0};
#pragma unroll 1
    for (; n >= BLOCK; n -= BLOCK, x += BLOCK) {
        float columns[UNROLL], words[ROWS][UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) columns[i] = x[i * SPICA_THREADS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
#pragma unroll
            for (int i = 0; i < UNROLL; i++) words[r][i] = a[r][i * SPICA_THREADS];
            a[r] += BLOCK;
        }
#pragma unroll
        for (int i = 0; i < UNROLL; i++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sums.of[r] = fmaf(words[r][i], columns[i], sums.of[r]);
    }
#pragma unroll 1
    for (uint32_t column = 0; column < n; column += SPICA_THREADS) {
        SPICA_IF (column + lane < n) {
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sums.of[r] = fmaf(a[r][column], x[column], sums.of[r]);
        } SPICA_END_IF
    }
    return sums;
}

// Sums over all lanes, returned in each of them. A warp runs in lockstep: all lanes write their
// slots before any is read.
SPICA_INLINE Sums sums_of_lanes(Sums sums, volatile float *slots, uint32_t lane) {
    volatile float *slot = slots + lane;
    if ((SPICA_THREADS & (SPICA_THREADS - 1)) == 0) {
#pragma unroll
        for (uint32_t distance = 1; distance < SPICA_THREADS; distance *= 2) {
            const volatile float *other = slots + (lane ^ distance);
#pragma unroll
            for (int r = 0; r < ROWS; r++) slot[r * SPICA_THREADS] = sums.of[r];
            float others[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) others[r] = other[r * SPICA_THREADS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) sums.of[r] += others[r];
        }
        return sums;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) slot[r * SPICA_THREADS] = sums.of[r];
    Sums totals = {0};
#pragma unroll 1
    for (uint32_t other = 0; other < SPICA_THREADS; other++)
#pragma unroll
        for (int r = 0; r < ROWS; r++) totals.of[r] += slots[r * SPICA_THREADS + other];
    return totals;
}

SPICA_INLINE void multiply(void) {
    const uint32_t m = ARGUMENTS->m, lane = vx_thread_id();
    const uint32_t worker = vx_core_id() * SPICA_WARPS + vx_warp_id();
    if (worker >= WORKERS) return;
    volatile float *slots = (volatile float *)spica_shared() + worker * SPICA_CONSTANT(SLOTS);
    for (uint32_t row = worker * ROWS; row < m; row += WORKERS * ROWS) {
        const Sums sums = sums_of_lanes(sums_of_lane(row, lane), slots, lane);
        float *y = ARGUMENTS->y + row;
        SPICA_IF (lane == 0) {
#pragma unroll
            for (uint32_t r = 0; r < ROWS; r++)
                if (row + r < m) y[r] = sums.of[r];
        } SPICA_END_IF
    }
}

int main(void) {
    SPICA_PARALLEL {
        multiply();
    } SPICA_END_PARALLEL
    return 0;
}
