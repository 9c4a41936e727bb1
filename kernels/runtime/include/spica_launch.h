/* Launches: main runs on thread 0 of warp 0 of every core and starts all threads from there.
 *
 * Every core calls a launch and runs its own share; the launch returns when that share is done.
 * Cores do not wait for each other. Data written by one core is visible to others only after a
 * barrier of all cores (spica_core_barrier in main). A launch inside a launch ends the program with
 * exit code SPICA_EXIT_NESTED. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_LAUNCH_H
#define SPICA_LAUNCH_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
int main(void); /* start-up code calls main by its C name */
#endif

typedef void (*spica_entry)(void *argument);
typedef void (*spica_task)(uint32_t task, void *argument);

/* Runs `entry` once in all threads of warps 0 to warps - 1 of this core. */
void spica_run_warps(uint32_t warps, spica_entry entry, void *argument);

/* Runs task `f` for each number below `tasks`, distributed over the cores. Consecutive tasks run in
 * the threads of a warp; consecutive warps of tasks run in different cores. */
void spica_spawn_tasks(uint32_t tasks, spica_task f, void *argument);

/* Ends the program of this core; inside a launch, all its warps end. */
void exit(int code) __attribute__((noreturn));
void abort(void) __attribute__((noreturn));

/* Work in groups; the function is called once for each group, in one thread. */
typedef struct {
    uint32_t num_groups[3];
    uint32_t global_offset[3];
    uint32_t local_size[3];
    char *printf_buffer;
    uint32_t *printf_buffer_position;
    uint32_t printf_buffer_capacity;
    uint32_t work_dim;
} context_t;

typedef void (*vx_spawn_kernel_cb)(const void *argument, const context_t *context, uint32_t group_x,
                                   uint32_t group_y, uint32_t group_z);

void vx_spawn_kernel(context_t *context, vx_spawn_kernel_cb f, void *argument);

/* Runs `f` in one thread of the warp after the other. */
typedef void (*vx_serial_cb)(void *argument);
void vx_serial(vx_serial_cb f, void *argument);

#ifdef __cplusplus
}
#endif

/* A task's number may be uint32_t or int. */
#ifdef __cplusplus
SPICA_INLINE void vx_spawn_tasks(uint32_t tasks, spica_task f, void *argument)
{
    spica_spawn_tasks(tasks, f, argument);
}

SPICA_INLINE void vx_spawn_tasks(uint32_t tasks, void (*f)(int, void *), void *argument)
{
    spica_spawn_tasks(tasks, (spica_task)f, argument);
}
#else
typedef union {
    spica_task of_unsigned;
    void (*of_int)(int task, void *argument);
} spica_any_task __attribute__((transparent_union));

SPICA_INLINE void vx_spawn_tasks(uint32_t tasks, spica_any_task f, void *argument)
{
    spica_spawn_tasks(tasks, f.of_unsigned, argument);
}
#endif

/* Runs `entry` once in every thread of every warp of every core. */
SPICA_INLINE void spica_launch(spica_entry entry, void *argument)
{
    spica_run_warps(vx_num_warps(), entry, argument);
}

/* Inside spica_launch: number of this thread, contiguous over threads, then warps, then cores. */
SPICA_INLINE uint32_t spica_thread(void)
{
    uint32_t warp = vx_core_id() * vx_num_warps() + vx_warp_id();
    return warp * vx_num_threads() + vx_thread_id();
}

SPICA_INLINE uint32_t spica_threads(void)
{
    return vx_num_cores() * vx_num_warps() * vx_num_threads();
}

/* Attribute of variables by which warps synchronise: a load that returns a stored value is ordered
 * after the accesses of the storing warp before its last fence. Start-up clears them. They never race
 * (`spica run --check races`); other variables do, unless barriers, launches or waits for units
 * order the accesses. */
#define SPICA_FLAG __attribute__((section(".bss.flags")))

#ifdef SPICA_BARRIERS /* only in programs compiled for one machine */

/* Barrier number reserved for the functions below. */
#define SPICA_BARRIER_ALL (SPICA_BARRIERS - 1)

/* Waits for `warps` warps of every core; their earlier writes are visible afterwards.
 *
 * One fence before the barrier is enough: no warp passes the barrier before all fences have
 * finished, and no warp of a core reads between the core's last fence and the barrier. */
SPICA_INLINE void spica_barrier_of(uint32_t warps)
{
    vx_fence();
    vx_barrier(SPICA_BARRIER_ALL, warps);
#if !SPICA_BARRIERS_OF_CLUSTER && SPICA_CORES > 1
    if (vx_warp_id() == 0)
        vx_barrier(0x80000000u | SPICA_BARRIER_ALL, vx_num_cores());
    vx_barrier(SPICA_BARRIER_ALL, warps);
#endif
}

/* Inside spica_launch: waits for all warps of all cores. */
SPICA_INLINE void spica_barrier(void)
{
    spica_barrier_of(vx_num_warps());
}

/* In main: waits for main of all cores. */
SPICA_INLINE void spica_core_barrier(void)
{
    spica_barrier_of(1);
}

#endif

#endif
