/* A launch inside a function, for kernels that need every register.
 *
 *     int main(void)
 *     {
 *         SPICA_PARALLEL {
 *             ... // all threads of all warps of this core
 *         } SPICA_END_PARALLEL
 *         return 0;
 *     }
 *
 * A function called by spica_launch saves its caller's registers on the stacks of all threads,
 * although only one thread has a caller. Here that one thread saves them before the others start.
 *
 * Use it in main, or in functions that only main calls. Registers of the started threads are
 * undefined, so the block computes everything it needs. It may use constants, spica_arguments() and
 * static variables. It must not use local variables from before it, pass results to code after it,
 * or return. The branch on spica_fork keeps the compiler from executing parts of the block
 * early. */
#ifndef SPICA_PARALLEL_H
#define SPICA_PARALLEL_H

#include "spica.h"

#define SPICA_EVERY_REGISTER_                                                                     \
    "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2", "a3", "a4", "a5", "a6", "a7",      \
        "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "ft0", "ft1",    \
        "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "ft8", "ft9", "ft10", "ft11", "fa0", "fa1",      \
        "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", \
        "fs7", "fs8", "fs9", "fs10", "fs11", "memory"

/* Starts all threads of the core; returns 1 in each of them. */
SPICA_INLINE uint32_t spica_fork(void)
{
    register uint32_t started __asm__("a0");
    __asm__ volatile("csrr t0, " SPICA_TEXT(SPICA_CSR_NUM_WARPS) "\n\t"
                     "la t1, 1f\n\t"
                     SPICA_INSN("x0, t0, t1", SPICA_INSN_VX_WSPAWN) "\n"
                     "1:\tli t0, -1\n\t"
                     SPICA_INSN("x0, t0, x0", SPICA_INSN_VX_TMC) "\n\t"
                     "li a0, 1"
                     : "=r"(started) : : SPICA_EVERY_REGISTER_);
    return started;
}

/* Returns to one thread after all threads have arrived. */
SPICA_INLINE void spica_unite(void)
{
    __asm__ volatile("csrr t0, " SPICA_TEXT(SPICA_CSR_WARP_ID) "\n\t"
                     "beqz t0, 1f\n\t"
                     SPICA_INSN("x0, x0, x0", SPICA_INSN_VX_TMC) "\n"
                     "1:\tli t0, 1\n\t"
                     SPICA_INSN("x0, t0, x0", SPICA_INSN_VX_TMC) "\n"
                     "2:\tcsrr t1, " SPICA_TEXT(SPICA_CSR_WARP_MASK) "\n\t"
                     "bne t1, t0, 2b"
                     : : : "a0", SPICA_EVERY_REGISTER_);
}

#define SPICA_PARALLEL if (spica_fork()) {
#define SPICA_END_PARALLEL \
    }                      \
    spica_unite();

/* Makes the compiler compute values derived from `value` after this point instead of keeping them
 * in registers. Blocks that need more registers than exist benefit: the compiler usually keeps too
 * many values. */
#define SPICA_ANEW(value) __asm__ volatile("" : "+r"(value))

/* Multiplier or divisor that is loaded at its use: otherwise the compiler keeps it or its
 * reciprocal in a register. A power of two stays a constant, so that it becomes a shift. */
#define SPICA_CONSTANT(number)                                                   \
    ({                                                                           \
        uint32_t spica_loaded_ = (number);                                       \
        if ((number) & ((number)-1))                                             \
            __asm__ volatile("li %0, %1" : "=r"(spica_loaded_) : "i"(number));   \
        spica_loaded_;                                                           \
    })

#endif
