/* Mutual exclusion of warps without atomic instructions: L. Lamport, "A Fast Mutual Exclusion
 * Algorithm", ACM TOCS 5(1), 1987, algorithm 2. Each store is complete before the next load. */
#include "mutex.h"
#include "spica.h"

/* Most warps of a machine; polls of an unchanged word after which its warp counts as ended. */
#define WARPS 1024
#define POLLS 2000

static SPICA_FLAG volatile uint32_t latest, owner, is_waiting[WARPS];

static void store(volatile uint32_t *word, uint32_t value)
{
    *word = value;
    vx_fence();
}

/* Waits until a word is 0. A warp that was ended by exit of another one never clears it. */
static void await_zero(volatile uint32_t *word)
{
    uint32_t before = 0;
    for (uint32_t polls = 0, value; (value = *word) != 0; polls++) {
        if (value != before)
            polls = 0;
        before = value;
        if (polls == POLLS)
            store(word, 0);
        uint32_t idle = polls;
        for (int k = 0; k < 8; k++) /* slow instructions, which leave the core to the owner */
            __asm__ volatile("divu %0, %0, %1" : "+r"(idle) : "r"(1));
        vx_fence();
    }
}

static uint32_t this_warp(void)
{
    return vx_core_id() * vx_num_warps() + vx_warp_id();
}

void spica_lock(void)
{
    uint32_t own = this_warp(), warps = vx_num_cores() * vx_num_warps();
    for (;; await_zero(&owner)) {
        store(&is_waiting[own], 1);
        store(&latest, own + 1);
        if (owner != 0) {
            store(&is_waiting[own], 0);
            continue;
        }
        store(&owner, own + 1);
        if (latest == own + 1)
            return;
        store(&is_waiting[own], 0);
        for (uint32_t warp = 0; warp < warps; warp++)
            await_zero(&is_waiting[warp]);
        if (owner == own + 1)
            return;
    }
}

void spica_unlock(void)
{
    vx_fence();
    store(&owner, 0);
    store(&is_waiting[this_warp()], 0);
}
