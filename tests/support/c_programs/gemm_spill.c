/* One tile of C, 128 x 64, left in shared memory by the matrix unit and read there by all cores. */
#include <spica.h>

#define M 128
#define N 64
#define K 128
/* In sixteenths of shared memory: A from the first, B up to the twelfth, C from the fifth. */
#define A_PLACE 0u
#define B_PLACE 11u
#define C_PLACE 4u
#define SIXTEENTH (SPICA_SHARED_BYTES / 16)

typedef struct {
    uint32_t a, b;
    uint32_t *out;
} Arguments;

static void copy(uint32_t task, void *arg)
{
    const Arguments *arguments = arg;
    const uint16_t *c = (const uint16_t *)(SPICA_SHARED_BASE + C_PLACE * SIXTEENTH);
    arguments->out[task] = c[task] + 1u;
}

int main(void)
{
    const Arguments *arguments = spica_arguments();
    if (vx_core_id() == 0) {
        uint32_t places = A_PLACE << 8 | B_PLACE << 16;
        spica_cisc(SPICA_CISC_STRIDES_AB | K << 8 | N << 20);
        spica_rocc(SPICA_ROCC_ADDRESSES_AB, arguments->a, arguments->b);
        spica_cisc(SPICA_CISC_LOAD | places);
        virgo_fence(0);
        spica_cisc(SPICA_CISC_COMPUTE_SPILL | places | C_PLACE << 24);
        virgo_fence(0);
    }
    spica_core_barrier();
    vx_spawn_tasks(M * N, copy, (void *)arguments);
    return 0;
}
