// Correlation of an image of h x w pixels with a 3 x 3 filter, with zero padding.
#include <spica.h>
#include <spica_parallel.h>

// A warp processes SPICA_THREADS columns at a time, one per lane, from top to bottom. Each row of
// pixels is loaded once (left, middle and right) and feeds the sums of three result rows, kept in
// registers. The rows of all columns, end to end, are divided evenly among the warps.
enum { ALL_WARPS = SPICA_WARPS * SPICA_CORES };

typedef struct {
    uint32_t h, w;
    const float *image, *weights;
    float *result;
} Arguments;

typedef struct {
    float left, middle, right;
} Pixels;

#define ARGUMENTS ((const Arguments *)spica_arguments())

// A lane's neighbours: word offsets to the left and right, with masks of all ones; 0 and zeros if
// there is no neighbour.
typedef struct {
    uint32_t left, right, left_mask, right_mask;
} Sides;

SPICA_INLINE float masked(const float *at, uint32_t mask) {
    return spica_float(spica_bits(*at) & mask);
}

// The pixel at `at` and its neighbours; zero outside the image.
SPICA_INLINE Pixels load(const float *at, Sides sides, int inside) {
    if (inside) return (Pixels){at[-1], at[0], at[1]};
    return (Pixels){
        .left = masked(at - sides.left, sides.left_mask),
        .middle = at[0],
        .right = masked(at + sides.right, sides.right_mask),
    };
}

SPICA_INLINE float weigh(const float *weights, Pixels pixels, float sum) {
    sum = fmaf(weights[0], pixels.left, sum);
    sum = fmaf(weights[1], pixels.middle, sum);
    return fmaf(weights[2], pixels.right, sum);
}

// Computes rows y to y + count - 1 of the result in the lane's column.
SPICA_INLINE void filter(const float *weights, uint32_t x, uint32_t y, uint32_t count, int inside) {
    const uint32_t h = ARGUMENTS->h, w = ARGUMENTS->w;
    const float *at = ARGUMENTS->image + y * w + x;
    float *restrict to = ARGUMENTS->result + y * w + x;
    const Sides sides = {x > 0, x + 1 < w, spica_mask(x > 0), spica_mask(x + 1 < w)};
    float next = 0.0f, current;
    if (y > 0) next = weigh(weights, load(at - w, sides, inside), next);
    Pixels pixels = load(at, sides, inside);
    current = weigh(weights + 3, pixels, next);
    next = weigh(weights, pixels, 0.0f);
    for (float *end = to + (count - 1) * w; to != end; to += w) {
        at += w;
        pixels = load(at, sides, inside);
        *to = weigh(weights + 6, pixels, current);
        current = weigh(weights + 3, pixels, next);
        next = weigh(weights, pixels, 0.0f);
    }
    if (y + count < h) current = weigh(weights + 6, load(at + w, sides, inside), current);
    *to = current;
}

SPICA_INLINE void filter_share(void) {
    const uint32_t h = ARGUMENTS->h, w = ARGUMENTS->w;
    float weights[9];
#pragma unroll
    for (int i = 0; i < 9; i++) weights[i] = ARGUMENTS->weights[i];
    const uint32_t blocks = (w + SPICA_THREADS - 1) / SPICA_THREADS;
    const uint32_t share = (blocks * h + ALL_WARPS - 1) / ALL_WARPS;
    uint32_t first = (vx_core_id() * SPICA_WARPS + vx_warp_id()) * share;
    const uint32_t end = first + share < blocks * h ? first + share : blocks * h;
    while (first < end) {
        const uint32_t column = first / h * SPICA_THREADS, y = first % h;
        const uint32_t count = h - y < end - first ? h - y : end - first;
        const uint32_t x = column + vx_thread_id();
        if (column > 0 && column + SPICA_THREADS < w)
            filter(weights, x, y, count, 1);
        else {
            SPICA_IF (x < w) {
                filter(weights, x, y, count, 0);
            } SPICA_END_IF
        }
        first += count;
    }
}

int main(void) {
    SPICA_PARALLEL {
        filter_share();
    } SPICA_END_PARALLEL
    return 0;
}
