/* Branches and loops whose condition differs between the threads of a warp.
 *
 *     SPICA_IF (x > 0) { ... } SPICA_ELSE { ... } SPICA_END_IF
 *     SPICA_WHILE (x > 0) { ... } SPICA_END_WHILE
 *
 * Do not leave them by break, continue, goto or return: that is an error of the build. Plain if,
 * for, while, ?:, && and || on integers need conditions that are equal in all active threads.
 * RV32IMF has no conditional move, so even ?: may become a branch; spica_select.h has branch-free
 * selections.
 *
 * Correctness: one thread's instruction stream, without the instructions during which it is masked,
 * is the function as C defines it. A split first runs the threads that take the branch. The join
 * returns the other threads to the instruction after the split, and they take the branch the other
 * way. A pred masks the threads that left the loop until no thread is in it; all then leave by the
 * branch after it. The compiler may therefore optimise as usual, with two exceptions.
 *
 * It must not duplicate or merge a split, join or pred on its own: a thread that a first copy masks
 * would continue after a second one, with registers of another place. They are volatile and, with
 * -fconvergent-functions, convergent; nomerge and their identities keep them apart. Copies of whole
 * constructs, as of an inlined function or of a uniform loop that is unrolled, are sound. Each
 * instruction has a record of its address, kind and identity in section .spica.constructs. After
 * linking, kernels/divergence proves from these records that every path pairs them.
 *
 * It must not move the decision away from the branch between them. The condition of SPICA_IF is
 * opaque before the split, and an empty volatile statement in either side cannot execute ahead of
 * the branch. SPICA_WHILE has pred and branch in one statement. */
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

/* Identity of a construct: a number of its place in the source. */
#define SPICA_IDENTITY_ enum { spica_construct_ = __COUNTER__ };
/* An instruction and its record: address, identity and kind. The kinds are split, join, mask and
 * pred, from 0 on. */
#define SPICA_RECORDED_(kind, ...)                                                  \
    "9:\t" __VA_ARGS__ "\n\t.pushsection .spica.constructs,\"\",@progbits\n\t"       \
    ".4byte 9b, %c[construct] << 2 | " #kind "\n\t.popsection"
/* A statement that the compiler does not merge with an equal one. */
#define SPICA_APART_(...) [[clang::nomerge]] { __asm__ __VA_ARGS__; }

#define SPICA_IF(...)                                                               \
    {                                                                               \
        SPICA_IDENTITY_                                                             \
        uint32_t spica_condition_ = (__VA_ARGS__) ? 1u : 0u, spica_token_;          \
        SPICA_APART_(volatile(                                                      \
            SPICA_RECORDED_(0, SPICA_INSN("%0, %1, x0", SPICA_INSN_VX_SPLIT))       \
            : "=r"(spica_token_)                                                    \
            : "r"(spica_condition_), [construct] "i"(spica_construct_) : "memory")) \
        spica_condition_ = spica_opaque(spica_condition_);                          \
        if (spica_condition_) {                                                     \
            SPICA_THEN_
#define SPICA_ELSE                                                                  \
        } else {                                                                    \
            SPICA_OTHERWISE_
#define SPICA_END_IF                                                                \
        }                                                                           \
        SPICA_APART_(volatile(                                                      \
            SPICA_RECORDED_(1, SPICA_INSN("x0, %0, x0", SPICA_INSN_VX_JOIN))        \
            : : "r"(spica_token_), [construct] "i"(spica_construct_) : "memory"))   \
    }

#define SPICA_WHILE(...)                                                            \
    {                                                                               \
        __label__ spica_body_;                                                      \
        SPICA_IDENTITY_                                                             \
        uint32_t spica_mask_;                                                       \
        SPICA_APART_(volatile(                                                      \
            SPICA_RECORDED_(2, "csrr %0, " SPICA_TEXT(SPICA_CSR_THREAD_MASK))       \
            : "=r"(spica_mask_) : [construct] "i"(spica_construct_) : "memory"))    \
        _Pragma("clang loop unroll(disable) vectorize(disable)")                    \
        for (;;) {                                                                  \
            uint32_t spica_condition_ = (__VA_ARGS__) ? 1u : 0u;                     \
            SPICA_APART_(goto(                                                      \
                SPICA_RECORDED_(3, SPICA_INSN("x0, %0, %1", SPICA_INSN_VX_PRED))    \
                "\n\tbnez %0, %l[spica_body_]"                                      \
                : : "r"(spica_condition_), "r"(spica_mask_),                        \
                [construct] "i"(spica_construct_) : "memory" : spica_body_))        \
            break;                                                                  \
        spica_body_:;
#define SPICA_END_WHILE                                                             \
        }                                                                           \
    }

#endif
