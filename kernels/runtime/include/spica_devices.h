/* Access to the cluster's matrix units by CISC command words and registers. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_DEVICES_H
#define SPICA_DEVICES_H

/* Number of the matrix unit that a program or source file commands. Compile with -DVIRGO_UNIT=1 for
 * the second unit. SPICA_OF_UNIT(MATRIX, BUSY) is SPICA_MATRIX_BUSY for the first unit and
 * SPICA_MATRIX1_BUSY for the second. */
#ifndef VIRGO_UNIT
#define VIRGO_UNIT 0
#endif
#if VIRGO_UNIT == 0
#define SPICA_UNIT_
#elif VIRGO_UNIT == 1
#define SPICA_UNIT_ 1
#elif VIRGO_UNIT == 2
#define SPICA_UNIT_ 2
#elif VIRGO_UNIT == 3
#define SPICA_UNIT_ 3
#else
#error "VIRGO_UNIT must be the number of a matrix unit, 0 to 3"
#endif
#if defined(SPICA_MATRICES) && VIRGO_UNIT && VIRGO_UNIT >= SPICA_MATRICES
#error "VIRGO_UNIT must be the number of a matrix unit that the machine has"
#endif
#define SPICA_JOIN_(block, unit, name) block##unit##name
#define SPICA_JOIN_UNIT_(block, unit, name) SPICA_JOIN_(block, unit, name)
/* Both names are joined at once: programs may define macros such as ROWS. */
#define SPICA_OF_UNIT(block, name) SPICA_JOIN_UNIT_(SPICA_##block, SPICA_UNIT_, _##name)

/* Sends a CISC command word: SPICA_CISC_... in its lowest bits, the unit's number in bits 6:5. */
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
/* Issues RoCC instruction SPICA_ROCC_... to the matrix unit with its two operands. */
SPICA_INLINE void spica_rocc(uint32_t instruction, uint64_t rs1, uint64_t rs2)
{
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_LOW), (uint32_t)rs1);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_HIGH), (uint32_t)(rs1 >> 32));
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_LOW), (uint32_t)rs2);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_HIGH), (uint32_t)(rs2 >> 32));
    spica_store_register(SPICA_OF_UNIT(MATRIX, INSTRUCTION), instruction);
}

/* Waits until at most `loops` commands are running. */
SPICA_INLINE void virgo_fence(uint32_t loops)
{
    vx_wait(SPICA_OF_UNIT(MATRIX, RUNNING), loops);
}
#elif defined(SPICA_LACKS_MATRIX)
SPICA_LACKING(SPICA_LACKS_MATRIX) void spica_rocc(uint32_t instruction, uint64_t rs1, uint64_t rs2)
{
    (void)instruction, (void)rs1, (void)rs2;
}

SPICA_LACKING(SPICA_LACKS_MATRIX) void virgo_fence(uint32_t loops)
{
    (void)loops;
}
#endif

#endif
