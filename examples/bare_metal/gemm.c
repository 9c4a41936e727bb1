#include "gemm.h"

#define COMMANDS (sizeof spica_gemm_commands / sizeof *spica_gemm_commands)
#define READS_OF_A_WAIT 100000u

/* Elements of A and B, from -3 to 3. */
static int element_of_a(uint32_t row, uint32_t column) { return (int)((row + 2 * column) % 7) - 3; }
static int element_of_b(uint32_t row, uint32_t column) { return (int)((3 * row + column) % 7) - 3; }

/* FP16 code of an integer from -2048 to 2048, all of which are exact. */
static uint16_t half_of(int value)
{
    uint32_t sign = value < 0 ? 0x8000u : 0, size = (uint32_t)(value < 0 ? -value : value);
    uint32_t exponent = 25; /* of 1024, with the bias of 15 */
    if (size == 0)
        return 0;
    for (; size >= 2048; size >>= 1)
        exponent++;
    for (; size < 1024; size <<= 1)
        exponent--;
    return (uint16_t)(sign | exponent << 10 | (size & 1023));
}

void gemm_fill(uint16_t *a, uint16_t *b)
{
    for (uint32_t row = 0; row < SPICA_GEMM_A_ROWS; row++) {
        for (uint32_t column = 0; column < SPICA_GEMM_A_COLUMNS; column++)
            a[row * SPICA_GEMM_A_PITCH + column] = half_of(element_of_a(row, column));
    }
    for (uint32_t row = 0; row < SPICA_GEMM_B_ROWS; row++) {
        for (uint32_t column = 0; column < SPICA_GEMM_B_COLUMNS; column++)
            b[row * SPICA_GEMM_B_PITCH + column] = half_of(element_of_b(row, column));
    }
}

enum spica_status gemm_run(uint32_t clock[2])
{
    enum spica_status status = spica_probe();
    return status ? status : spica_execute(spica_gemm_commands, COMMANDS, clock, READS_OF_A_WAIT);
}

uint32_t gemm_wrong(const uint16_t *c)
{
    uint32_t wrong = 0;
    for (uint32_t row = 0; row < SPICA_GEMM_C_ROWS; row++) {
        for (uint32_t column = 0; column < SPICA_GEMM_C_COLUMNS; column++) {
            int sum = 0;
            for (uint32_t i = 0; i < SPICA_GEMM_B_ROWS; i++)
                sum += element_of_a(row, i) * element_of_b(i, column);
            wrong += c[row * SPICA_GEMM_C_PITCH + column] != half_of(sum);
        }
    }
    return wrong;
}
