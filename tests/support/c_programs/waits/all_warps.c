/* Every warp sleeps until a load of its own is done, and checks its bytes at once. Warp 0 of core 0
 * commands the loads, each after the wait for the one before or all in a row. */
#include <virgo.h>

#define WORDS 64
#define ROUNDS 4

static const uint32_t words[WORDS] = {[0] = 0x1234, [WORDS - 1] = 0x5678};

static int is_there(uint32_t load)
{
    const volatile uint32_t *at = (const volatile uint32_t *)spica_shared() + load * WORDS;
    return at[0] == 0x1234 && at[WORDS - 1] == 0x5678;
}

static void command(uint32_t load)
{
    virgo_dma_load(load * WORDS * 4, words, WORDS * 4, WORDS * 4, 1, WORDS * 4, 0, 0);
}

int main(void)
{
    const uint32_t loads = SPICA_WARPS * ROUNDS, warp = vx_warp_id();
    int is_right = 1;
    if (vx_core_id() == 0) {
        for (uint32_t load = 0; load < loads; load++) {
            command(load);
            if (load % 3 == 0) {
                virgo_dma_fence(0); /* right after the command */
                is_right &= is_there(load);
            }
        }
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t load = round * SPICA_WARPS + warp;
        vx_wait(SPICA_DMA_LOADS_DONE, load + 1);
        is_right &= is_there(load);
    }
    vx_wait(SPICA_DMA_LOADS_DONE, loads - 1); /* holds already */
    vx_wait(SPICA_DMA_RUNNING, 0xFFFFFFFF);
    vx_wait(SPICA_DMA_STORES_DONE, 0);
    return !is_right;
}
