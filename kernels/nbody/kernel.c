// Acceleration of each body: the sum over all of m d / (|d|**2 + softening**2)**1.5, with d the
// way to the other.
#include <spica.h>
#include <spica_parallel.h>

// All threads load TILE bodies at a time into shared memory, where each thread's body meets them;
// two tiles take turns, so that one barrier per tile is enough.
enum {
    UNROLL = 4,
    TILE = 128,
    THREADS = SPICA_THREADS * SPICA_WARPS * SPICA_CORES,
};

typedef struct {
    uint32_t n;
    float softening; // squared
    const float *x, *y, *z, *mass;
    float *ax, *ay, *az;
} Arguments;

typedef struct {
    float x[TILE], y[TILE], z[TILE], mass[TILE];
} Tile;

typedef struct {
    float x, y, z;
} Vector;

// Copy bodies from `first` on; a tile is filled up with bodies without mass.
SPICA_INLINE void load_tile(const Arguments *arguments, Tile *tile, uint32_t first, uint32_t lane,
                             uint32_t thread) {
    for (uint32_t row = thread - lane; row < TILE; row += THREADS) {
        const uint32_t place = row + lane, i = first + place;
        float x = 0.0f, y = 0.0f, z = 0.0f, mass = 0.0f;
        SPICA_IF (i < arguments->n) {
            x = arguments->x[i], y = arguments->y[i], z = arguments->z[i];
            mass = arguments->mass[i];
        } SPICA_END_IF
        SPICA_IF (place < TILE) {
            tile->x[place] = x, tile->y[place] = y, tile->z[place] = z, tile->mass[place] = mass;
        } SPICA_END_IF
    }
}

SPICA_INLINE Vector pulled(Vector sum, Vector at, float softening, const Tile *tile, uint32_t j) {
    const float x = tile->x[j] - at.x, y = tile->y[j] - at.y, z = tile->z[j] - at.z;
    const float square = fmaf(x, x, fmaf(y, y, fmaf(z, z, softening)));
    const float inverse = spica_rsqrtf(square);
    const float pull = (tile->mass[j] * inverse) * (inverse * inverse);
    return (Vector){fmaf(pull, x, sum.x), fmaf(pull, y, sum.y), fmaf(pull, z, sum.z)};
}

SPICA_INLINE Vector position(const Arguments *arguments, uint32_t i) {
    Vector at = {0.0f, 0.0f, 0.0f};
    SPICA_IF (i < arguments->n) {
        at = (Vector){arguments->x[i], arguments->y[i], arguments->z[i]};
    } SPICA_END_IF
    return at;
}

SPICA_INLINE void nbody(void) {
    const Arguments *arguments = spica_arguments();
    const uint32_t n = arguments->n, thread = spica_thread(), lane = vx_thread_id();
    const float softening = arguments->softening;
    Tile *tile = spica_shared(), *other = tile + 1;
    for (uint32_t round = 0; round < n; round += THREADS) {
        const uint32_t i = round + thread;
        const Vector at = position(arguments, i);
        Vector sum = {0.0f, 0.0f, 0.0f};
        for (uint32_t first = 0; first < n; first += TILE) {
            load_tile(arguments, tile, first, lane, thread);
            spica_barrier();
            const uint32_t left = n - first, bodies = left < TILE ? left : TILE;
            // Lanes without a body compute as well and store nothing; warps without one wait.
            if (i - lane < n) {
                for (uint32_t j = 0; j < bodies; j += UNROLL) {
#pragma unroll
                    for (uint32_t k = 0; k < UNROLL; k++)
                        sum = pulled(sum, at, softening, tile, j + k);
                }
            }
            Tile *const done = tile;
            tile = other, other = done;
        }
        SPICA_IF (i < n) {
            arguments->ax[i] = sum.x, arguments->ay[i] = sum.y, arguments->az[i] = sum.z;
        } SPICA_END_IF
    }
}

int main(void) {
    SPICA_PARALLEL {
        nbody();
    } SPICA_END_PARALLEL
    return 0;
}
