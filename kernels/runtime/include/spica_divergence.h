/* Branches and loops whose condition differs between the threads of a warp.
 *
 *     SPICA_IF (x > 0) { ... } SPICA_ELSE { ... } SPICA_END_IF
 *     SPICA_WHILE (x > 0) { ... } SPICA_END_WHILE
 *
 * Do not leave them by break, continue, goto or return. Plain if, for, while, ?:, && and || on
 * integers need conditions that are equal in all active threads. RV32IMF has no conditional move,
 * so even ?: may become a branch; spica_select.h has branch-free selections.
 *
 * Correctness: one thread's instruction stream, without the instructions during which it is masked,
 * is the function as C defines it. A split first runs the threads that take the branch. The join
 * returns the other threads to the instruction after the split, and they take the branch the other
 * way. A pred masks the threads that left the loop until no thread is in it; all then leave by the
 * branch after it. The compiler may therefore optimise as usual, with two exceptions. It must not
 * duplicate or merge a split, join or pred: they are volatile and, with -fconvergent-functions,
 * convergent. It must not move the decision away from the branch between them: the condition is
 * opaque before the split, and an empty volatile statement in either side cannot execute ahead of
 * the branch. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_DIVERGENCE_H
#define SPICA_DIVERGENCE_H

/* Hides the value of a condition from the compiler. */
SPICA_INLINE uint32_t spica_opaque(uint32_t condition)
{
    __asm__ volatile("" : "+r"(condition) : : "memory");
    return condition;
}

/* Two different statements, so that the compiler cannot merge the two sides. */
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
