/* Branches and loops whose condition differs between the threads of a warp.
 *
 *     SPICA_IF (x > 0) { ... } SPICA_ELSE { ... } SPICA_END_IF
 *     SPICA_WHILE (x > 0) { ... } SPICA_END_WHILE
 *
 * No break, continue, goto or return out of them. Plain if, for, while, ?:, && and || on integers
 * are for what is equal in all active threads: RV32IMF has no conditional move, so that even ?:
 * may become a branch (spica_select.h has selections that never do).
 *
 * Why it is sound. What one thread executes, with the instructions left out during which it is
 * masked, is the function as C means it: a split first runs the threads that take the branch, the
 * join sends the others back to the instruction after the split, whose branch they take the other
 * way; a pred holds those that left the loop until no thread is in it, and then all leave by the
 * one branch behind it. So the compiler may do to these functions what it may do to any, except
 * for two things: to have a split, join or pred twice in the program for once in the source (they
 * are volatile and, with -fconvergent-functions, convergent), and to take a decision elsewhere
 * than in the branch between them (the condition is unknown before the split, and an empty
 * volatile statement in either side cannot be executed ahead of the branch). */
#include "spica.h" /* ahead of the guard: it includes all headers, in their order */

#ifndef SPICA_DIVERGENCE_H
#define SPICA_DIVERGENCE_H

/* A condition of which the compiler knows no more than that it is a word. */
SPICA_INLINE uint32_t spica_opaque(uint32_t condition)
{
    __asm__ volatile("" : "+r"(condition) : : "memory");
    return condition;
}

/* Two statements that differ, so that neither side's is taken for the other's. */
#define SPICA_THEN_ __asm__ volatile("# then" : : : "memory");
#define SPICA_OTHERWISE_ __asm__ volatile("# else" : : : "memory");

#define SPICA_IF(...)                                                        \
    {                                                                        \
        uint32_t spica_condition_ = (__VA_ARGS__) ? 1u : 0u;                  \
        uint32_t spica_token_ = vx_split(spica_condition_);                  \
        spica_condition_ = spica_opaque(spica_condition_);                   \
        if (spica_condition_) {                                              \
            SPICA_THEN_
#define SPICA_ELSE                                                           \
        } else {                                                             \
            SPICA_OTHERWISE_
#define SPICA_END_IF                                                         \
        }                                                                    \
        vx_join(spica_token_);                                               \
    }

#define SPICA_WHILE(...)                                                     \
    {                                                                        \
        uint32_t spica_mask_ = vx_thread_mask();                             \
        _Pragma("clang loop unroll(disable) vectorize(disable)")             \
        for (;;) {                                                           \
            uint32_t spica_condition_ = (__VA_ARGS__) ? 1u : 0u;              \
            vx_pred(spica_condition_, spica_mask_);                          \
            spica_condition_ = spica_opaque(spica_condition_);               \
            if (!spica_condition_)                                           \
                break;
#define SPICA_END_WHILE                                                      \
        }                                                                    \
    }

#endif
