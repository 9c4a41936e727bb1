/* Names by which programs of Vortex v2, and of Virgo's fork of it, launch. */
#ifndef VX_SPAWN_H
#define VX_SPAWN_H

#include "spica.h"

/* What is the same in all threads of a warp. */
#ifndef __UNIFORM__
#define __UNIFORM__
#endif

typedef void (*vx_spawn_tasks_cb)(int task_id, void *argument);

/* All launches number neighbouring threads by neighbouring tasks, and go from core to core. */
#define vx_spawn_tasks_contiguous vx_spawn_tasks
#define vx_spawn_tasks_cluster vx_spawn_tasks

/* Waits until warp 0 is the only one at work in its core. */
SPICA_INLINE void vx_wspawn_wait(void)
{
    while (vx_warp_mask() != 1)
        ;
}

#endif
