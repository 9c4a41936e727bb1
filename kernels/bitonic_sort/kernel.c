// Bitonic sort of 32-bit unsigned integers, in place.
#include <spica.h>
#include <spica_parallel.h>

// The network for any n is that of the next power of two. Every comparison moves the larger key up,
// so virtual keys of the largest value from n on would never move.
//
// A merge of two sorted runs of `half` keys compares each key of one with its mirror image in the
// other, then keys half / 2 apart, half / 4, ... 1. A thread does up to three such steps at a time,
// with eight keys in registers. One warp does the steps within a chunk, in its part of shared
// memory. Its lanes run in lockstep, so it needs no barriers. In all other steps, all warps wait
// after each pass over memory.
enum {
    MOST = 8, // keys of a thread at a time
    WARPS = SPICA_WARPS * SPICA_CORES,
    SHARED_KEYS = SPICA_SHARED_BYTES / 4,
    // The same number of keys for each lane, if they fit: a power of two, as all chunks.
    LANES_KEYS = 2u << (31 - __builtin_clz(MOST * SPICA_THREADS - 1)),
    LEAST_CHUNK = LANES_KEYS < SHARED_KEYS ? LANES_KEYS : SHARED_KEYS,
    // Whether every lane always has a share of a chunk.
    FILLS_LANES = LEAST_CHUNK == MOST * SPICA_THREADS,
};

_Static_assert(SHARED_KEYS >= MOST,
               "[larger shared.size] shared memory must hold the keys of a thread");

static const uint32_t LARGEST = 0xFFFFFFFF;

typedef struct {
    uint32_t n;
    uint32_t *keys;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

typedef volatile uint32_t *Place;

// One to three steps of all merges, for one thread: it takes `count` keys, `apart` from each other.
// Those of one half start at `first`, those of the other at `upper`.
typedef struct {
    int count, is_mirrored;
    uint32_t first, upper, apart;
} Group;

// Hides from the compiler how a number is computed and whether it changes in a loop. Otherwise it
// would keep a register for each term of each address and run out of registers.
SPICA_INLINE uint32_t hidden(uint32_t number) {
    __asm__("" : "+r"(number));
    return number;
}

// Integers that loops rarely need are parked in float registers, of which there are enough.
typedef float Parked;

SPICA_INLINE Parked parked(uint32_t number) {
    Parked parked;
    __asm__ volatile("fmv.w.x %0, %1" : "=f"(parked) : "r"(number));
    return parked;
}

SPICA_INLINE uint32_t fetched(Parked parked) {
    uint32_t number;
    __asm__ volatile("fmv.x.w %0, %1" : "=r"(number) : "f"(parked));
    return number;
}

SPICA_INLINE Group group_of(uint32_t number, uint32_t apart, int count, int is_mirrored) {
    const uint32_t offset = number & (apart - 1), first = count * number - (count - 1) * offset;
    const uint32_t beyond = is_mirrored ? first + apart - 1 - 2 * offset : first;
    return (Group){count, is_mirrored, first, beyond + count / 2 * apart, apart};
}

// Minimum and maximum; the machine has no such integer instruction. One block, because compilers
// would split and interleave many of these and run out of registers.
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

// Load or store keys at addresses `step` bytes apart. One address register moves up during loads
// and down during stores.
SPICA_INLINE uint32_t load_walk(uint32_t address, uint32_t step, uint32_t *keys, int count) {
#pragma unroll
    for (int i = 0; i < count; i++) {
        if (i > 0) address = hidden(address + step);
        keys[i] = *(Place)address;
    }
    return address;
}

SPICA_INLINE void store_walk(uint32_t address, uint32_t step, const uint32_t *keys, int count) {
#pragma unroll
    for (int i = count - 1; i >= 0; i--) {
        *(Place)address = keys[i];
        if (i > 0) address = hidden(address - step);
    }
}

SPICA_INLINE void merge_group(Place all, Group group) {
    uint32_t keys[MOST];
    const uint32_t step = 4 * group.apart;
    const int count = group.count, lower = group.is_mirrored ? count / 2 : count;
    const uint32_t first = load_walk((uint32_t)(all + group.first), step, keys, lower);
    const uint32_t second =
        load_walk((uint32_t)(all + group.upper), step, keys + lower, count - lower);
    merge_keys(keys, count, group.is_mirrored);
    store_walk(first, step, keys, lower);
    store_walk(second, step, keys + lower, count - lower);
}

SPICA_INLINE void order_below(Place all, uint32_t low, uint32_t high, uint32_t n) {
    SPICA_IF (high < n) {
        uint32_t a = all[low], b = all[high];
        order(&a, &b);
        all[low] = a, all[high] = b;
    } SPICA_END_IF
}

// `merge_group` for a group of eight when keys from n on are missing.
SPICA_INLINE void merge_group_below(Place all, Group group, uint32_t n) {
    uint32_t first = group.first, upper = group.upper, apart = group.apart;
    uint32_t other = group.is_mirrored ? upper + 3 * apart : upper;
    for (int i = 4; i > 0; i--) {
        order_below(all, first, other, n);
        first += apart;
        other += group.is_mirrored ? -apart : apart;
    }
    for (first = group.first;; first = upper) {
        order_below(all, first, first + 2 * apart, n);
        order_below(all, first + apart, first + 3 * apart, n);
        order_below(all, first, first + apart, n);
        order_below(all, first + 2 * apart, first + 3 * apart, n);
        if (first == upper) break;
    }
}

// Waits for all warps. Not inlined, or its operands would stay in registers of the caller.
static __attribute__((noinline)) void barrier(void) { spica_barrier(); }

SPICA_INLINE uint32_t warp_of_all(void) { return vx_core_id() * SPICA_WARPS + vx_warp_id(); }

// One pass of three steps over all keys by all warps, down to keys `apart` from each other; then
// all warps meet.
SPICA_INLINE void pass(uint32_t apart, int is_mirrored) {
    const uint32_t n = ARGUMENTS->n, block = MOST * apart;
    const Parked groups = parked(((n + block - 1) & -block) / MOST);
    uint32_t row = warp_of_all() * SPICA_THREADS;
    for (; row < fetched(groups); row += SPICA_ADDEND(WARPS * SPICA_THREADS)) {
        apart = hidden(apart);
        const Group group = group_of(hidden(row + vx_thread_id()), apart, MOST, is_mirrored);
        SPICA_IF (group.upper + 3 * apart < n) {
            merge_group(ARGUMENTS->keys, group);
        } SPICA_ELSE {
            // A mirrored group without keys of the upper run is already sorted.
            SPICA_IF ((is_mirrored ? group.upper : group.first + apart) < n) {
                merge_group_below(ARGUMENTS->keys, group, n);
            } SPICA_END_IF
        } SPICA_END_IF
    }
    barrier();
}

// The warp's chunk in shared memory.
SPICA_INLINE Place own_chunk(uint32_t size) {
    return (Place)hidden(SPICA_SHARED_BASE + 4 * warp_of_all() * size);
}

// One to three steps of a warp on a chunk.
SPICA_INLINE void chunk_pass(uint32_t size, uint32_t apart, int count, int is_mirrored) {
    const Place chunk = own_chunk(size);
    for (uint32_t row = 0; row < size / count; row += SPICA_THREADS) {
        apart = hidden(apart), size = hidden(size);
        const uint32_t number = hidden(row + vx_thread_id());
        const Group group = group_of(number, apart, count, is_mirrored);
        if (FILLS_LANES) {
            merge_group(chunk, group);
        } else {
            SPICA_IF (number < size / count) {
                merge_group(chunk, group);
            } SPICA_END_IF
        }
    }
}

// The steps from keys `distance` apart down to neighbours.
SPICA_INLINE void merge_chunk(Parked size, uint32_t distance) {
    Parked left = parked(distance);
    for (; fetched(left) >= 4; left = parked(fetched(left) / 8))
        chunk_pass(fetched(size), fetched(left) / 4, 8, 0);
    if (fetched(left) == 2) chunk_pass(fetched(size), 1, 4, 0);
    if (fetched(left) == 1) chunk_pass(fetched(size), 1, 2, 0);
}

// Sorts runs of eight.
SPICA_INLINE void sort_eights(uint32_t size) {
    const Place chunk = own_chunk(size);
    for (uint32_t row = 0; row < size / MOST; row += SPICA_THREADS) {
        uint32_t keys[MOST];
        const uint32_t number = hidden(row + vx_thread_id());
        const Place eight = chunk + MOST * number;
        SPICA_IF (number < size / MOST) {
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

// Sorts a chunk; if `distance` is not 0, merges it from keys `distance` apart on.
SPICA_INLINE void order_chunk(Parked size, uint32_t distance) {
    Parked half = size;
    if (distance == 0) {
        sort_eights(fetched(size));
        half = parked(MOST / 2);
    }
    for (;;) {
        merge_chunk(size, distance);
        const uint32_t next = 2 * fetched(half);
        if (next >= fetched(size)) break;
        half = parked(next);
        chunk_pass(fetched(size), next / 4, 8, 1);
        distance = fetched(half) / 8;
    }
}

// Copies as many keys per lane as its registers hold.
SPICA_INLINE void copy_block(Place to, Place from) {
    uint32_t keys[MOST];
#pragma unroll
    for (int i = 0; i < MOST; i++) keys[i] = from[i * SPICA_THREADS];
#pragma unroll
    for (int i = 0; i < MOST; i++) to[i * SPICA_THREADS] = keys[i];
}

// Copies the keys of the chunk at `first` and pads with the largest key, which stays at the end.
SPICA_INLINE void load_chunk(uint32_t first, uint32_t size) {
    const uint32_t lane = vx_thread_id(), left = ARGUMENTS->n - first;
    const Place to = own_chunk(size) + lane, from = ARGUMENTS->keys + first + lane;
    uint32_t row = 0;
    if (FILLS_LANES && left >= size)
        for (; row < size; row += MOST * SPICA_THREADS) copy_block(to + row, from + row);
    for (; row < size; row += SPICA_THREADS) {
        uint32_t key = LARGEST;
        SPICA_IF (row + lane < left) {
            key = from[row];
        } SPICA_END_IF
        SPICA_IF (row + lane < size) {
            to[row] = key;
        } SPICA_END_IF
    }
}

SPICA_INLINE void store_chunk(uint32_t first, uint32_t size) {
    const uint32_t lane = vx_thread_id(), left = ARGUMENTS->n - first;
    const Place from = own_chunk(size) + lane, to = ARGUMENTS->keys + first + lane;
    uint32_t row = 0;
    if (FILLS_LANES && left >= size)
        for (; row < size; row += MOST * SPICA_THREADS) copy_block(to + row, from + row);
    const uint32_t keys = left < size ? left : size;
    for (; row < keys; row += SPICA_THREADS) {
        SPICA_IF (row + lane < keys) {
            to[row] = from[row];
        } SPICA_END_IF
    }
}

// All warps that have a part of shared memory sort the chunks, or merge them from keys `distance`
// apart on if that is not 0; then all warps meet.
SPICA_INLINE void in_chunks(Parked size, Parked workers, Parked distance) {
    const uint32_t worker = warp_of_all();
    if (worker < fetched(workers)) {
        uint32_t first = worker * fetched(size);
        while (first < ARGUMENTS->n) {
            const Parked chunk = parked(first);
            load_chunk(first, fetched(size));
            order_chunk(size, fetched(distance));
            store_chunk(fetched(chunk), fetched(size));
            first = fetched(chunk) + fetched(workers) * fetched(size);
        }
    }
    barrier();
}

SPICA_INLINE void bitonic_sort(void) {
    const uint32_t n = ARGUMENTS->n;
    // Large enough to keep all warps busy, small enough for every warp's part of shared memory.
    uint32_t chunk = LEAST_CHUNK;
    while (chunk * WARPS < n && 2 * chunk * WARPS <= SHARED_KEYS) chunk *= 2;
    const uint32_t room = SHARED_KEYS / chunk;
    const Parked size = parked(chunk), workers = parked(room < WARPS ? room : WARPS);
    Parked half = parked(chunk / 2), distance = parked(0);
    for (;;) {
        in_chunks(size, workers, distance);
        half = parked(2 * fetched(half));
        if (fetched(half) >= ARGUMENTS->n) break;
        pass(fetched(half) / 4, 1);
        distance = parked(fetched(half) / 8);
        for (; fetched(distance) >= fetched(size); distance = parked(fetched(distance) / 8))
            pass(fetched(distance) / 4, 0);
    }
}

int main(void) {
    SPICA_PARALLEL {
        bitonic_sort();
    } SPICA_END_PARALLEL
    return 0;
}
