/* The matrix unit stores a product to shared memory. CORRECT: the program waits for it. */
#include <virgo.h>

int main(void)
{
    const volatile uint32_t *words = spica_shared();
    if (vx_core_id() != 0)
        return 0;
    virgo_tile(VIRGO_ROWS, VIRGO_COLUMNS, VIRGO_ROWS);
    virgo_compute(0, 4096, 0);
    virgo_spill(8192, VIRGO_WIDE); /* FIRST */
#ifdef CORRECT
    virgo_fence(0);
#endif
    return words[2048] == 9; /* SECOND */
}
