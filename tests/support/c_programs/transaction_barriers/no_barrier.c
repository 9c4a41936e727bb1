/* Arrives at a barrier that has ended. */
#include <spica.h>

int main(void)
{
    spica_mbarrier *barrier = (spica_mbarrier *)spica_shared();
    spica_mbarrier_init(barrier, 1);
    spica_mbarrier_inval(barrier);
    return (int)spica_mbarrier_arrive(barrier, 1);
}
