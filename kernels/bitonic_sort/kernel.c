// Sort of 32-bit unsigned integers in place, by a bitonic network.
#include <spica.h>

// The network of any n is that of the next power of two: every comparison moves the larger key up,
// so those with places from n on, were the largest keys there, would change nothing; they are left
// out. A merge of two sorted runs of `half` keys compares each key of one with its mirror image in
// the other, then keys half / 2 apart, half / 4, ... 1.
//
// A thread takes two such steps at a time on four keys in registers; where a single one is left it
// is that of neighbours. Steps within a chunk are taken by one warp in its part of shared memory,
// without barriers; for all others, all warps meet after each pass over memory.
enum {
    WARPS = SPICA_WARPS * SPICA_CORES,
    SHARED_KEYS = SPICA_SHARED_BYTES / 4,
    // Four keys for each lane, if there is room: a power of two, as are all chunks.
    LANES_KEYS = 2u << (31 - __builtin_clz(4 * SPICA_THREADS - 1)),
    LEAST_CHUNK = LANES_KEYS < SHARED_KEYS ? LANES_KEYS : SHARED_KEYS,
    // Whether every warp has four keys for each lane, whatever the chunk.
    FILLS_LANES = LEAST_CHUNK == 4 * SPICA_THREADS,
};

static const uint32_t LARGEST = 0xFFFFFFFF;

typedef struct {
    uint32_t n;
    uint32_t *keys;
} Arguments;

// Four places, ascending.
typedef struct {
    uint32_t a, b, c, d;
} Places;

static inline void order(uint32_t *low, uint32_t *high) {
    const uint32_t change = (*low ^ *high) & spica_mask(*high < *low);
    *low ^= change, *high ^= change;
}

static inline void order_pair(volatile uint32_t *keys, uint32_t low, uint32_t high) {
    uint32_t a = keys[low], b = keys[high];
    order(&a, &b);
    keys[low] = a, keys[high] = b;
}

static inline void order_four(volatile uint32_t *keys, Places at, int is_mirrored) {
    uint32_t a = keys[at.a], b = keys[at.b], c = keys[at.c], d = keys[at.d];
    if (is_mirrored)
        order(&a, &d), order(&b, &c);
    else
        order(&a, &c), order(&b, &d);
    order(&a, &b), order(&c, &d);
    keys[at.a] = a, keys[at.b] = b, keys[at.c] = c, keys[at.d] = d;
}

// The four of number `four` in the steps mirrored in runs of `distance` keys, or `distance` apart,
// and then half of that apart.
static inline Places places(uint32_t four, uint32_t distance, int is_mirrored) {
    const uint32_t near = distance / 2, offset = four & (near - 1), first = 4 * four - 3 * offset;
    const uint32_t far = is_mirrored ? first + 2 * (distance - offset) - 1 - near : first + distance;
    return (Places){first, first + near, far, far + near};
}

static inline void order_four_below(uint32_t *keys, uint32_t n, Places at, int is_mirrored) {
    SPICA_IF (at.d < n) {
        order_four(keys, at, is_mirrored);
    } SPICA_ELSE {
        SPICA_IF (at.c < n) {
            order_pair(keys, is_mirrored ? at.b : at.a, at.c);
        } SPICA_END_IF
        SPICA_IF (at.b < n) {
            order_pair(keys, at.a, at.b);
        } SPICA_END_IF
    } SPICA_END_IF
}

// All warps take two steps on all keys, and meet.
SPICA_INLINE void pass(const Arguments *arguments, uint32_t distance, int is_mirrored) {
    const uint32_t n = arguments->n, block = 2 * distance, lane = vx_thread_id();
    const uint32_t fours = ((n + block - 1) & -block) / 4;
    uint32_t row = (vx_core_id() * SPICA_WARPS + vx_warp_id()) * SPICA_THREADS;
    for (; row < fours; row += WARPS * SPICA_THREADS) {
        const Places at = places(row + lane, distance, is_mirrored);
        order_four_below(arguments->keys, n, at, is_mirrored);
    }
    spica_barrier();
}

static inline void chunk_pass(volatile uint32_t *chunk, uint32_t size, uint32_t distance,
                              int is_mirrored) {
    const uint32_t fours = size / 4, lane = vx_thread_id();
    for (uint32_t row = 0; row < fours; row += SPICA_THREADS) {
        const Places at = places(row + lane, distance, is_mirrored);
        if (FILLS_LANES) {
            order_four(chunk, at, is_mirrored);
        } else {
            SPICA_IF (row + lane < fours) {
                order_four(chunk, at, is_mirrored);
            } SPICA_END_IF
        }
    }
}

static inline void order_neighbours(volatile uint32_t *chunk, uint32_t size) {
    const uint32_t pairs = size / 2, lane = vx_thread_id();
    for (uint32_t row = 0; row < pairs; row += SPICA_THREADS) {
        const uint32_t place = 2 * (row + lane);
        if (FILLS_LANES) {
            order_pair(chunk, place, place + 1);
        } else {
            SPICA_IF (row + lane < pairs) {
                order_pair(chunk, place, place + 1);
            } SPICA_END_IF
        }
    }
}

// The functions below are not to be merged into one, which would run out of registers.
#define SEPARATE static __attribute__((noinline)) void

// The steps from `distance` apart down to neighbours.
SEPARATE merge_chunk(volatile uint32_t *chunk, uint32_t size, uint32_t distance) {
    for (; distance >= 2; distance /= 4) chunk_pass(chunk, size, distance, 0);
    if (distance == 1) order_neighbours(chunk, size);
}

SEPARATE mirror_chunk(volatile uint32_t *chunk, uint32_t size, uint32_t half) {
    chunk_pass(chunk, size, half, 1);
}

SEPARATE sort_chunk(volatile uint32_t *chunk, uint32_t size) {
    order_neighbours(chunk, size);
    for (uint32_t half = 2; half < size; half *= 2) {
        mirror_chunk(chunk, size, half);
        merge_chunk(chunk, size, half / 4);
    }
}

// Copy what there is, and fill up with what stays at the end.
SEPARATE load_chunk(volatile uint32_t *chunk, uint32_t size, const uint32_t *from, uint32_t keys) {
    const uint32_t lane = vx_thread_id();
    for (uint32_t row = 0; row < size; row += SPICA_THREADS) {
        uint32_t key = LARGEST;
        SPICA_IF (row + lane < keys) {
            key = from[row + lane];
        } SPICA_END_IF
        SPICA_IF (row + lane < size) {
            chunk[row + lane] = key;
        } SPICA_END_IF
    }
}

SEPARATE store_chunk(uint32_t *to, volatile uint32_t *chunk, uint32_t keys) {
    const uint32_t lane = vx_thread_id();
    for (uint32_t row = 0; row < keys; row += SPICA_THREADS) {
        SPICA_IF (row + lane < keys) {
            to[row + lane] = chunk[row + lane];
        } SPICA_END_IF
    }
}

// Warps sort the chunks, or merge them from steps `distance` apart on, and meet.
SEPARATE in_chunks(const Arguments *arguments, uint32_t size, int is_sorted, uint32_t distance) {
    const uint32_t worker = vx_core_id() * SPICA_WARPS + vx_warp_id();
    const uint32_t room = SHARED_KEYS / size, workers = room < WARPS ? room : WARPS;
    if (worker < workers) {
        volatile uint32_t *chunk = (volatile uint32_t *)spica_shared() + worker * size;
        for (uint32_t first = worker * size; first < arguments->n; first += workers * size) {
            const uint32_t left = arguments->n - first, keys = left < size ? left : size;
            load_chunk(chunk, size, arguments->keys + first, keys);
            if (is_sorted)
                merge_chunk(chunk, size, distance);
            else
                sort_chunk(chunk, size);
            store_chunk(arguments->keys + first, chunk, keys);
        }
    }
    spica_barrier();
}

SEPARATE mirrored_pass(const Arguments *arguments, uint32_t half) { pass(arguments, half, 1); }

SEPARATE distant_pass(const Arguments *arguments, uint32_t distance) {
    pass(arguments, distance, 0);
}

static void bitonic_sort(void *pointer) {
    const Arguments *arguments = pointer;
    const uint32_t n = arguments->n;
    // Large enough to keep all warps busy, and no larger than shared memory has room for each.
    uint32_t chunk = LEAST_CHUNK;
    while (chunk * WARPS < n && 2 * chunk * WARPS <= SHARED_KEYS) chunk *= 2;
    in_chunks(arguments, chunk, 0, 0);
    for (uint32_t half = chunk; half < n; half *= 2) {
        mirrored_pass(arguments, half);
        uint32_t distance = half / 4;
        for (; distance >= chunk; distance /= 4) distant_pass(arguments, distance);
        in_chunks(arguments, chunk, 1, distance);
    }
}

int main(void) {
    spica_launch(bitonic_sort, (void *)spica_arguments());
    return 0;
}
