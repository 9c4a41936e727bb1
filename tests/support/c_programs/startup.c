/* Initial state of every thread: its registers, and cleared variables. */
#include <spica.h>

typedef struct {
    uint32_t hart, core, warp, thread, stack, global, mask, runs;
} Start;

typedef struct {
    Start *threads; /* of all threads, in order */
    Start *mains;   /* of main, by core */
    uint32_t *sums; /* sums of variables that start as zero, by core */
} Arguments;

static uint32_t zeros[100], last_zero;
static uint32_t five = 5;

static void record(Start *start)
{
    uint32_t stack, global;
    __asm__ volatile("mv %0, sp" : "=r"(stack));
    __asm__ volatile("mv %0, gp" : "=r"(global));
    start->hart = vx_hart_id();
    start->core = vx_core_id();
    start->warp = vx_warp_id();
    start->thread = vx_thread_id();
    start->stack = stack;
    start->global = global;
    start->mask = vx_thread_mask();
    start->runs++;
}

static void entry(void *argument)
{
    const Arguments *a = argument;
    record(&a->threads[spica_thread()]);
}

int main(void)
{
    const Arguments *a = spica_arguments();
    uint32_t core = vx_core_id(), sum = 0;
    for (uint32_t k = 0; k < 100; k++)
        sum |= zeros[k];
    a->sums[core] = sum | last_zero | (five ^ 5);
    record(&a->mains[core]);
    spica_core_barrier(); /* before any core changes shared variables */
    zeros[core] = last_zero = 1;
    spica_launch(entry, (void *)a);
    return 40 + (int)core;
}
