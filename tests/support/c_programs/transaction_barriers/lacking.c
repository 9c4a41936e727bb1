/* Waits for 5 arrivals and 64 bytes, of which 2 arrivals come. */
#include <spica.h>

int main(void)
{
    spica_mbarrier *barrier = (spica_mbarrier *)spica_shared() + 8;
    spica_mbarrier_init(barrier, 5);
    spica_mbarrier_arrive_expect(barrier, 64);
    spica_mbarrier_arrive(barrier, 1);
    spica_mbarrier_wait(barrier, 0);
    return 0;
}
