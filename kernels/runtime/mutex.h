/* Mutual exclusion of warps. */
#ifndef SPICA_MUTEX_H
#define SPICA_MUTEX_H

/* Waits until no other warp is between the two. One thread of a warp calls them. */
void spica_lock(void);
void spica_unlock(void);

#endif
