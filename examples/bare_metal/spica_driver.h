/* Driver of a Spica cluster without cores, commanded over its AXI4-Lite slave. C99, no library. */
#ifndef SPICA_DRIVER_H
#define SPICA_DRIVER_H

#include <stdint.h>

#include "tiny_matrix.h"      /* registers: spica generate tiny_matrix -o DIR */
#include "tiny_matrix_gemm.h" /* commands: … --commands gemm:MxNxK */

/* Access to a register, at a byte address of the slave. The platform provides both. */
uint32_t spica_read(uint32_t address);
void spica_write(uint32_t address, uint32_t data);

/* Results of a call. */
enum spica_status {
    SPICA_OK,
    SPICA_ABSENT,    /* the slave does not identify itself as a cluster */
    SPICA_TIMEOUT,   /* a wait took more reads than allowed */
    SPICA_REFUSED,   /* the matrix unit reports an error */
    SPICA_BUS_ERROR, /* the DMA reports an error */
};

/* Checks that a cluster answers. */
enum spica_status spica_probe(void);

/*
 * Executes commands in order. Values of SPICA_READ go to `results`, which may be null. A wait ends
 * the list after `reads` reads of its register.
 */
enum spica_status spica_execute(const struct spica_command *commands, uint32_t count,
                                uint32_t *results, uint32_t reads);

#endif
