#include <spica.h>

/* Each cluster sends a number to the next one through its window, and returns what it received. */
int main(void)
{
    if (vx_core_id() != 0)
        return 0;
    uint32_t own = spica_cluster_id(), next = own + 1 == spica_num_clusters() ? 0 : own + 1;
    volatile uint32_t *there = spica_cluster_shared(next), *here = spica_shared();
    there[4] = 100 + own;
    while (here[4] == 0)
        ;
    return (int)here[4];
}
