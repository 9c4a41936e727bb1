/* Parallel blocks with constants, addresses and variables that main has as well. Each block writes
 * a word per thread, which main compares; the exit code is the number of the first block that is
 * wrong. */
#include <spica.h>
#include <spica_parallel.h>

#define MOST 2048
#define LARGE 12345

typedef struct {
    uint32_t word, table[9];
    float ratio;
} Record;

static uint32_t out[MOST], again[MOST];
static volatile uint32_t first;
static volatile float first_float;
static const uint32_t table[] = {11, 7000, 123456, 0xDEADBEEF, 5, 6, 7, 8};
static uint32_t *volatile pointer;
static uint32_t of_core[SPICA_CORES];

/* Whether a block left f(thread) in its words; clears them. */
#define REQUIRE(number, f)                                        \
    {                                                             \
        for (uint32_t k = 0; k < own; k++) {                      \
            const uint32_t t = base + k;                          \
            if (out[t] != (uint32_t)(f))                          \
                exit(number);                                     \
            out[t] = 0;                                           \
        }                                                         \
    }

static __attribute__((noinline)) uint32_t twice(uint32_t x)
{
    __asm__ volatile("");
    return 2 * x + LARGE;
}

static __attribute__((noinline)) uint32_t nested(uint32_t x)
{
    return twice(x) + twice(x + 1);
}

/* A block in a function that is inlined twice. */
SPICA_INLINE void fill(uint32_t value)
{
    SPICA_PARALLEL {
        out[spica_thread()] = value + 100000;
    } SPICA_END_PARALLEL
}

/* More values at once than registers. */
SPICA_INLINE uint32_t pressed(uint32_t seed)
{
    uint32_t x[48], sum = 0;
#pragma unroll
    for (int k = 0; k < 48; k++) {
        x[k] = seed * (uint32_t)(2 * k + 12347);
        __asm__ volatile("" : "+r"(x[k]));
    }
#pragma unroll
    for (int k = 0; k < 48; k++)
        sum ^= x[k] + (uint32_t)k * 70001u;
    return sum;
}

/* A loop whose invariants could be computed before it. */
SPICA_INLINE uint32_t looped(uint32_t rounds)
{
    uint32_t sum = 0;
#pragma clang loop unroll(disable)
    for (uint32_t k = 0; k < rounds; k++) {
        first += LARGE * 0;
        sum += (k ^ 98765u) % 4099u + table[k & 7];
    }
    return sum;
}

int main(void)
{
    const uint32_t own = SPICA_WARPS * SPICA_THREADS, base = spica_thread();

    first = LARGE;
    SPICA_PARALLEL {
        out[spica_thread()] = LARGE;
    } SPICA_END_PARALLEL
    REQUIRE(1, LARGE)

    first_float = 3.14159274f;
    SPICA_PARALLEL {
        out[spica_thread()] = spica_bits(3.14159274f) + spica_bits(1e-30f * (float)spica_thread());
    } SPICA_END_PARALLEL
    REQUIRE(2, spica_bits(3.14159274f) + spica_bits(1e-30f * (float)t))

    pointer = again;
    again[base] = 3;
    SPICA_PARALLEL {
        again[spica_thread()] = (uint32_t)&again[spica_thread()] ^ table[3];
        out[spica_thread()] = (uint32_t)&again[7] + table[spica_thread() & 7];
    } SPICA_END_PARALLEL
    REQUIRE(3, (uint32_t)&again[7] + table[t & 7])

    for (uint32_t round = 0; round < 3; round++) {
        first = 2048 + round;
        SPICA_PARALLEL {
            out[spica_thread()] = 2048 + 4096 * spica_thread() + 987654321;
        } SPICA_END_PARALLEL
        REQUIRE(4, 2048 + 4096 * t + 987654321)
    }

    first = nested(first);
    SPICA_PARALLEL {
        out[spica_thread()] = nested(spica_thread());
    } SPICA_END_PARALLEL
    REQUIRE(5, nested(t))

    first = pressed(first);
    SPICA_PARALLEL {
        out[spica_thread()] = pressed(spica_thread() + 1);
    } SPICA_END_PARALLEL
    REQUIRE(6, pressed(t + 1))

    first = looped(3);
    SPICA_PARALLEL {
        out[spica_thread()] = looped(5);
    } SPICA_END_PARALLEL
    REQUIRE(7, looped(5))

    /* Variables from before the block. */
    const uint32_t round = 4 * SPICA_THREADS + 70000, loaded = first;
    const float ratio = 1.5f * (float)loaded;
    uint32_t changed = loaded;
    changed += 5;
    SPICA_PARALLEL {
        out[spica_thread()] = round + loaded * 3 + spica_bits(ratio) + changed;
    } SPICA_END_PARALLEL
    changed = 0;
    REQUIRE(8, round + loaded * 3 + spica_bits(ratio) + loaded + 5)

    /* A structure, and pointers to variables of main. */
    Record record = {.word = loaded ^ 1, .ratio = 0.25f};
    for (uint32_t k = 0; k < 9; k++)
        record.table[k] = k * loaded;
    uint32_t *shared = &of_core[vx_core_id()], *place = &changed;
    const Record *where = &record;
    SPICA_PARALLEL {
        out[spica_thread()] = record.table[spica_thread() % 9] + where->word + spica_bits(record.ratio);
        if (vx_warp_id() == 0) {
            SPICA_IF (vx_thread_id() == 0) {
                *place = 77, *shared = 78;
            } SPICA_END_IF
        }
    } SPICA_END_PARALLEL
    REQUIRE(9, t % 9 * loaded + (loaded ^ 1) + spica_bits(0.25f))
    if (changed != 77 || of_core[vx_core_id()] != 78)
        exit(10);

    /* An array on the stack of each thread, and an early end. */
    SPICA_PARALLEL {
        volatile uint32_t local[40];
        for (uint32_t k = 0; k < 40; k++)
            local[k] = k * LARGE + spica_thread();
        out[spica_thread()] = local[vx_warp_id() + 3] + local[39];
        if (first)
            return;
        out[spica_thread()] = 0;
    } SPICA_END_PARALLEL
    REQUIRE(11, (t / SPICA_THREADS % SPICA_WARPS + 42) * LARGE + 2 * t)

    fill(1);
    REQUIRE(12, 100001)
    fill(first);
    REQUIRE(13, first + 100000)

    /* A launch, a block and the function of a task use the same constants. */
    first = 54321;
    spica_thread();
    return (int)(first - 54321);
}
