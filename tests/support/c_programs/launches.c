/* Launches of tasks: every task adds its number plus one to its own element, which counts runs. */
#include <spica.h>
#include <spica_parallel.h>

typedef struct {
    uint32_t kind, tasks;
    uint32_t *elements, *lanes, *argument;
} Arguments;

static void count(uint32_t task, void *argument)
{
    const Arguments *a = argument;
    a->elements[task] += task + 1;
    a->lanes[task] = vx_hart_id();
}

static void count_int(int task, void *argument)
{
    count((uint32_t)task, argument);
}

static void group(const void *argument, const context_t *context, uint32_t x, uint32_t y, uint32_t z)
{
    const Arguments *a = argument;
    const uint32_t *number = context->num_groups;
    a->elements[(z * number[1] + y) * number[0] + x] += (z << 20 | y << 10 | x) + 1;
}

static void serial(void *argument)
{
    const Arguments *a = argument;
    /* A race if threads ran this concurrently. */
    *a->argument = *a->argument * 3 + vx_thread_id();
}

static void all_serial(void *argument)
{
    if (vx_warp_id() == 0)
        vx_serial(serial, argument);
}

static void nested(uint32_t task, void *argument)
{
    vx_spawn_tasks(1, count, argument);
}

static void leave(uint32_t task, void *argument)
{
    exit(77);
}

/* main waits for its tasks: it doubles their results, which they might still be writing. */
static void count_late(uint32_t task, void *argument)
{
    if (vx_warp_id() != 0)
        for (uint32_t k = 0; k < 300; k++)
            __asm__ volatile("nop");
    count(task, argument);
}

static void use_results(const Arguments *a)
{
    vx_spawn_tasks(a->tasks, count_late, (void *)a);
    for (uint32_t k = 0; k < a->tasks; k++)
        a->elements[k] *= 2;
}

/* Registers that a function must preserve survive a launch: s0 to s10 are stored after it. */
static void keep_registers(const Arguments *a)
{
    register uint32_t tasks __asm__("a0") = a->tasks;
    register spica_task f __asm__("a1") = count;
    register const void *argument __asm__("a2") = a;
    register uint32_t *stored __asm__("s11") = a->argument;
    __asm__ volatile(
        ".irp k, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10\n li s\\k, 1000 + \\k\n .endr\n"
        "call spica_spawn_tasks\n"
        ".irp k, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10\n sw s\\k, 4 * \\k(s11)\n .endr"
        : "+r"(tasks), "+r"(f), "+r"(argument), "+r"(stored)
        :
        : "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a3", "a4", "a5", "a6", "a7", "s0", "s1",
          "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "memory");
}

int main(void)
{
    const Arguments *a = spica_arguments();
    void *argument = (void *)a;
    context_t context = {.num_groups = {a->tasks, 3, 2}};
    switch (a->kind) {
    case 0:
        vx_spawn_tasks(a->tasks, count, argument);
        break;
    case 1:
        vx_spawn_tasks(a->tasks, count_int, argument);
        vx_spawn_tasks(a->tasks, count, argument);
        break;
    case 2:
        vx_spawn_kernel(&context, group, argument);
        break;
    case 3:
        spica_launch(all_serial, argument);
        break;
    case 4:
        vx_spawn_tasks(a->tasks, nested, argument);
        break;
    case 5:
        vx_spawn_tasks(a->tasks, leave, argument);
        break;
    case 6:
        exit(55);
    case 7:
        abort();
    case 8:
        use_results(a);
        break;
    case 9:
        keep_registers(a);
        break;
    case 10:
        SPICA_PARALLEL {
            vx_spawn_tasks(1, count, (void *)spica_arguments());
        } SPICA_END_PARALLEL
    }
    return 0;
}
