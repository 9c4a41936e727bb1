/* Firmware of the SoC: fills A and B, commands the product, checks C, and prints a verdict. */
#include "gemm.h"
#include "soc.h" /* SPICA_SLAVE, CONSOLE, FINISH: addresses that LiteX assigned */

static volatile uint32_t *word(uint32_t address) { return (volatile uint32_t *)(uintptr_t)address; }

uint32_t spica_read(uint32_t address) { return *word(SPICA_SLAVE + address); }

void spica_write(uint32_t address, uint32_t data) { *word(SPICA_SLAVE + address) = data; }

static void print(const char *text)
{
    while (*text)
        *word(CONSOLE) = (uint8_t)*text++;
}

static void print_number(uint32_t number)
{
    if (number >= 10)
        print_number(number / 10);
    *word(CONSOLE) = '0' + number % 10;
}

void finish(int code)
{
    *word(FINISH) = (uint32_t)code;
    for (;;)
        continue;
}

int main(void)
{
    uint32_t clock[2];
    gemm_fill((uint16_t *)SPICA_GEMM_A_ADDRESS, (uint16_t *)SPICA_GEMM_B_ADDRESS);
    enum spica_status status = gemm_run(clock);
    if (status) {
        print("FAIL: status ");
        print_number(status);
        print("\n");
        return 1;
    }
    uint32_t wrong = gemm_wrong((const uint16_t *)SPICA_GEMM_C_ADDRESS);
    print(wrong ? "FAIL: " : "PASS: ");
    print_number(SPICA_GEMM_C_ROWS * SPICA_GEMM_C_COLUMNS - wrong);
    print(" elements of C are right, ");
    print_number(wrong);
    print(" are wrong\nCycles from the first compute to the last: ");
    print_number(clock[1] - clock[0]);
    print("\n");
    return wrong != 0;
}
