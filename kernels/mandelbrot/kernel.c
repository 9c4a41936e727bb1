// Mandelbrot set: steps z = z * z + c from 0 for each pixel c while abs(z) <= 2, at most `limit`.
#include <spica.h>
#include <spica_parallel.h>

// Counts depend on every rounding: fused operations are explicit, no others are allowed.
#pragma STDC FP_CONTRACT OFF

enum { WARPS = SPICA_WARPS * SPICA_CORES };

typedef struct {
    uint32_t width, height, limit;
    float left, top, pitch; // twice c of the first pixel, twice the pixel pitch
    uint32_t *counts;
} Arguments;

// With Z = 2 z and C = 2 c a step is re = (re * re - im * im) / 2 + C.re, im = re * im + C.im:
// doubling removes the factor 2 of the product, and halving is exact.
SPICA_INLINE uint32_t steps(float c_re, float c_im, uint32_t limit) {
    float re = 0.0f, im = 0.0f, square = 0.0f, distance = 0.0f;
    uint32_t count = 0;
    SPICA_WHILE ((distance <= 16.0f) & (count < limit)) {
        const float difference = fmaf(re, re, -square);
        im = fmaf(re, im, c_im);
        re = fmaf(difference, 0.5f, c_re);
        square = im * im;
        distance = fmaf(re, re, square);
        count++;
    } SPICA_END_WHILE
    return count;
}

// Warps rotate over pieces of rows, down a column of pieces first. Each warp gets pieces of all
// columns and of every few rows, so the slow pixels inside the set are spread over all warps.
SPICA_INLINE void mandelbrot(void) {
    const Arguments *arguments = spica_arguments();
    const uint32_t width = arguments->width, lane = vx_thread_id();
    const uint32_t across = (width + SPICA_THREADS - 1) / SPICA_THREADS;
    const uint32_t height = arguments->height, pieces = across * height;
    uint32_t piece = vx_core_id() * SPICA_WARPS + vx_warp_id();
    for (; piece < pieces; piece += WARPS) {
        const uint32_t block = piece / height, row = piece - block * height;
        const uint32_t column = block * SPICA_THREADS + lane;
        const float c_re = fmaf((float)column, arguments->pitch, arguments->left);
        const float c_im = fmaf((float)row, arguments->pitch, arguments->top);
        SPICA_IF (column < width) {
            arguments->counts[row * width + column] = steps(c_re, c_im, arguments->limit);
        } SPICA_END_IF
    }
}

int main(void) {
    SPICA_PARALLEL {
        mandelbrot();
    } SPICA_END_PARALLEL
    return 0;
}
