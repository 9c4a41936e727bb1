/* The name under which programs of Vortex v2 know these functions. */
#ifndef VX_INTRINSICS_H
#define VX_INTRINSICS_H
#include "spica.h"
#endif
