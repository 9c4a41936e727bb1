/* A launch inside a function, for kernels that need every register.
 *
 *     int main(void)
 *     {
 *         const uint32_t n = ...;
 *         SPICA_PARALLEL {
 *             ... // all threads of all warps of this core
 *         } SPICA_END_PARALLEL
 *         return 0;
 *     }
 *
 * Use it in main, or in functions that only main calls. A block cannot be inside another.
 *
 * The block is a function of its own, which every thread enters: a block literal in C, a lambda
 * expression in C++. Each thread computes the constants and addresses in it, since the registers of
 * started threads are undefined. Local variables from before it have in it the values that they had
 * at its start. It cannot assign to them, nor use arrays among them in C: results go to static
 * variables or through pointers. `return` ends the block; all active threads must take it.
 *
 * A function called by spica_launch saves its caller's registers on the stacks of all threads,
 * although only one thread has a caller. Here that one thread saves them before the others start,
 * and the compiler driver drops the saves of functions that begin with SPICA_ENTRY_. */
#ifndef SPICA_PARALLEL_H
#define SPICA_PARALLEL_H

#include "spica.h"

#define SPICA_REGISTERS_EXCEPT_A0_A1_                                                              \
    "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a2", "a3", "a4", "a5", "a6", "a7", "s0", "s1", \
        "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "ft0", "ft1", "ft2", "ft3",   \
        "ft4", "ft5", "ft6", "ft7", "ft8", "ft9", "ft10", "ft11", "fa0", "fa1", "fa2", "fa3",       \
        "fa4", "fa5", "fa6", "fa7", "fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8",  \
        "fs9", "fs10", "fs11", "memory"
#define SPICA_EVERY_REGISTER_ "a0", "a1", SPICA_REGISTERS_EXCEPT_A0_A1_

/* First and last statement of a function that threads enter and that only assembly calls. The caller
 * needs no register, and calls spica_leave next. The last statement is no call, so that no call
 * before it takes the place of the return. */
#define SPICA_ENTRY_ __asm__ volatile("# spica entry" : : : "memory");
#define SPICA_LEAVE_ __asm__ volatile("# spica leave" : : : "memory");

/* Text by which spica_leave returns to the label 2. */
#define SPICA_RETURN_TO_2_ "la t1, 2f\n\taddi sp, sp, -16\n\tsw t1, 12(sp)\n\t"
/* Text that starts the other warps at the label 1. */
#define SPICA_START_WARPS_                                                          \
    "csrr t0, " SPICA_TEXT(SPICA_CSR_NUM_WARPS) "\n\tla t1, 1f\n\t"                  \
    SPICA_INSN("x0, t0, t1", SPICA_INSN_VX_WSPAWN) "\n\t"
/* Text that calls a function in all threads of a warp and then, like spica_leave, goes on at the label
 * 2 in thread 0 of warp 0 alone. */
#define SPICA_ENTER_(function)                                                      \
    "li t0, -1\n\t" SPICA_INSN("x0, t0, x0", SPICA_INSN_VX_TMC) "\n\t"              \
    "call " function "\n\t"                                                         \
    "csrr t0, " SPICA_TEXT(SPICA_CSR_WARP_ID) "\n\tbeqz t0, 8f\n\t"                  \
    SPICA_INSN("x0, x0, x0", SPICA_INSN_VX_TMC) "\n"                                \
    "8:\tli t0, 1\n\t" SPICA_INSN("x0, t0, x0", SPICA_INSN_VX_TMC) "\n"             \
    "9:\tcsrr t1, " SPICA_TEXT(SPICA_CSR_WARP_MASK) "\n\tbne t1, t0, 9b\n\t"        \
    "addi sp, sp, 16\n2:"

/* Runs a function, a constant, in all threads of this core. */
#define SPICA_RUN_(function)                                                        \
    __asm__ volatile(SPICA_RETURN_TO_2_ SPICA_START_WARPS_ "1:\t" SPICA_ENTER_("%0") \
                     : : "i"(function) : SPICA_EVERY_REGISTER_)

/* The same for any function, which gets a pointer to the variables of the block. */
SPICA_INLINE void spica_run_with_(const void *variables, void (*function)(const void *))
{
    register const void *a0 __asm__("a0") = variables;
    register void (*a1)(const void *) __asm__("a1") = function;
    __asm__ volatile("call spica_run_block" : "+r"(a0), "+r"(a1) : : SPICA_REGISTERS_EXCEPT_A0_A1_);
}

/* Redefined in a block, so that a block inside another does not compile. */
enum { spica_is_parallel_ = 0 };
#define SPICA_OPENS_                                                                    \
    _Static_assert(!spica_is_parallel_, "a parallel block must not be inside another"); \
    enum { spica_is_parallel_ = 1 };

#ifdef __cplusplus

template <typename Block> __attribute__((noinline)) static void spica_enter_(const void *block)
{
    SPICA_ENTRY_
    (*static_cast<const Block *>(block))();
    SPICA_LEAVE_
}

/* The same for a lambda expression without variables, which has no contents. */
template <typename Block> __attribute__((noinline)) static void spica_enter_alone_(void)
{
    struct Nothing {};
    SPICA_ENTRY_
    __builtin_bit_cast(Block, Nothing())();
    SPICA_LEAVE_
}

template <typename Block> SPICA_INLINE void spica_parallel_(const Block &block)
{
    if constexpr (__is_empty(Block))
        SPICA_RUN_(&spica_enter_alone_<Block>);
    else
        spica_run_with_(&block, spica_enter_<Block>);
}

#define SPICA_PARALLEL spica_parallel_([=]() __attribute__((always_inline)) { SPICA_OPENS_
#define SPICA_END_PARALLEL });

#elif defined(__BLOCKS__)

/* A block literal in memory, by the Block ABI of clang; copies of variables follow. */
typedef struct {
    const void *kind;
    int32_t flags, reserved;
    void (*function)(const void *block);
    const void *descriptor;
} SpicaBlock;

SPICA_INLINE void spica_parallel_(void (^block)(void))
{
    const SpicaBlock *literal = (const SpicaBlock *)(const void *)block;
#ifdef __OPTIMIZE__ /* else the function is no constant */
    if (__builtin_object_size(literal, 0) == sizeof *literal) {
        SPICA_RUN_(literal->function);
        return;
    }
#endif
    spica_run_with_(literal, literal->function);
}

#define SPICA_PARALLEL spica_parallel_(^{ SPICA_ENTRY_ SPICA_OPENS_
#define SPICA_END_PARALLEL SPICA_LEAVE_ });

#else

#define SPICA_PARALLEL _Static_assert(0, "parallel blocks in C need the option -fblocks"); {
#define SPICA_END_PARALLEL }

#endif

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

/* The same for an addend. One that an instruction holds stays a constant. */
#define SPICA_ADDEND(number)                                                     \
    ({                                                                           \
        uint32_t spica_loaded_ = (number);                                       \
        if ((number) > 2047)                                                     \
            __asm__ volatile("li %0, %1" : "=r"(spica_loaded_) : "i"(number));   \
        spica_loaded_;                                                           \
    })

#endif
