// Softmax of each row: y = exp(x - maximum) / sum of the exponentials.
#include "rows.h"

static const float LOG2_E = 1.44269504088896340736f;

typedef struct {
    uint32_t rows, columns;
    const float *x;
    float *y;
} Arguments;

SPICA_INLINE float maximum(const float *x, uint32_t columns, uint32_t lane) {
    float largest = -__builtin_inff();
    for (; columns >= BLOCK; columns -= BLOCK, x += BLOCK) {
        float values[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) values[i] = x[i * SPICA_THREADS];
        largest = fmaxf(largest, fmaxf(fmaxf(values[0], values[1]), fmaxf(values[2], values[3])));
    }
    for (uint32_t column = 0; column < columns; column += SPICA_THREADS) {
        SPICA_IF (column + lane < columns) {
            largest = fmaxf(largest, x[column]);
        } SPICA_END_IF
    }
    return largest;
}

// Writes 2**(x log2(e) - shift) to y; returns the sum of this lane's values.
SPICA_INLINE float exponentials(const float *x, float *y, uint32_t columns, uint32_t lane,
                                float shift) {
    float total = 0.0f;
    for (; columns >= BLOCK; columns -= BLOCK, x += BLOCK, y += BLOCK) {
        float values[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) values[i] = x[i * SPICA_THREADS];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) values[i] = spica_exp2f(fmaf(values[i], LOG2_E, -shift));
#pragma unroll
        for (int i = 0; i < UNROLL; i++) y[i * SPICA_THREADS] = values[i];
        total += (values[0] + values[1]) + (values[2] + values[3]);
    }
    for (uint32_t column = 0; column < columns; column += SPICA_THREADS) {
        SPICA_IF (column + lane < columns) {
            const float value = spica_exp2f(fmaf(x[column], LOG2_E, -shift));
            y[column] = value;
            total += value;
        } SPICA_END_IF
    }
    return total;
}

SPICA_INLINE void scale(float *y, uint32_t columns, uint32_t lane, float factor) {
    for (; columns >= BLOCK; columns -= BLOCK, y += BLOCK) {
        float values[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) values[i] = y[i * SPICA_THREADS];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) y[i * SPICA_THREADS] = values[i] * factor;
    }
    for (uint32_t column = 0; column < columns; column += SPICA_THREADS) {
        SPICA_IF (column + lane < columns) {
            y[column] *= factor;
        } SPICA_END_IF
    }
}

SPICA_INLINE void softmax(void) {
    const Arguments *arguments = spica_arguments();
    const uint32_t columns = arguments->columns, lane = vx_thread_id();
    const uint32_t worker = vx_core_id() * SPICA_WARPS + vx_warp_id();
    if (worker >= WORKERS) return;
    volatile float *slots = (volatile float *)spica_shared() + worker * SPICA_THREADS;
    for (uint32_t row = worker; row < arguments->rows; row += WORKERS) {
        const float *x = arguments->x + row * columns + lane;
        float *y = arguments->y + row * columns + lane;
        // One shift for the whole row cancels in the quotient, so its rounding does not matter.
        const float shift = LOG2_E * largest_of_lanes(maximum(x, columns, lane), slots, lane);
        const float lane_sum = exponentials(x, y, columns, lane, shift);
        const float total = sum_of_lanes(lane_sum, slots, lane);
        scale(y, columns, lane, spica_rcpf(total));
    }
}

int main(void) {
    SPICA_PARALLEL {
        softmax();
    } SPICA_END_PARALLEL
    return 0;
}
