/* Prints doubles with a number of digits in the forms with a power of ten. */
#include <spica.h>

typedef struct {
    uint32_t count;
    const double *values;
    const int *digits;
} Arguments;

int main(void)
{
    const Arguments *a = spica_arguments();
    for (uint32_t k = 0; k < a->count; k++) {
        const int n = a->digits[k];
        const double x = a->values[k];
        printf("%.*e|%.*g|%#.*G|%+25.*E|%-20g|%015g|%o %#o %#x\n", n, x, n, x, n, x, n, x, x, x, k, k,
               k);
    }
    return 0;
}
