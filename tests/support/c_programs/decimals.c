/* Prints doubles, each with its number of digits after the point. */
#include <spica.h>

typedef struct {
    uint32_t count;
    const double *values;
    const int *precisions;
} Arguments;

int main(void)
{
    const Arguments *a = spica_arguments();
    for (uint32_t k = 0; k < a->count; k++)
        printf("%.*f\n", a->precisions[k], a->values[k]);
    return 0;
}
