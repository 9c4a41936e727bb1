/* Launch functions of Vortex v2 and of its fork in Virgo. */
#ifndef VX_SPAWN_H
#define VX_SPAWN_H

#include "spica.h"

typedef void (*vx_spawn_tasks_cb)(int task_id, void *argument);

/* All launches assign neighbouring tasks to neighbouring threads, and rotate over the cores. */
#define vx_spawn_tasks_contiguous vx_spawn_tasks
#define vx_spawn_tasks_cluster vx_spawn_tasks

/* Waits until warp 0 is the only active warp of its core. */
SPICA_INLINE void vx_wspawn_wait(void)
{
    while (vx_warp_mask() != 1)
        ;
}

#endif
