/* A launch in the middle of a function, for kernels that need every register.
 *
 *     int main(void)
 *     {
 *         SPICA_PARALLEL {
 *             ... // all threads of all warps of this core
 *         } SPICA_END_PARALLEL
 *         return 0;
 *     }
 *
 * A function that spica_launch calls keeps the registers that belong to its caller on the stacks
 * of all threads, though only one thread has a caller. Here that one thread keeps them, before the
 * others start.
 *
 * To be used in main, or in what only main calls. Registers of the threads that start hold
 * anything, so the block computes all it needs: it may use constants, spica_arguments() and static
 * variables, no local variable from before it and no result of it after it; and no return out of
 * it. The branch on spica_fork keeps the compiler from executing a part of the block ahead. */
#ifndef SPICA_PARALLEL_H
#define SPICA_PARALLEL_H

#include "spica.h"

#define SPICA_EVERY_REGISTER_                                                                     \
    "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2", "a3", "a4", "a5", "a6", "a7",      \
        "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "ft0", "ft1",    \
        "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "ft8", "ft9", "ft10", "ft11", "fa0", "fa1",      \
        "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", \
        "fs7", "fs8", "fs9", "fs10", "fs11", "memory"

/* From one thread to all of the core; 1 in each of them. */
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

/* Back to one thread, as soon as all have come here. */
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

/* What follows from `value` is computed after this, not kept in registers from before. Where a
 * block needs more registers than there are, the compiler mostly keeps too much. */
#define SPICA_ANEW(value) __asm__ volatile("" : "+r"(value))

/* A number to multiply or divide by, likewise: the compiler keeps a reciprocal of it otherwise, or
 * it itself. A power of two stays one, so that there is a shift. */
#define SPICA_CONSTANT(number)                                                   \
    ({                                                                           \
        uint32_t spica_loaded_ = (number);                                       \
        if ((number) & ((number)-1))                                             \
            __asm__ volatile("li %0, %1" : "=r"(spica_loaded_) : "i"(number));   \
        spica_loaded_;                                                           \
    })

#endif
