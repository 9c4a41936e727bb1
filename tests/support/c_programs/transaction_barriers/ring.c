/* Ring of stages: warp 0 of each core fills the stages in turn, the others add what they hold. */
#include <spica.h>
#include <spica_parallel.h>

#define STAGES 3
#define ROUNDS 7
#define NUMBERS SPICA_THREADS

struct ring {
    spica_mbarrier full[STAGES], empty[STAGES];
    uint32_t numbers[STAGES][NUMBERS];
};
static volatile uint32_t errors;

static struct ring *own_ring(void)
{
    return (struct ring *)spica_shared() + vx_core_id();
}

static void produce(struct ring *ring)
{
    const uint32_t thread = vx_thread_id();
    for (uint32_t k = 0; k < ROUNDS * STAGES; k++) {
        const uint32_t stage = k % STAGES, parity = k / STAGES & 1;
        spica_mbarrier_wait(&ring->empty[stage], parity ^ 1);
        ring->numbers[stage][thread] = k + thread;
        spica_mbarrier_arrive_expect(&ring->full[stage], 4);
        spica_mbarrier_complete(&ring->full[stage], 4);
    }
}

static void consume(struct ring *ring)
{
    const uint32_t thread = NUMBERS - 1 - vx_thread_id();
    for (uint32_t k = 0; k < ROUNDS * STAGES; k++) {
        const uint32_t stage = k % STAGES, parity = k / STAGES & 1;
        spica_mbarrier_wait(&ring->full[stage], parity);
        if (ring->numbers[stage][thread] != k + thread)
            errors = 1;
        spica_mbarrier_arrive(&ring->empty[stage], 1);
    }
}

static void work(void *nothing)
{
    (void)nothing;
    struct ring *ring = own_ring();
    if (vx_warp_id() == 0)
        produce(ring);
    else
        consume(ring);
}

static void prepare(void *nothing)
{
    (void)nothing;
    struct ring *ring = own_ring();
    SPICA_IF (vx_warp_id() == 0 && vx_thread_id() < STAGES) {
        spica_mbarrier_init(&ring->full[vx_thread_id()], SPICA_THREADS);
        spica_mbarrier_init(&ring->empty[vx_thread_id()], (SPICA_WARPS - 1) * SPICA_THREADS);
    } SPICA_END_IF
}

int main(void)
{
    spica_launch(prepare, 0);
    spica_launch(work, 0);
    spica_core_barrier();
    return (int)errors;
}
