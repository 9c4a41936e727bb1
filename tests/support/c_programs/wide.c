/* Every function of the runtime that selects threads of a warp by their numbers. Warp 0 prints; the
 * exit code is the number of the first check that fails. */
#include <spica.h>
#include <spica_parallel.h>
#include <vx_intrinsics.h>
#include <vx_print.h>
#include <vx_spawn.h>

#define ALL ((uint32_t)((1ull << SPICA_THREADS) - 1))
#define LAST (SPICA_THREADS - 1)

typedef struct {
    uint32_t tasks;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

static uint32_t counts[4096], serial_sum;
static volatile uint32_t masks[SPICA_THREADS];

static void check(uint32_t number, uint32_t condition)
{
    /* One condition per thread, equal in all threads if the program is right. */
    if (!spica_opaque(condition != 0))
        exit((int)number);
}

/* Each thread alone, then all, then every second one and the last. */
static void print(void *argument)
{
    (void)argument;
    if (vx_warp_id() != 0)
        return;
    const uint32_t lane = vx_thread_id();
    for (uint32_t thread = 0; thread < SPICA_THREADS; thread++) {
        SPICA_IF (lane == thread) {
            printf("alone %u\n", lane);
        } SPICA_END_IF
    }
    printf("all %u of %x\n", lane, vx_thread_mask());
    SPICA_IF ((lane & 1) | (lane == LAST)) {
        puts("some");
        vx_putint((int)lane, 16);
        putchar('\n');
    } SPICA_END_IF
    SPICA_IF (lane == LAST) {
        vx_putfloat(1.5f, 2);
        vx_printf("|%d\n", printf("%s", "last"));
    } SPICA_END_IF
}

static void sum(void *argument)
{
    serial_sum = serial_sum * 3 + *(uint32_t *)argument + vx_thread_id();
}

/* Masks of branches and loops in which one thread more takes part each time. */
static void diverge(void *argument)
{
    (void)argument;
    const uint32_t lane = vx_thread_id();
    if (vx_warp_id() != SPICA_WARPS - 1)
        return;
    check(1, vx_thread_mask() == ALL);
    for (uint32_t thread = 0; thread < SPICA_THREADS; thread++) {
        SPICA_IF (lane >= thread) {
            masks[thread] = vx_thread_mask();
        } SPICA_END_IF
        check(2, masks[thread] == (ALL & ~0u << thread));
        SPICA_IF (lane == thread) {
            check(3, vx_thread_mask() == 1u << thread);
        } SPICA_ELSE {
            check(4, vx_thread_mask() == (ALL & ~(1u << thread)));
        } SPICA_END_IF
    }
    uint32_t rounds = 0;
    SPICA_WHILE (rounds != lane) {
        rounds++;
    } SPICA_END_WHILE
    check(5, rounds == lane);
    check(6, vx_thread_mask() == ALL);
    uint32_t token = vx_split_n(lane != LAST);
    vx_join(token);
    check(7, vx_active_threads() == ALL);

    uint8_t bytes[SPICA_THREADS + 8], copy[SPICA_THREADS + 8];
    memset(bytes, 0x5A, sizeof bytes);
    memset(bytes, (int)lane, lane);
    memcpy(copy, bytes, lane + 1);
    memmove(bytes + 1, bytes, lane + 1);
    uint32_t same = memcmp(copy, bytes + 1, lane + 1) == 0;
    check(8, (uint32_t)(bytes[1] == (uint8_t)lane) | (lane == 0));
    check(9, same);
    copy[lane] = 0;
    copy[0] = copy[0] + (uint8_t)(lane == LAST);
    vx_fence();
}

static void count(uint32_t task, void *argument)
{
    (void)argument;
    counts[task & 4095] += task + 1;
}

static void group(const void *argument, const context_t *context, uint32_t x, uint32_t y, uint32_t z)
{
    (void)argument;
    counts[(z * context->num_groups[1] + y) * context->num_groups[0] + x]++;
}

/* Ends the program when the last tasks have begun; their number is too large to run them all. */
static void few(uint32_t task, void *argument)
{
    if (vx_core_id() == 0 && vx_warp_id() == 0)
        exit(task - vx_thread_id() == 0 && *(uint32_t *)argument == 123 ? 99 : 20);
}

static void barriers(void *argument)
{
    (void)argument;
    for (uint32_t round = 0; round < 4; round++) {
        counts[spica_thread()] = round;
        spica_barrier();
        const uint32_t next = spica_thread() + 1;
        check(10, counts[spica_select(next == spica_threads(), 0, next)] == round);
        spica_barrier();
    }
}

static void leave(void *argument)
{
    if (vx_warp_id() == SPICA_WARPS - 1) {
        SPICA_IF (vx_thread_id() == LAST) {
            exit(*(int *)argument);
        } SPICA_END_IF
    }
}

int main(void)
{
    uint32_t tasks = ARGUMENTS->tasks, most = SPICA_THREADS * SPICA_WARPS, seed = 123;
    if (tasks > 4096) {
        vx_spawn_tasks(tasks, few, &seed);
        return 21;
    }
    spica_launch(print, 0);
    vx_serial(sum, &seed);
    check(11, serial_sum == 123);
    spica_launch(diverge, 0);
    spica_launch(barriers, 0);
    memset(counts, 0, sizeof counts);
    for (uint32_t kind = 0; kind < 5; kind++) {
        const uint32_t sizes[] = {0, 1, LAST, most + 1, tasks}, n = sizes[kind];
        memset(counts, 0, sizeof counts);
        spica_spawn_tasks(n, count, 0);
        for (uint32_t k = 0; k < 4096; k++)
            check(12 + kind, counts[k] == (k < n ? k + 1 : 0));
    }
    context_t context = {.num_groups = {3, SPICA_THREADS, 2}};
    memset(counts, 0, sizeof counts);
    vx_spawn_kernel(&context, group, 0);
    for (uint32_t k = 0; k < 4096; k++)
        check(17, counts[k] == (k < 6 * SPICA_THREADS));
    SPICA_PARALLEL {
        counts[spica_thread()] = vx_thread_mask();
    } SPICA_END_PARALLEL
    for (uint32_t k = 0; k < most; k++)
        check(18, counts[k] == ALL);
    int code = 77;
    spica_launch(leave, &code);
    return 19;
}
