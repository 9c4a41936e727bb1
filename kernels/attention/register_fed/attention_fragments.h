/* Products of fragments in registers: A in f0-f7, B in f8-f15, accumulators in f16-f23 and f24-f31.
 *
 * No other code of a thread uses float registers while one of these statements leaves values there
 * for the next. In lane l, register q of an accumulator has row (l & 5) + (q & 2) and column
 * (l & 2) + (q & 1) + (q & 4). */
#ifndef ATTENTION_FRAGMENTS_H
#define ATTENTION_FRAGMENTS_H

#include "attention_sizes.h"

#define LOWER_FLOATS_ \
    "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14", \
        "f15"
#define UPPER_FLOATS_ \
    "f16", "f17", "f18", "f19", "f20", "f21", "f22", "f23", "f24", "f25", "f26", "f27", "f28", \
        "f29", "f30", "f31"

/* The same for each register of the accumulators: M(number, offset of the register). */
#define EACH_UPPER_(M)                                                                          \
    M(16, 0) M(17, 32) M(18, 64) M(19, 96) M(20, 128) M(21, 160) M(22, 192) M(23, 224)          \
    M(24, 256) M(25, 288) M(26, 320) M(27, 352) M(28, 384) M(29, 416) M(30, 448) M(31, 480)
/* And for those of the lane's first row, and of its second row. */
#define EACH_FIRST_(M) M(16) M(17) M(20) M(21) M(24) M(25) M(28) M(29)
#define EACH_SECOND_(M) M(18) M(19) M(22) M(23) M(26) M(27) M(30) M(31)

#define CLEAR_ONE_(n, offset) "fmv.w.x f" #n ", x0\n\t"
#define LOAD_ONE_(n, offset) "flw f" #n ", " #offset "(%0)\n\t"
#define STORE_ONE_(n, offset) "fsw f" #n ", " #offset "(%0)\n\t"

SPICA_INLINE void attention_clear(void)
{
    __asm__ volatile(EACH_UPPER_(CLEAR_ONE_) : : : UPPER_FLOATS_);
}

/* Accumulators to and from 16 rows of memory. */
SPICA_INLINE void attention_load(const char *from)
{
    __asm__ volatile(EACH_UPPER_(LOAD_ONE_) : : "r"(from) : UPPER_FLOATS_, "memory");
}

SPICA_INLINE void attention_store(char *to)
{
    __asm__ volatile(EACH_UPPER_(STORE_ONE_) : : "r"(to) : "memory");
}

#define SCALE_FIRST_(n) "fmul.s f" #n ", f" #n ", f0\n\t"
#define SCALE_SECOND_(n) "fmul.s f" #n ", f" #n ", f1\n\t"

/* Multiplies the accumulators by a factor of each of the lane's two rows. */
SPICA_INLINE void attention_scale(uint32_t first, uint32_t second)
{
    __asm__ volatile("fmv.w.x f0, %0\n\tfmv.w.x f1, %1\n\t" EACH_FIRST_(SCALE_FIRST_)
                     EACH_SECOND_(SCALE_SECOND_)
                     : : "r"(first), "r"(second) : "f0", "f1", UPPER_FLOATS_);
}

#define LOAD_A_                                                                                  \
    "flw f0, %[i]+0(%[a])\n\tflw f1, %[i]+32(%[a])\n\tflw f2, %[i]+64(%[a])\n\t"                 \
    "flw f3, %[i]+96(%[a])\n\tflw f4, %[i]+128(%[a])\n\tflw f5, %[i]+160(%[a])\n\t"              \
    "flw f6, %[i]+192(%[a])\n\tflw f7, %[i]+224(%[a])\n\t"
#define LOAD_B_(b)                                                                               \
    "flw f8, %[j]+0(%[" #b "])\n\tflw f9, %[j]+32(%[" #b "])\n\t"                                \
    "flw f10, %[j]+64(%[" #b "])\n\tflw f11, %[j]+96(%[" #b "])\n\t"                             \
    "flw f12, %[j]+128(%[" #b "])\n\tflw f13, %[j]+160(%[" #b "])\n\t"                           \
    "flw f14, %[j]+192(%[" #b "])\n\tflw f15, %[j]+224(%[" #b "])\n\t"

/* A step along k: A at an offset from `a`, B of both accumulators at another. */
#define ATTENTION_STEP(a_at, a_offset, b_first, b_second, b_offset)                              \
    __asm__ volatile(LOAD_B_(b) LOAD_A_ SPICA_INSN("x0, x0, x0", SPICA_INSN_HMMA) "\n\t"         \
                     LOAD_B_(c) SPICA_INSN("x1, x0, x0", SPICA_INSN_HMMA)                        \
                     : : [a] "r"(a_at), [b] "r"(b_first), [c] "r"(b_second), [i] "i"(a_offset),  \
                       [j] "i"(b_offset)                                                         \
                     : LOWER_FLOATS_, UPPER_FLOATS_, "memory")

#define STEP_IF_(s, steps, a, stride, b, c) \
    if ((s) < (steps))                      \
        ATTENTION_STEP(a, (s) < (steps) ? (s) * (stride) : 0, b, c, (s)*FRAGMENT_BYTES);

/* At most eight steps. */
#define ATTENTION_STEPS(steps, a, stride, b, c)                                                  \
    STEP_IF_(0, steps, a, stride, b, c) STEP_IF_(1, steps, a, stride, b, c)                      \
    STEP_IF_(2, steps, a, stride, b, c) STEP_IF_(3, steps, a, stride, b, c)                      \
    STEP_IF_(4, steps, a, stride, b, c) STEP_IF_(5, steps, a, stride, b, c)                      \
    STEP_IF_(6, steps, a, stride, b, c) STEP_IF_(7, steps, a, stride, b, c)

#endif
