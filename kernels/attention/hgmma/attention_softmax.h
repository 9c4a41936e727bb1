/* Online softmax of a tile of scores, 16 keys of 16 queries, in f0-f31.
 *
 * A lane has two queries, `first` and `second`. Their maxima and sums are bits of FP32 in integer
 * registers. The scores of the first four keys move to integer registers, so that eight float
 * registers are free:
 *
 *   phase     f0-f7                                     f8-f31
 *   maximum   maxima                                    scores of keys 4 to 15
 *   powers    scale, shifts, sums, partial sums         scores, then powers of keys 4 to 15,
 *                                                       at last those of keys 0 to 3 in f8-f15 */
#ifndef ATTENTION_SOFTMAX_H
#define ATTENTION_SOFTMAX_H

#include "attention_tiles.h"

/* A value of each of the lane's queries. */
typedef struct {
    uint32_t first, second;
} AttentionPair;

/* Scores of the first four keys, of both queries. */
typedef struct {
    uint32_t x[8];
} AttentionMoved;

#define MINUS_INFINITY 0xFF800000u
#define SLACK 0x41000000u /* 8 */

/* Bits of the factor of scores: a float would need a register of its own. */
SPICA_INLINE uint32_t attention_scale(void)
{
    return *(const volatile uint32_t *)&ATTENTION->scale_log2;
}

#define MAX2_(a, b) "fmax.s f" #a ", f" #a ", f" #b "\n\t"

/* Moves the scores of the first four keys, and leaves the maxima of all in f0 and f1. */
SPICA_INLINE AttentionMoved attention_maxima(void)
{
    AttentionMoved to;
    __asm__ volatile(
        "fmv.x.w %0, f0\n\tfmv.x.w %1, f1\n\tfmv.x.w %2, f2\n\tfmv.x.w %3, f3\n\t"
        "fmv.x.w %4, f4\n\tfmv.x.w %5, f5\n\tfmv.x.w %6, f6\n\tfmv.x.w %7, f7\n\t"
        MAX2_(0, 8) MAX2_(1, 9) MAX2_(2, 10) MAX2_(3, 11) MAX2_(4, 12) MAX2_(5, 13) MAX2_(6, 14)
        MAX2_(7, 15) MAX2_(0, 16) MAX2_(1, 17) MAX2_(2, 18) MAX2_(3, 19) MAX2_(4, 20) MAX2_(5, 21)
        MAX2_(6, 22) MAX2_(7, 23) MAX2_(0, 24) MAX2_(1, 25) MAX2_(2, 26) MAX2_(3, 27) MAX2_(4, 28)
        MAX2_(5, 29) MAX2_(6, 30) MAX2_(7, 31) MAX2_(0, 4) MAX2_(1, 5) MAX2_(2, 6) MAX2_(3, 7)
        MAX2_(0, 2) MAX2_(1, 3)
        : "=&r"(to.x[0]), "=&r"(to.x[1]), "=&r"(to.x[2]), "=&r"(to.x[3]), "=&r"(to.x[4]),
          "=&r"(to.x[5]), "=&r"(to.x[6]), "=&r"(to.x[7])
        : : SPICA_HGMMA_C_);
    return to;
}

/* Replaces maxima that those in f0 and f1 exceed by more than 8, as exponents of 2. Returns whether
 * the lane replaced one. */
SPICA_INLINE uint32_t attention_raise(AttentionPair *maximum)
{
    AttentionPair new, rises;
    __asm__ volatile(
        "fmv.x.w %0, f0\n\tfmv.x.w %1, f1\n\tfmv.w.x f2, %4\n\tfmv.w.x f3, %5\n\t"
        "fmv.w.x f4, %6\n\tfmv.w.x f5, %7\n\tfsub.s f0, f0, f2\n\tfsub.s f1, f1, f3\n\t"
        "fmul.s f0, f0, f4\n\tfmul.s f1, f1, f4\n\tflt.s %2, f5, f0\n\tflt.s %3, f5, f1"
        : "=&r"(new.first), "=&r"(new.second), "=&r"(rises.first), "=&r"(rises.second)
        : "r"(maximum->first), "r"(maximum->second), "r"(attention_scale()),
          "r"(ATTENTION_LOADED(SLACK))
        : SPICA_HGMMA_C_);
    maximum->first ^= (maximum->first ^ new.first) & -rises.first;
    maximum->second ^= (maximum->second ^ new.second) & -rises.second;
    return rises.first | rises.second;
}

/* Whether any lane has the bit; `room` are two words of shared memory. */
SPICA_INLINE uint32_t attention_any(uint32_t bit, uint32_t room, uint32_t lane)
{
    uint32_t first, second;
    __asm__ volatile("sb %2, 0(%4)\n\tlw %0, 0(%3)\n\tlw %1, 4(%3)"
                     : "=&r"(first), "=&r"(second)
                     : "r"(bit), "r"(room), "r"(room + lane)
                     : "memory");
    return first | second;
}

SPICA_INLINE uint32_t attention_safe(uint32_t maximum)
{
    return spica_select(maximum == ATTENTION_LOADED(MINUS_INFINITY), 0, maximum);
}

#ifdef ATTENTION_BF16
#define PACK_INSN_ SPICA_INSN_FPACK_BF16_S
#else
#define PACK_INSN_ SPICA_INSN_FPACK_H_S
#endif
#define PACK_(a, b) SPICA_INSN("f" #a ", f" #a ", f" #b, PACK_INSN_) "\n\t"
#define SHIFT_(n, shift) "fmadd.s f" #n ", f" #n ", f0, f" #shift "\n\t"
#define POWER_(n) SPICA_INSN("f" #n ", f" #n ", f0", SPICA_INSN_FEXP2_S) "\n\t"
#define ADD_(d, a, b) "fadd.s f" #d ", f" #a ", f" #b "\n\t"
#define STORE_(n, offset) "fsw f" #n ", " #offset "(%[to])\n\t"

/* Powers of four keys from those of their scores on. */
#define POWERS_(a, b, c, d, e, f, g, h)                                                      \
    SHIFT_(a, 1) SHIFT_(b, 2) POWER_(a) SHIFT_(c, 1) POWER_(b) SHIFT_(d, 2) POWER_(c)        \
    SHIFT_(e, 1) POWER_(d) SHIFT_(f, 2) POWER_(e) SHIFT_(g, 1) POWER_(f) SHIFT_(h, 2)        \
    POWER_(g) POWER_(h)
/* Their sums are added to f3 and f4, and they are stored, two keys of a query in a word. */
#define USE_(a, b, c, d, e, f, g, h, even, odd, next_even, next_odd)                         \
    ADD_(5, a, c) ADD_(6, e, g) ADD_(7, b, d) PACK_(a, c) ADD_(5, 5, 6) ADD_(6, f, h)        \
    PACK_(b, d) STORE_(a, even) PACK_(e, g) ADD_(3, 3, 5) ADD_(7, 7, 6) STORE_(b, next_even) \
    PACK_(f, h) STORE_(e, odd) ADD_(4, 4, 7) STORE_(f, next_odd)

/* Replaces scores by powers: adds them to the sums and writes 32 bytes of two rows of P at `to`. */
SPICA_INLINE void attention_powers(AttentionMoved moved, AttentionPair maximum, AttentionPair *sum,
                                   uint32_t to)
{
    __asm__ volatile(
        "fmv.w.x f0, %[scale]\n\tfmv.w.x f1, %[high]\n\tfmv.w.x f2, %[higher]\n\t"
        "fmul.s f1, f1, f0\n\tfmul.s f2, f2, f0\n\tfmv.w.x f3, %[sum]\n\tfmv.w.x f4, %[sums]\n\t"
        "fneg.s f1, f1\n\tfneg.s f2, f2\n\t"
        POWERS_(8, 9, 10, 11, 12, 13, 14, 15)
        USE_(8, 9, 10, 11, 12, 13, 14, 15, 8, 12, 72, 76)
        POWERS_(16, 17, 18, 19, 20, 21, 22, 23)
        "fmv.w.x f8, %[a]\n\tfmv.w.x f9, %[b]\n\tfmv.w.x f10, %[c]\n\tfmv.w.x f11, %[d]\n\t"
        "fmv.w.x f12, %[e]\n\tfmv.w.x f13, %[f]\n\tfmv.w.x f14, %[g]\n\tfmv.w.x f15, %[h]\n\t"
        USE_(16, 17, 18, 19, 20, 21, 22, 23, 16, 20, 80, 84)
        POWERS_(24, 25, 26, 27, 28, 29, 30, 31)
        USE_(24, 25, 26, 27, 28, 29, 30, 31, 24, 28, 88, 92)
        POWERS_(8, 9, 10, 11, 12, 13, 14, 15)
        USE_(8, 9, 10, 11, 12, 13, 14, 15, 0, 4, 64, 68)
        "fmv.x.w %[sum], f3\n\tfmv.x.w %[sums], f4"
        : [sum] "+&r"(sum->first), [sums] "+&r"(sum->second)
        : [to] "r"(to), [scale] "r"(attention_scale()),
          [high] "r"(attention_safe(maximum.first)), [higher] "r"(attention_safe(maximum.second)),
          [a] "r"(moved.x[0]), [b] "r"(moved.x[1]), [c] "r"(moved.x[2]), [d] "r"(moved.x[3]),
          [e] "r"(moved.x[4]), [f] "r"(moved.x[5]), [g] "r"(moved.x[6]), [h] "r"(moved.x[7])
        : SPICA_HGMMA_C_, "memory");
}

/* Factor of sums and O when a maximum changes. */
SPICA_INLINE float attention_factor(uint32_t old, uint32_t new)
{
    return spica_exp2f((spica_float(old) - spica_float(attention_safe(new))) *
                       ATTENTION->scale_log2);
}

#endif
