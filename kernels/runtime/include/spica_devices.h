/* The cluster's matrix unit, by command words. */
#include "spica.h" /* ahead of the guard: it includes all headers, in their order */

#ifndef SPICA_DEVICES_H
#define SPICA_DEVICES_H

/* Sends a CISC command word, SPICA_CISC_... in its lowest bits. */
SPICA_INLINE void spica_cisc(uint32_t word)
{
    __asm__ volatile("csrw " SPICA_TEXT(SPICA_CSR_ACCEL_CISC) ", %0" : : "r"(word) : "memory");
}

SPICA_INLINE void spica_store_register(uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)address = value;
}

SPICA_INLINE uint32_t spica_load_register(uint32_t address)
{
    return *(volatile uint32_t *)address;
}

#ifdef SPICA_MATRIX_INSTRUCTION
/* Gives the matrix unit a RoCC instruction, SPICA_ROCC_..., and its two operands. */
SPICA_INLINE void spica_rocc(uint32_t instruction, uint64_t rs1, uint64_t rs2)
{
    spica_store_register(SPICA_MATRIX_RS1_LOW, (uint32_t)rs1);
    spica_store_register(SPICA_MATRIX_RS1_HIGH, (uint32_t)(rs1 >> 32));
    spica_store_register(SPICA_MATRIX_RS2_LOW, (uint32_t)rs2);
    spica_store_register(SPICA_MATRIX_RS2_HIGH, (uint32_t)(rs2 >> 32));
    spica_store_register(SPICA_MATRIX_INSTRUCTION, instruction);
}

/* Waits until at most `loops` commands run. */
SPICA_INLINE void virgo_fence(uint32_t loops)
{
    while (spica_load_register(SPICA_MATRIX_RUNNING) > loops)
        ;
}
#endif

#endif
