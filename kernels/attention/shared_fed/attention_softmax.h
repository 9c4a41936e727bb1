/* Online softmax of a tile of scores, 16 keys of 16 queries, in f0-f31.
 *
 * A lane has two queries, `first` and `second`. Their maxima and sums are bits of FP32 in integer
 * registers. The scores of keys 0 and 1 move to integer registers, so that four float registers are
 * free:
 *
 *   f0        factor of the scores
 *   f1, f2    shifts of the exponents
 *   f3        sum of the first query from the first group on
 *   f4-f31    scores, powers and packed powers of keys 2 to 15; sum of the second query in f10,
 *             partial sums in f11, at last keys 0 and 1 in f4-f7 */
#ifndef ATTENTION_SOFTMAX_H
#define ATTENTION_SOFTMAX_H

#include "attention_tiles.h"

/* A value of each of the lane's queries. */
typedef struct {
    uint32_t first, second;
} AttentionPair;

#define MINUS_INFINITY 0xFF800000u
#define LARGEST 0x7F7FFFFFu

/* Bits of the factor of scores: a float would need a register of its own. */
SPICA_INLINE uint32_t attention_scale(void)
{
    return *(const volatile uint32_t *)&ATTENTION->scale_log2;
}

/* Scores of keys 0 and 1, of both queries. */
typedef struct {
    uint32_t x[4];
} AttentionMoved;

SPICA_INLINE AttentionMoved attention_move(void)
{
    AttentionMoved to;
    __asm__ volatile("fmv.x.w %0, f0\n\tfmv.x.w %1, f1\n\tfmv.x.w %2, f2\n\tfmv.x.w %3, f3"
                     : "=r"(to.x[0]), "=r"(to.x[1]), "=r"(to.x[2]), "=r"(to.x[3]));
    return to;
}

#define MAX2_(a, b) "fmax.s f" #a ", f" #a ", f" #b "\n\t"

/* Raises maxima to those of a tile. The scores of keys 0 and 1 are lost. */
SPICA_INLINE void attention_maxima(AttentionPair *maximum)
{
    __asm__ volatile(
        MAX2_(0, 4) MAX2_(1, 5) MAX2_(2, 6) MAX2_(3, 7) MAX2_(0, 8) MAX2_(1, 9) MAX2_(2, 10)
        MAX2_(3, 11) MAX2_(0, 12) MAX2_(1, 13) MAX2_(2, 14) MAX2_(3, 15) MAX2_(0, 16) MAX2_(1, 17)
        MAX2_(2, 18) MAX2_(3, 19) MAX2_(0, 20) MAX2_(1, 21) MAX2_(2, 22) MAX2_(3, 23) MAX2_(0, 24)
        MAX2_(1, 25) MAX2_(2, 26) MAX2_(3, 27) MAX2_(0, 28) MAX2_(1, 29) MAX2_(2, 30) MAX2_(3, 31)
        MAX2_(0, 2) MAX2_(1, 3)
        "fmv.w.x f2, %0\n\tfmv.w.x f3, %1\n\t" MAX2_(0, 2) MAX2_(1, 3)
        "fmv.x.w %0, f0\n\tfmv.x.w %1, f1"
        : "+r"(maximum->first), "+r"(maximum->second) : : SPICA_HGMMA_C_);
}

SPICA_INLINE uint32_t attention_safe(uint32_t maximum)
{
    return spica_select(maximum == ATTENTION_LOADED(MINUS_INFINITY), 0, maximum);
}

/* Shift of the exponents of powers, which includes the bias. If all scores were -infinity, any
 * other has the power infinity, whose sum exceeds the limit. */
SPICA_INLINE uint32_t attention_shift(uint32_t maximum)
{
    uint32_t shift;
    __asm__ volatile("fmv.w.x f0, %1\n\tfmv.w.x f1, %2\n\tli %0, %3\n\tfmv.w.x f2, %0\n\t"
                     "fnmadd.s f0, f0, f1, f2\n\tfmv.x.w %0, f0"
                     : "=r"(shift)
                     : "r"(maximum), "r"(attention_scale()), "i"(ATTENTION_BIAS)
                     : "f0", "f1", "f2");
    return spica_select(maximum == ATTENTION_LOADED(MINUS_INFINITY), ATTENTION_LOADED(LARGEST),
                        shift);
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
    SHIFT_(a, 1) SHIFT_(b, 2) SHIFT_(c, 1) SHIFT_(d, 2) SHIFT_(e, 1) SHIFT_(f, 2)            \
    POWER_(a) SHIFT_(g, 1) POWER_(b) SHIFT_(h, 2) POWER_(c) POWER_(d) POWER_(e) POWER_(f)    \
    POWER_(g) POWER_(h)
/* They are stored, two keys of a query in a word; their sums are in f`one` and f`g`. */
#define USE_(one, a, b, c, d, e, f, g, h, even, odd, next_even, next_odd)                    \
    ADD_(one, a, c) PACK_(a, c) ADD_(c, e, g) PACK_(e, g) ADD_(g, b, d) PACK_(b, d)          \
    ADD_(d, f, h) STORE_(a, even) PACK_(f, h) ADD_(one, one, c) ADD_(3, 3, one)              \
    STORE_(e, odd) ADD_(g, g, d) ADD_(10, 10, g) STORE_(b, next_even) STORE_(f, next_odd)
/* Both, of four keys and of those before them. Stores are apart from each other: the lanes of a store
 * access one subbank, and it takes 8 cycles. */
#define BOTH_(i, j, k, l, m, n, o, p, one, a, b, c, d, e, f, g, h, even, odd, next_even,     \
              next_odd, sum, next_sum)                                                       \
    SHIFT_(i, 1) ADD_(one, a, c) PACK_(a, c) SHIFT_(j, 2) ADD_(c, e, g) PACK_(e, g)          \
    SHIFT_(k, 1) POWER_(i) STORE_(a, even) SHIFT_(l, 2) ADD_(g, b, d) PACK_(b, d) POWER_(j)  \
    SHIFT_(m, 1) ADD_(one, one, c) POWER_(k) STORE_(e, odd) SHIFT_(n, 2) ADD_(d, f, h)       \
    PACK_(f, h) POWER_(l) SHIFT_(o, 1) POWER_(m) STORE_(b, next_even) SHIFT_(p, 2)           \
    ADD_(g, g, d) POWER_(n) sum POWER_(o) STORE_(f, next_odd) next_sum POWER_(p)

/* Replaces scores by powers: adds them to the sums and writes 32 bytes of two rows of P at `to`. */
SPICA_INLINE void attention_powers(AttentionMoved moved, AttentionPair shift, uint32_t scale,
                                   AttentionPair *sum, uint32_t to)
{
    __asm__ volatile(
        "fmv.w.x f0, %[scale]\n\tfmv.w.x f1, %[first]\n\tfmv.w.x f2, %[second]\n\t"
        POWERS_(4, 5, 6, 7, 8, 9, 10, 11)
        BOTH_(12, 13, 14, 15, 16, 17, 18, 19, 3, 4, 5, 6, 7, 8, 9, 10, 11, 4, 8, 68, 72,
              "fmv.w.x f6, %[sum]\n\t" ADD_(3, 6, 3), "fmv.w.x f7, %[sums]\n\t" ADD_(10, 7, 10))
        BOTH_(20, 21, 22, 23, 24, 25, 26, 27, 11, 12, 13, 14, 15, 16, 17, 18, 19, 12, 16, 76, 80,
              ADD_(3, 3, 11), ADD_(10, 10, 18))
        "fmv.w.x f4, %[a]\n\tfmv.w.x f5, %[b]\n\tfmv.w.x f6, %[c]\n\tfmv.w.x f7, %[d]\n\t"
        BOTH_(28, 29, 30, 31, 4, 5, 6, 7, 11, 20, 21, 22, 23, 24, 25, 26, 27, 20, 24, 84, 88,
              ADD_(3, 3, 11), ADD_(10, 10, 26))
        USE_(11, 28, 29, 30, 31, 4, 5, 6, 7, 28, 0, 92, 64)
        "fmv.x.w %[sum], f3\n\tfmv.x.w %[sums], f10"
        : [sum] "+&r"(sum->first), [sums] "+&r"(sum->second)
        : [to] "r"(to), [scale] "r"(scale), [first] "r"(shift.first), [second] "r"(shift.second),
          [a] "r"(moved.x[0]), [b] "r"(moved.x[1]), [c] "r"(moved.x[2]), [d] "r"(moved.x[3])
        : SPICA_HGMMA_C_, "memory");
}

/* Whether a sum of the lane exceeds the limit. */
SPICA_INLINE AttentionPair attention_exceeds(AttentionPair sum)
{
    AttentionPair is_above;
    __asm__ volatile("fmv.w.x f0, %4\n\tfmv.w.x f1, %2\n\tfmv.w.x f2, %3\n\t"
                     "flt.s %0, f0, f1\n\tflt.s %1, f0, f2"
                     : "=&r"(is_above.first), "=&r"(is_above.second)
                     : "r"(sum.first), "r"(sum.second), "r"(ATTENTION_LOADED(ATTENTION_LIMIT))
                     : "f0", "f1", "f2");
    return is_above;
}

/* Factor of sums and O when a maximum changes. */
SPICA_INLINE float attention_factor(uint32_t old, uint32_t new)
{
    return spica_exp2f((spica_float(old) - spica_float(attention_safe(new))) *
                       ATTENTION->scale_log2);
}

#endif
