/* Executes every vote and shuffle with some of the threads of a warp, a case after the other. */
#include <spica.h>
#include <spica_parallel.h>

typedef struct {
    uint32_t cases;
    const uint32_t *masks;              /* active threads of each case */
    const uint32_t *sources, *selectors; /* a row of threads for each case */
    uint32_t *results;                  /* for each case and operation a row of threads */
} Arguments;

enum { OPERATIONS = 12 };

static void operate(uint32_t *result, uint32_t source, uint32_t selector)
{
    const float number = spica_float(source);
    float moved[4];
    result[0 * SPICA_THREADS] = vx_vote_all(source);
    result[1 * SPICA_THREADS] = vx_vote_any(source);
    result[2 * SPICA_THREADS] = vx_vote_uni(source);
    result[3 * SPICA_THREADS] = vx_vote_ballot(source);
    result[4 * SPICA_THREADS] = vx_shfl_up_selected_(source, selector);
    result[5 * SPICA_THREADS] = vx_shfl_down_selected_(source, selector);
    result[6 * SPICA_THREADS] = vx_shfl_bfly_selected_(source, selector);
    result[7 * SPICA_THREADS] = vx_shfl_idx_selected_(source, selector);
#define MOVE(k, name) \
    __asm__ volatile(SPICA_INSN("%0, %1, %2", name) : "=f"(moved[k]) : "f"(number), "r"(selector))
    MOVE(0, SPICA_INSN_FSHFL_UP_S);
    MOVE(1, SPICA_INSN_FSHFL_DOWN_S);
    MOVE(2, SPICA_INSN_FSHFL_BFLY_S);
    MOVE(3, SPICA_INSN_FSHFL_IDX_S);
    for (int k = 0; k < 4; k++) result[(8 + k) * SPICA_THREADS] = spica_bits(moved[k]);
}

int main(void)
{
    SPICA_PARALLEL {
        const Arguments *all = spica_arguments();
        const uint32_t thread = vx_thread_id();
        const uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id();
        for (uint32_t k = warp; k < all->cases; k += SPICA_WARPS * SPICA_CORES) {
            const uint32_t at = k * SPICA_THREADS + thread;
            SPICA_IF (all->masks[k] >> thread & 1) {
                operate(&all->results[k * OPERATIONS * SPICA_THREADS + thread], all->sources[at],
                        all->selectors[at]);
            } SPICA_END_IF
        }
    } SPICA_END_PARALLEL
    return 0;
}
