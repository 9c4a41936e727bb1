/* Launches of tasks: every task adds its number and one to its own element, which it counts. */
#include <spica.h>

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
    /* A race if threads did this together. */
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
    }
    return 0;
}
