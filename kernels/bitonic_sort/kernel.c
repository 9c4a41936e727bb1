// Sort of 32-bit unsigned integers in place, by a bitonic network.
#include <spica.h>

// The network of any n is that of the next power of two: every comparison moves the larger key up,
// so that keys from n on, were they there and the largest, would stay where they are.
//
// A merge of two sorted runs of `half` keys compares each key of one with its mirror image in the
// other, then keys half / 2 apart, half / 4, ... 1. A thread takes up to three such steps at a time,
// with eight keys in registers. Steps within a chunk are taken by one warp, in its part of shared
// memory and without barriers; for all others, all warps meet after each pass over memory.
enum {
    MOST = 8, // keys of a thread at a time
    WARPS = SPICA_WARPS * SPICA_CORES,
    SHARED_KEYS = SPICA_SHARED_BYTES / 4,
    // As many keys for each lane, if there is room: a power of two, as are all chunks.
    LANES_KEYS = 2u << (31 - __builtin_clz(MOST * SPICA_THREADS - 1)),
    LEAST_CHUNK = LANES_KEYS < SHARED_KEYS ? LANES_KEYS : SHARED_KEYS,
    // Whether no lane is ever without its share of a chunk.
    FILLS_LANES = LEAST_CHUNK == MOST * SPICA_THREADS,
};

_Static_assert(SHARED_KEYS >= MOST, "shared memory must hold the keys of a thread");

static const uint32_t LARGEST = 0xFFFFFFFF;

typedef struct {
    uint32_t n;
    uint32_t *keys;
} Arguments;

// One to three steps of all merges, as a thread sees them: it takes `count` keys, `apart` from each
// other, those of one half from `first` on and those of the other up to `last`.
typedef struct {
    int count, is_mirrored;
    uint32_t first, last, apart;
} Group;

SPICA_INLINE Group group_of(uint32_t number, uint32_t apart, int count, int is_mirrored) {
    const uint32_t offset = number & (apart - 1), first = count * number - (count - 1) * offset;
    const uint32_t last = first + (is_mirrored ? count * apart - 1 - 2 * offset : (count - 1) * apart);
    return (Group){count, is_mirrored, first, last, apart};
}

// The compiler is not to know how a number came about, or it keeps a register for each of the terms
// of each address and runs out of them.
SPICA_INLINE uint32_t hidden(uint32_t number) {
    __asm__("" : "+r"(number));
    return number;
}

typedef volatile uint32_t *Place;

SPICA_INLINE void places_of(Group group, Place all, Place *places) {
    const int half = group.is_mirrored ? group.count / 2 : group.count;
    const uint32_t step = hidden(4 * group.apart);
    places[0] = all + group.first;
#pragma unroll
    for (int i = 1; i < half; i++) places[i] = (Place)hidden((uint32_t)places[i - 1] + step);
    if (!group.is_mirrored) return;
    places[group.count - 1] = all + group.last;
#pragma unroll
    for (int i = group.count - 2; i >= half; i--)
        places[i] = (Place)hidden((uint32_t)places[i + 1] - step);
}

// The machine has no minimum of integers. As one block, because compilers would take many of these
// apart, mix them, and run out of registers.
SPICA_INLINE void order(uint32_t *low, uint32_t *high) {
    uint32_t mask, change;
    __asm__("sltu %[mask], %[high], %[low]\n\t"
            "xor %[change], %[high], %[low]\n\t"
            "neg %[mask], %[mask]\n\t"
            "and %[change], %[change], %[mask]\n\t"
            "xor %[low], %[low], %[change]\n\t"
            "xor %[high], %[high], %[change]"
            : [low] "+r"(*low), [high] "+r"(*high), [mask] "=&r"(mask), [change] "=&r"(change));
}

SPICA_INLINE void merge_keys(uint32_t *keys, int count, int is_mirrored) {
#pragma unroll
    for (int apart = count / 2; apart > 0; apart /= 2) {
        const int is_mirror = is_mirrored && apart == count / 2;
#pragma unroll
        for (int i = 0; i < count; i++)
            if ((i & apart) == 0) order(&keys[i], &keys[is_mirror ? count - 1 - i : i + apart]);
    }
}

SPICA_INLINE void merge_group(Place all, Group group) {
    uint32_t keys[MOST];
    Place places[MOST];
    places_of(group, all, places);
#pragma unroll
    for (int i = 0; i < group.count; i++) keys[i] = *places[i];
    merge_keys(keys, group.count, group.is_mirrored);
#pragma unroll
    for (int i = 0; i < group.count; i++) *places[i] = keys[i];
}

// The same where there is nothing from `end` on.
SPICA_INLINE void merge_group_below(Place all, Group group, Place end) {
    uint32_t keys[MOST];
    Place places[MOST];
    places_of(group, all, places);
#pragma unroll
    for (int i = 0; i < group.count; i++) {
        keys[i] = LARGEST;
        SPICA_IF (places[i] < end) {
            keys[i] = *places[i];
        } SPICA_END_IF
    }
    merge_keys(keys, group.count, group.is_mirrored);
#pragma unroll
    for (int i = 0; i < group.count; i++) {
        SPICA_IF (places[i] < end) {
            *places[i] = keys[i];
        } SPICA_END_IF
    }
}

// Functions not to be merged into one, which would run out of registers.
#define SEPARATE static __attribute__((noinline)) void

SEPARATE merge_mirrored_below(const Arguments *arguments, uint32_t number, uint32_t apart) {
    const Place keys = arguments->keys;
    merge_group_below(keys, group_of(number, apart, MOST, 1), keys + arguments->n);
}

SEPARATE merge_distant_below(const Arguments *arguments, uint32_t number, uint32_t apart) {
    const Place keys = arguments->keys;
    merge_group_below(keys, group_of(number, apart, MOST, 0), keys + arguments->n);
}

// All warps take three steps on all keys, down to keys `apart` from each other, and meet.
SPICA_INLINE void pass(const Arguments *arguments, uint32_t apart, int is_mirrored) {
    const uint32_t n = arguments->n, block = MOST * apart, lane = vx_thread_id();
    const uint32_t groups = ((n + block - 1) & -block) / MOST;
    uint32_t row = (vx_core_id() * SPICA_WARPS + vx_warp_id()) * SPICA_THREADS;
    for (; row < groups; row += WARPS * SPICA_THREADS) {
        const uint32_t number = hidden(row + lane);
        const Group group = group_of(number, apart, MOST, is_mirrored);
        SPICA_IF (group.last < n) {
            merge_group(arguments->keys, group);
        } SPICA_ELSE {
            SPICA_IF (group.first + apart < n) {
                if (is_mirrored)
                    merge_mirrored_below(arguments, number, apart);
                else
                    merge_distant_below(arguments, number, apart);
            } SPICA_END_IF
        } SPICA_END_IF
    }
    spica_barrier();
}

SEPARATE mirrored_pass(const Arguments *arguments, uint32_t apart) { pass(arguments, apart, 1); }

SEPARATE distant_pass(const Arguments *arguments, uint32_t apart) { pass(arguments, apart, 0); }

// A warp takes one to three steps on a chunk.
SPICA_INLINE void chunk_pass(Place chunk, uint32_t size, uint32_t apart, int count,
                             int is_mirrored) {
    const uint32_t groups = size / count, lane = vx_thread_id();
    for (uint32_t row = 0; row < groups; row += SPICA_THREADS) {
        const uint32_t number = hidden(row + lane);
        const Group group = group_of(number, apart, count, is_mirrored);
        if (FILLS_LANES) {
            merge_group(chunk, group);
        } else {
            SPICA_IF (number < groups) {
                merge_group(chunk, group);
            } SPICA_END_IF
        }
    }
}

SEPARATE mirror_chunk(Place chunk, uint32_t size, uint32_t apart) {
    chunk_pass(chunk, size, apart, 8, 1);
}

SEPARATE merge_eights(Place chunk, uint32_t size, uint32_t apart) {
    chunk_pass(chunk, size, apart, 8, 0);
}

// The steps from keys `distance` apart down to neighbours.
SEPARATE merge_chunk(Place chunk, uint32_t size, uint32_t distance) {
    for (; distance >= 4; distance /= 8) merge_eights(chunk, size, distance / 4);
    if (distance == 2) chunk_pass(chunk, size, 1, 4, 0);
    if (distance == 1) chunk_pass(chunk, size, 1, 2, 0);
}

// Runs of eight.
SEPARATE sort_eights(Place chunk, uint32_t size) {
    const uint32_t lane = vx_thread_id();
    for (uint32_t row = 0; row < size / MOST; row += SPICA_THREADS) {
        uint32_t keys[MOST];
        const Place eight = chunk + MOST * (row + lane);
        SPICA_IF (row + lane < size / MOST) {
#pragma unroll
            for (int i = 0; i < MOST; i++) keys[i] = eight[i];
#pragma unroll
            for (int run = 2; run <= MOST; run *= 2)
#pragma unroll
                for (int i = 0; i < MOST; i += run) merge_keys(keys + i, run, 1);
#pragma unroll
            for (int i = 0; i < MOST; i++) eight[i] = keys[i];
        } SPICA_END_IF
    }
}

SEPARATE sort_chunk(Place chunk, uint32_t size) {
    sort_eights(chunk, size);
    for (uint32_t half = MOST; half < size; half *= 2) {
        mirror_chunk(chunk, size, half / 4);
        merge_chunk(chunk, size, half / 8);
    }
}

// Copy what there is, and fill up with what stays at the end.
SEPARATE load_chunk(Place chunk, uint32_t size, const uint32_t *from, uint32_t keys) {
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

SEPARATE store_chunk(uint32_t *to, Place chunk, uint32_t keys) {
    const uint32_t lane = vx_thread_id();
    for (uint32_t row = 0; row < keys; row += SPICA_THREADS) {
        SPICA_IF (row + lane < keys) {
            to[row + lane] = chunk[row + lane];
        } SPICA_END_IF
    }
}

// A whole chunk from or to memory.
SPICA_INLINE void copy_chunk(Place to, Place from, uint32_t size) {
    const uint32_t lane = vx_thread_id();
    for (uint32_t row = 0; row < size; row += MOST * SPICA_THREADS) {
        uint32_t keys[MOST];
#pragma unroll
        for (int i = 0; i < MOST; i++) keys[i] = from[row + lane + i * SPICA_THREADS];
#pragma unroll
        for (int i = 0; i < MOST; i++) to[row + lane + i * SPICA_THREADS] = keys[i];
    }
}

// Warps sort the chunks, or merge them from steps `distance` apart on, and meet.
SEPARATE in_chunks(const Arguments *arguments, uint32_t size, int is_sorted, uint32_t distance) {
    const uint32_t worker = vx_core_id() * SPICA_WARPS + vx_warp_id();
    const uint32_t room = SHARED_KEYS / size, workers = room < WARPS ? room : WARPS;
    if (worker < workers) {
        const Place chunk = (Place)spica_shared() + worker * size;
        for (uint32_t first = worker * size; first < arguments->n; first += workers * size) {
            const uint32_t left = arguments->n - first, keys = left < size ? left : size;
            const int is_whole = FILLS_LANES && keys == size;
            if (is_whole)
                copy_chunk(chunk, arguments->keys + first, size);
            else
                load_chunk(chunk, size, arguments->keys + first, keys);
            if (is_sorted)
                merge_chunk(chunk, size, distance);
            else
                sort_chunk(chunk, size);
            if (is_whole)
                copy_chunk(arguments->keys + first, chunk, size);
            else
                store_chunk(arguments->keys + first, chunk, keys);
        }
    }
    spica_barrier();
}

static void bitonic_sort(void *pointer) {
    const Arguments *arguments = pointer;
    const uint32_t n = arguments->n;
    // Large enough to keep all warps busy, and no larger than shared memory has room for each.
    uint32_t chunk = LEAST_CHUNK;
    while (chunk * WARPS < n && 2 * chunk * WARPS <= SHARED_KEYS) chunk *= 2;
    in_chunks(arguments, chunk, 0, 0);
    for (uint32_t half = chunk; half < n; half *= 2) {
        mirrored_pass(arguments, half / 4);
        uint32_t distance = half / 8;
        for (; distance >= chunk; distance /= 8) distant_pass(arguments, distance / 4);
        in_chunks(arguments, chunk, 1, distance);
    }
}

int main(void) {
    spica_launch(bitonic_sort, (void *)spica_arguments());
    return 0;
}
