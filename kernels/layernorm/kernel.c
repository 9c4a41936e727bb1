// Layer normalisation of each row: y = (x - mean) / sqrt(variance + epsilon) * gain + bias.
#include "../softmax/rows.h"

typedef struct {
    uint32_t rows, columns;
    float epsilon;
    const float *x, *gain, *bias;
    float *y;
} Arguments;

SPICA_INLINE float sum(const float *x, uint32_t columns, uint32_t lane) {
    float total = 0.0f;
    for (; columns >= BLOCK; columns -= BLOCK, x += BLOCK) {
        float values[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) values[i] = x[i * SPICA_THREADS];
        total += (values[0] + values[1]) + (values[2] + values[3]);
    }
    for (uint32_t column = 0; column < columns; column += SPICA_THREADS) {
        SPICA_IF (column + lane < columns) {
            total += x[column];
        } SPICA_END_IF
    }
    return total;
}

SPICA_INLINE float sum_of_squares(const float *x, uint32_t columns, uint32_t lane,
                                  float mean) {
    float sums[UNROLL] = {0};
    for (; columns >= BLOCK; columns -= BLOCK, x += BLOCK) {
        float values[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) values[i] = x[i * SPICA_THREADS] - mean;
#pragma unroll
        for (int i = 0; i < UNROLL; i++) sums[i] = fmaf(values[i], values[i], sums[i]);
    }
    for (uint32_t column = 0; column < columns; column += SPICA_THREADS) {
        SPICA_IF (column + lane < columns) {
            const float value = x[column] - mean;
            sums[0] = fmaf(value, value, sums[0]);
        } SPICA_END_IF
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

SPICA_INLINE float normalised(float x, float mean, float scale, float gain, float bias) {
    return fmaf((x - mean) * scale, gain, bias);
}

SPICA_INLINE void normalise(const Arguments *arguments, uint32_t row, uint32_t lane, float mean,
                            float scale) {
    uint32_t columns = arguments->columns;
    const float *x = arguments->x + row * columns + lane;
    float *y = arguments->y + row * columns + lane;
    const float *gain = arguments->gain + lane, *bias = arguments->bias + lane;
    for (; columns >= BLOCK; columns -= BLOCK) {
        float values[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            const int at = i * SPICA_THREADS;
            values[i] = normalised(x[at], mean, scale, gain[at], bias[at]);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; i++) y[i * SPICA_THREADS] = values[i];
        x += BLOCK, y += BLOCK, gain += BLOCK, bias += BLOCK;
    }
    for (uint32_t column = 0; column < columns; column += SPICA_THREADS) {
        SPICA_IF (column + lane < columns) {
            y[column] = normalised(x[column], mean, scale, gain[column], bias[column]);
        } SPICA_END_IF
    }
}

SPICA_INLINE void layernorm(void) {
    const Arguments *arguments = spica_arguments();
    const uint32_t columns = arguments->columns, lane = vx_thread_id();
    const uint32_t worker = vx_core_id() * SPICA_WARPS + vx_warp_id();
    if (worker >= WORKERS) return;
    volatile float *slots = (volatile float *)spica_shared() + worker * SPICA_THREADS;
    const float share = 1.0f / (float)columns;
    for (uint32_t row = worker; row < arguments->rows; row += WORKERS) {
        const float *x = arguments->x + row * columns + lane;
        const float mean = share * sum_of_lanes(sum(x, columns, lane), slots, lane);
        const float lane_squares = sum_of_squares(x, columns, lane, mean);
        const float squares = sum_of_lanes(lane_squares, slots, lane);
        const float scale = spica_rsqrtf(fmaf(squares, share, arguments->epsilon));
        normalise(arguments, row, lane, mean, scale);
    }
}

int main(void) {
    SPICA_PARALLEL {
        layernorm();
    } SPICA_END_PARALLEL
    return 0;
}
