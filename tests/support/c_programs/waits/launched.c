/* All warps of all cores sleep for loads that thread 0 of core 0 commands; divergent threads of a warp
 * wait one after the other. */
#include <spica.h>
#include <spica_parallel.h>

#define WORDS 16

static const uint32_t words[WORDS] = {[3] = 77};
static volatile uint32_t errors;

static int is_wrong(uint32_t load)
{
    const volatile uint32_t *at = (const volatile uint32_t *)spica_shared() + load * WORDS;
    return at[3] != 77 || at[4] != 0;
}

static void command(uint32_t load)
{
    spica_store_register(SPICA_DMA_DRAM, (uint32_t)words);
    spica_store_register(SPICA_DMA_DRAM_PITCH, WORDS * 4);
    spica_store_register(SPICA_DMA_LOCAL, load * WORDS * 4);
    spica_store_register(SPICA_DMA_LOCAL_PITCH, WORDS * 4);
    spica_store_register(SPICA_DMA_SHAPE, 1 | WORDS * 4 << 16);
    spica_store_register(SPICA_DMA_FILL, 0);
    spica_store_register(SPICA_DMA_START, 0);
}

static void work(void *nothing)
{
    (void)nothing;
    const uint32_t loads = SPICA_CORES * SPICA_WARPS;
    const uint32_t own = vx_core_id() * SPICA_WARPS + vx_warp_id();
    SPICA_IF (spica_thread() == 0) {
        for (uint32_t load = 0; load < loads; load++)
            command(load);
    } SPICA_END_IF
    vx_wait(SPICA_DMA_LOADS_DONE, own + 1);
    int wrong = is_wrong(own);
    SPICA_IF (vx_thread_id() & 1) {
        vx_wait(SPICA_DMA_LOADS_DONE, loads);
    } SPICA_ELSE {
        vx_wait(SPICA_DMA_RUNNING, 0);
    } SPICA_END_IF
    if (wrong || is_wrong(loads - 1))
        errors = 1;
    spica_barrier();
}

int main(void)
{
    spica_launch(work, 0);
    spica_core_barrier();
    return (int)errors;
}
