/* Mutual exclusion of warps. */
#ifndef MUTEX_H
#define MUTEX_H

/* Waits until no other warp is between the two. One thread of a warp calls them. */
void spica_lock(void);
void spica_unlock(void);

#endif
