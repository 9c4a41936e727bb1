/* The names under which programs of Vortex v2 launch. */
#ifndef VX_SPAWN_H
#define VX_SPAWN_H
#include "spica.h"

typedef spica_task vx_spawn_tasks_cb;
#endif
