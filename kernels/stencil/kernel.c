// Jacobi steps of a 5-point stencil: each step reads one grid and writes the other; borders stay.
#include <spica.h>
#include <spica_parallel.h>

// A warp processes a strip, one column per lane, from top to bottom: of the five points, only
// south, west and east are loaded per row. Strips are as long as possible with two or more for each
// warp.
enum {
    WARPS = SPICA_WARPS * SPICA_CORES,
    UNROLL = 4,
    MOST_ROWS = 64,
};

static const float CENTRE = 0.5f, SIDE = 0.125f;

typedef struct {
    uint32_t height, width, steps;
    float *even, *odd;
} Arguments;

SPICA_INLINE float relaxed(const float *point, float north, float centre, float south) {
    const float sides = (north + south) + (point[-1] + point[1]);
    return fmaf(CENTRE, centre, SIDE * sides);
}

// Hides from the compiler how two pointers are computed. Otherwise it would keep a pointer for each
// row of each grid across strips and run out of registers.
#define HIDE(from, to) __asm__("" : "+r"(from), "+r"(to))

SPICA_INLINE void march(const float *from, float *to, uint32_t width, uint32_t rows) {
    float north = *(from - width), centre = *from;
    // Four rows at a time, so that two of four values move between registers instead of eight.
    for (; rows >= UNROLL; rows -= UNROLL) {
        const float *second = from + width, *third = second + width, *fourth = third + width;
        const float below = *second, lower = *third, lowest = *fourth, south = fourth[width];
        const float first_result = relaxed(from, north, centre, below);
        const float second_result = relaxed(second, centre, below, lower);
        const float third_result = relaxed(third, below, lower, lowest);
        const float fourth_result = relaxed(fourth, lower, lowest, south);
        *to = first_result, to += width;
        *to = second_result, to += width;
        *to = third_result, to += width;
        *to = fourth_result, to += width;
        from = fourth + width;
        north = lowest, centre = south;
        HIDE(from, to);
    }
    for (; rows > 0; rows--) {
        const float south = from[width];
        *to = relaxed(from, north, centre, south);
        from += width, to += width;
        north = centre, centre = south;
        HIDE(from, to);
    }
}

SPICA_INLINE void step(const Arguments *arguments, const float *from, float *to) {
    const uint32_t width = arguments->width, inner_rows = arguments->height - 2;
    // Strips start at multiples of the lanes, like cache lines; the last column is border.
    const uint32_t across = (width - 2) / SPICA_THREADS + 1;
    uint32_t length = inner_rows * across / (2 * WARPS) / UNROLL * UNROLL;
    if (length < UNROLL) length = UNROLL;
    if (length > MOST_ROWS) length = MOST_ROWS;
    const uint32_t strips = across * ((inner_rows + length - 1) / length);
    const uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id(), lane = vx_thread_id();
    for (uint32_t strip = warp; strip < strips; strip += WARPS) {
        const uint32_t down = strip / across, done = down * length;
        const uint32_t column = (strip - down * across) * SPICA_THREADS + lane;
        const uint32_t index = (done + 1) * width + column;
        const float *first = from + index;
        float *target = to + index;
        const uint32_t left = inner_rows - done, rows = left < length ? left : length;
        HIDE(first, target);
        SPICA_IF (column - 1 < width - 2) {
            march(first, target, width, rows);
        } SPICA_END_IF
    }
}

// Waits for all warps; their writes are visible afterwards. Not inlined, or its operands would stay
// in registers of the caller.
static __attribute__((noinline)) void barrier(void) { spica_barrier(); }

SPICA_INLINE void jacobi(void) {
    const Arguments *arguments = spica_arguments();
    float *from = arguments->even, *to = arguments->odd;
    if (arguments->height < 3 || arguments->width < 3) return;
    for (uint32_t steps = arguments->steps; steps > 0; steps--) {
        step(arguments, from, to);
        barrier();
        float *const written = to;
        to = from, from = written;
    }
}

int main(void) {
    SPICA_PARALLEL {
        jacobi();
    } SPICA_END_PARALLEL
    return 0;
}
