/* Launches of work in groups, and serial execution of the threads of a warp. */
#include "spica.h"

typedef struct {
    context_t *context;
    vx_spawn_kernel_cb f;
    void *argument;
} Groups;

static void run_group(uint32_t task, void *argument)
{
    const Groups *groups = argument;
    uint32_t width = groups->context->num_groups[0];
    uint32_t height = groups->context->num_groups[1];
    uint32_t row = task / width;
    groups->f(groups->argument, groups->context, task - row * width, row % height, row / height);
}

void vx_spawn_kernel(context_t *context, vx_spawn_kernel_cb f, void *argument)
{
    Groups groups = {context, f, argument};
    const uint32_t *number = context->num_groups;
    vx_spawn_tasks(number[0] * number[1] * number[2], run_group, &groups);
}

void vx_serial(vx_serial_cb f, void *argument)
{
    uint32_t mask = vx_thread_mask();
    for (uint32_t thread = 0; thread < vx_num_threads(); thread++) {
        if (mask >> thread & 1) {
            SPICA_IF (vx_thread_id() == thread) {
                f(argument);
            } SPICA_END_IF
        }
    }
}
