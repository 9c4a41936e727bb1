/* Every warp reads the word of another warp in shared memory. CORRECT: after a barrier. */
#include <spica.h>

static void synchronize(void *argument)
{
    volatile uint32_t *words = spica_shared();
    const uint32_t warp = vx_warp_id(), lane = vx_thread_id();
    words[warp * SPICA_THREADS + lane] = warp; /* FIRST */
#ifdef CORRECT
    spica_barrier();
#endif
    if (words[(warp ^ 1) * SPICA_THREADS + lane] > SPICA_WARPS) /* SECOND */
        abort();
    (void)argument;
}

int main(void)
{
    spica_launch(synchronize, 0);
    return 0;
}
