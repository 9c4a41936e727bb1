/* One tile of C, 128 x 64, summed over k: one thread commands the matrix unit, all others idle.
 * Two buffers: the unit computes on one while the next slab is loaded into the other. */
#include <spica.h>

#define SLAB 128
#define N 64
/* Shared memory in sixteenths: A takes 4 from its first, B 2 up to and including its last. */
#define A_PLACE(slab) (((slab) & 1) ? 4u : 0u)
#define B_PLACE(slab) (A_PLACE(slab) + 11u)
#define PLACES(slab) (A_PLACE(slab) << 8 | B_PLACE(slab) << 16)

typedef struct {
    uint32_t k;
    uint32_t a, b, c;
} Arguments;

static void load(const Arguments *arguments, uint32_t slab)
{
    uint32_t element = slab * SLAB;
    spica_rocc(SPICA_ROCC_ADDRESSES_AB, arguments->a + 2 * element, arguments->b + 2 * N * element);
    spica_cisc(SPICA_CISC_LOAD | PLACES(slab));
}

int main(void)
{
    const Arguments *arguments = spica_arguments();
    if (vx_core_id() != 0)
        return 0;
    uint32_t slabs = arguments->k / SLAB;
    spica_cisc(SPICA_CISC_STRIDES_AB | arguments->k << 8 | N << 20);
    spica_cisc(SPICA_CISC_STRIDES_DC | N << 20);
    spica_rocc(SPICA_ROCC_ADDRESSES_DC, 0, arguments->c);
    load(arguments, 0);
    for (uint32_t slab = 0; slab < slabs; ++slab) {
        virgo_fence(0); /* this slab is loaded, and the buffer of the next is free */
        spica_cisc(SPICA_CISC_COMPUTE | PLACES(slab) | (slab > 0) << 24);
        if (slab + 1 < slabs)
            load(arguments, slab + 1);
    }
    virgo_fence(0);
    spica_cisc(SPICA_CISC_STORE);
    virgo_fence(0);
    return (int)spica_load_register(SPICA_MATRIX_ERROR);
}
