// N-body gravity: acceleration of each body, the sum over all of m d / (|d|**2 +
// softening**2)**1.5, with d the vector to the other body.
#include <spica.h>
#include <spica_parallel.h>

// All threads load TILE bodies at a time into shared memory, and each thread sums over them for its
// own bodies. Two tiles alternate, so one barrier per tile is enough. A thread has two bodies if
// there are more bodies than threads; each loaded word of the tile then serves both.
enum {
    UNROLL = 4,
    TILE = 128,
    THREADS = SPICA_THREADS * SPICA_WARPS * SPICA_CORES,
};

_Static_assert(SPICA_SHARED_BYTES >= 2 * 16 * TILE,
               "[larger shared.size] shared memory must hold two tiles");

typedef struct {
    uint32_t n;
    float softening; // squared
    const float *x, *y, *z, *mass;
    float *ax, *ay, *az;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

// Makes the compiler recompute values derived from a number instead of keeping them in registers.
#define ANEW(number) __asm__ volatile("" : "+r"(number))

typedef struct {
    float x[TILE], y[TILE], z[TILE], mass[TILE];
} Tile;

typedef struct {
    float x, y, z;
} Vector;

// Copies bodies from `first` on; pads the tile with bodies of mass 0.
SPICA_INLINE void load_tile(Tile *tile, uint32_t first) {
    const uint32_t lane = vx_thread_id();
    uint32_t slot = spica_thread();
    for (; slot - lane < TILE; slot += THREADS) {
        const uint32_t i = first + slot;
        float x = 0.0f, y = 0.0f, z = 0.0f, mass = 0.0f;
        SPICA_IF (i < ARGUMENTS->n) {
            x = ARGUMENTS->x[i], y = ARGUMENTS->y[i], z = ARGUMENTS->z[i];
            mass = ARGUMENTS->mass[i];
        } SPICA_END_IF
        SPICA_IF (slot < TILE) {
            tile->x[slot] = x, tile->y[slot] = y, tile->z[slot] = z, tile->mass[slot] = mass;
        } SPICA_END_IF
    }
}

SPICA_INLINE Vector pulled(Vector sum, Vector at, Vector other, float mass, float softening) {
    const float x = other.x - at.x, y = other.y - at.y, z = other.z - at.z;
    const float square = fmaf(x, x, fmaf(y, y, fmaf(z, z, softening)));
    const float inverse = spica_rsqrtf(square);
    const float pull = (mass * inverse) * (inverse * inverse);
    return (Vector){fmaf(pull, x, sum.x), fmaf(pull, y, sum.y), fmaf(pull, z, sum.z)};
}

// Adds the pull of a tile's bodies on one or two bodies; a few bodies of mass 0 may follow the
// last.
SPICA_INLINE void add_pulls(const Tile *tile, uint32_t bodies, const Vector *at, Vector *sums,
                       int count) {
    const float softening = ARGUMENTS->softening;
    const int unroll = UNROLL / count;
    for (uint32_t j = 0; j < bodies; j += unroll) {
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            const Vector other = {tile->x[j + k], tile->y[j + k], tile->z[j + k]};
#pragma unroll
            for (int own = 0; own < count; own++)
                sums[own] = pulled(sums[own], at[own], other, tile->mass[j + k], softening);
        }
    }
}

SPICA_INLINE Vector position(uint32_t i) {
    Vector at = {0.0f, 0.0f, 0.0f};
    SPICA_IF (i < ARGUMENTS->n) {
        at = (Vector){ARGUMENTS->x[i], ARGUMENTS->y[i], ARGUMENTS->z[i]};
    } SPICA_END_IF
    return at;
}

SPICA_INLINE void store(uint32_t i, Vector sum) {
    SPICA_IF (i < ARGUMENTS->n) {
        ARGUMENTS->ax[i] = sum.x, ARGUMENTS->ay[i] = sum.y, ARGUMENTS->az[i] = sum.z;
    } SPICA_END_IF
}

SPICA_INLINE void nbody(void) {
    const uint32_t n = ARGUMENTS->n;
    Tile *tile = spica_shared();
    for (uint32_t round = 0; round < n; round += 2 * THREADS) {
        uint32_t i = round + spica_thread();
        const Vector at[2] = {position(i), position(i + THREADS)};
        Vector sums[2] = {{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f}};
        for (uint32_t first = 0; first < n; first += TILE) {
            ANEW(i);
            load_tile(tile, first);
            spica_barrier();
            const uint32_t left = n - first, bodies = left < TILE ? left : TILE;
            // Lanes without a body also compute but do not store; warps without a body skip the
            // tile.
            if (i + THREADS - vx_thread_id() < n)
                add_pulls(tile, bodies, at, sums, 2);
            else if (i - vx_thread_id() < n)
                add_pulls(tile, bodies, at, sums, 1);
            tile = (Tile *)((uint32_t)tile ^ sizeof(Tile));
        }
        ANEW(i);
        store(i, sums[0]);
        store(i + THREADS, sums[1]);
    }
}

int main(void) {
    SPICA_PARALLEL {
        nbody();
    } SPICA_END_PARALLEL
    return 0;
}
