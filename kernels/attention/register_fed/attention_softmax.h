/* Online softmax of the scores of a block, in the order in which accumulators hold them.
 *
 * A lane has columns of two rows: `first` is row l & 5, `second` the one two below it. Lane l ^ 2
 * has the other columns of both. Values of rows are bits of FP32 in integer registers. */
#ifndef ATTENTION_SOFTMAX_H
#define ATTENTION_SOFTMAX_H

#include "attention_fragments.h"

/* A value of each of the lane's rows. */
typedef struct {
    uint32_t first, second;
} AttentionPair;

/* State of the lane's rows: maxima of the scores, those with the block whose scores were computed
 * last, and the lane's shares of the sums of powers. A register of all lanes is a row of memory. */
typedef struct {
    uint32_t maximum[2][ATTENTION_LANES], next[2][ATTENTION_LANES], sum[2][ATTENTION_LANES];
} AttentionRows;

static AttentionRows attention_states[ALL_WARPS] __attribute__((section(".unset"), aligned(64)));

#define MINUS_INFINITY 0xFF800000u

/* State of the warp, at the words of the lane. */
SPICA_INLINE AttentionRows *attention_rows(void)
{
    return (AttentionRows *)((char *)&attention_states[attention_warp()] + 4 * vx_thread_id());
}

SPICA_INLINE AttentionPair attention_pair(uint32_t values[2][ATTENTION_LANES])
{
    return (AttentionPair){values[0][0], values[1][0]};
}

SPICA_INLINE void attention_clear_rows(AttentionRows *rows)
{
    rows->maximum[0][0] = rows->maximum[1][0] = MINUS_INFINITY;
    rows->sum[0][0] = rows->sum[1][0] = 0;
}

/* Sets scores of 16 keys from `key` on that are not below the limits of their rows to -infinity. */
SPICA_INLINE void attention_mask(char *scores, int32_t key, int32_t first, int32_t second)
{
    int32_t column = key + (int32_t)(vx_thread_id() & 2);
    uint32_t *word = (uint32_t *)scores;
#pragma unroll 1
    for (uint32_t q = 0; q < 16; q++, word += ATTENTION_LANES) {
        const int32_t own = column + (int32_t)(q & 13);
        const uint32_t is_hidden = q & 2 ? own >= second : own >= first;
        *word = spica_select(is_hidden, MINUS_INFINITY, *word);
    }
}

/* Maxima of the scores in the accumulators and of values before. */
SPICA_INLINE AttentionPair attention_maximum(AttentionPair before)
{
    __asm__ volatile(
        "fmv.w.x f0, %0\n\tfmv.w.x f1, %1\n\t"
        "fmax.s f2, f16, f17\n\tfmax.s f3, f18, f19\n\tfmax.s f4, f20, f21\n\t"
        "fmax.s f5, f22, f23\n\tfmax.s f6, f24, f25\n\tfmax.s f7, f26, f27\n\t"
        "fmax.s f8, f28, f29\n\tfmax.s f9, f30, f31\n\tfmax.s f2, f2, f4\n\tfmax.s f3, f3, f5\n\t"
        "fmax.s f6, f6, f8\n\tfmax.s f7, f7, f9\n\tfmax.s f2, f2, f6\n\tfmax.s f3, f3, f7\n\t"
        "fmax.s f0, f0, f2\n\tfmax.s f1, f1, f3\n\tfmv.x.w %0, f0\n\tfmv.x.w %1, f1"
        : "+r"(before.first), "+r"(before.second) : : LOWER_FLOATS_);
    return before;
}

/* Maxima of both lanes of a row; `room` are two rows of memory. */
SPICA_INLINE AttentionPair attention_exchange(AttentionPair own, char *room)
{
    __asm__ volatile(
        "sw %0, 0(%2)\n\tsw %1, 32(%2)\n\tflw f2, 0(%3)\n\tflw f3, 32(%3)\n\t"
        "fmv.w.x f0, %0\n\tfmv.w.x f1, %1\n\tfmax.s f0, f0, f2\n\tfmax.s f1, f1, f3\n\t"
        "fmv.x.w %0, f0\n\tfmv.x.w %1, f1"
        : "+r"(own.first), "+r"(own.second)
        : "r"(room), "r"((uint32_t)room ^ 8) : LOWER_FLOATS_, "memory");
    return own;
}

/* Keeps maxima that new ones exceed by at most ATTENTION_LAG as exponents of 2, so that O keeps its
 * scale. */
SPICA_INLINE AttentionPair attention_kept(AttentionPair old, AttentionPair new)
{
    uint32_t first, second;
    __asm__ volatile(
        "fmv.w.x f0, %2\n\tfmv.w.x f1, %3\n\tfmv.w.x f2, %4\n\tfmv.w.x f3, %5\n\t"
        "fmv.w.x f4, %6\n\tfmv.w.x f5, %7\n\tfsub.s f0, f0, f2\n\tfsub.s f1, f1, f3\n\t"
        "fmul.s f0, f0, f4\n\tfmul.s f1, f1, f4\n\tflt.s %0, f5, f0\n\tflt.s %1, f5, f1"
        : "=&r"(first), "=&r"(second)
        : "r"(new.first), "r"(new.second), "r"(old.first), "r"(old.second),
          "r"(ATTENTION->scale_log2), "r"(ATTENTION_LAG)
        : LOWER_FLOATS_);
    old.first ^= (old.first ^ new.first) & -first;
    old.second ^= (old.second ^ new.second) & -second;
    return old;
}

/* Stores the maxima that a block uses. */
SPICA_INLINE void attention_keep_maximum(AttentionRows *rows, AttentionPair maximum)
{
    if (ATTENTION_PER_WORD > 1)
        maximum = attention_kept(attention_pair(rows->maximum), maximum);
    rows->next[0][0] = maximum.first;
    rows->next[1][0] = maximum.second;
}

SPICA_INLINE uint32_t attention_safe(uint32_t maximum)
{
    return spica_select(maximum == MINUS_INFINITY, 0, maximum);
}

/* Begins the powers of a block: leaves the scale in f0, the shifts in f1 and f2, which include the
 * bias, and the rescaled sums in f3 and f4. Returns the factors of sums and accumulators, and updates the maxima. */
SPICA_INLINE AttentionPair attention_begin_powers(AttentionRows *rows)
{
    const AttentionPair maximum = attention_pair(rows->next);
    AttentionPair factor;
    __asm__ volatile(
        "fmv.w.x f0, %2\n\tfmv.w.x f1, %3\n\tfmv.w.x f2, %4\n\tfmv.w.x f5, %5\n\t"
        "fmv.w.x f6, %6\n\tfmv.w.x f3, %7\n\tfmv.w.x f4, %8\n\t"
        "fsub.s f5, f5, f1\n\tfsub.s f6, f6, f2\n\tfmul.s f5, f5, f0\n\tfmul.s f6, f6, f0\n\t"
        SPICA_INSN("f5, f5, f0", SPICA_INSN_FEXP2_S) "\n\t"
        SPICA_INSN("f6, f6, f0", SPICA_INSN_FEXP2_S) "\n\t"
        "li %0, %9\n\tfmv.w.x f7, %0\n\t"
        "fnmadd.s f1, f1, f0, f7\n\tfnmadd.s f2, f2, f0, f7\n\t"
        "fmul.s f3, f3, f5\n\tfmul.s f4, f4, f6\n\tfmv.x.w %0, f5\n\tfmv.x.w %1, f6"
        : "=&r"(factor.first), "=&r"(factor.second)
        : "r"(ATTENTION->scale_log2), "r"(attention_safe(maximum.first)),
          "r"(attention_safe(maximum.second)), "r"(rows->maximum[0][0]),
          "r"(rows->maximum[1][0]), "r"(rows->sum[0][0]), "r"(rows->sum[1][0]),
          "i"(ATTENTION_BIAS)
        : LOWER_FLOATS_);
    rows->maximum[0][0] = maximum.first;
    rows->maximum[1][0] = maximum.second;
    return factor;
}

#define SHIFT_FIRST_(n) "fmadd.s f" #n ", f" #n ", f0, f1\n\t"
#define SHIFT_SECOND_(n) "fmadd.s f" #n ", f" #n ", f0, f2\n\t"
#define POWER_(n, offset) SPICA_INSN("f" #n ", f" #n ", f0", SPICA_INSN_FEXP2_S) "\n\t"
#ifdef ATTENTION_BF16
#define PACK_INSN_ SPICA_INSN_FPACK_BF16_S
#else
#define PACK_INSN_ SPICA_INSN_FPACK_H_S
#endif
#define PACK_(a, b) SPICA_INSN("f" #a ", f" #a ", f" #b, PACK_INSN_) "\n\t"
#define PACK_ALL_                                                                              \
    PACK_(16, 17) PACK_(18, 19) PACK_(20, 21) PACK_(22, 23) PACK_(24, 25) PACK_(26, 27)        \
    PACK_(28, 29) PACK_(30, 31)

#define ADD_(d, a, b) "fadd.s f" #d ", f" #a ", f" #b "\n\t"

/* Replaces the scores in the accumulators by powers, and adds these to the sums. The special
 * function unit takes an instruction in four cycles, so others are between those for it. */
SPICA_INLINE void attention_powers(void)
{
    __asm__ volatile(
        SHIFT_FIRST_(16) SHIFT_FIRST_(17) SHIFT_FIRST_(20) POWER_(16, 0) SHIFT_FIRST_(21)
        POWER_(17, 0) SHIFT_FIRST_(24) POWER_(20, 0) SHIFT_FIRST_(25) POWER_(21, 0)
        SHIFT_FIRST_(28) POWER_(24, 0) SHIFT_FIRST_(29) POWER_(25, 0) SHIFT_SECOND_(18)
        POWER_(28, 0) ADD_(5, 16, 17) SHIFT_SECOND_(19) POWER_(29, 0) SHIFT_SECOND_(22)
        POWER_(18, 0) ADD_(6, 20, 21) SHIFT_SECOND_(23) POWER_(19, 0) SHIFT_SECOND_(26)
        POWER_(22, 0) ADD_(7, 24, 25) SHIFT_SECOND_(27) POWER_(23, 0) SHIFT_SECOND_(30)
        POWER_(26, 0) ADD_(8, 28, 29) SHIFT_SECOND_(31) POWER_(27, 0) POWER_(30, 0)
        ADD_(9, 18, 19) POWER_(31, 0) ADD_(10, 22, 23) ADD_(11, 26, 27) ADD_(12, 30, 31)
        ADD_(5, 5, 6) ADD_(7, 7, 8) ADD_(9, 9, 10) ADD_(11, 11, 12) ADD_(5, 5, 7) ADD_(9, 9, 11)
        ADD_(3, 3, 5) ADD_(4, 4, 9)
        : : : LOWER_FLOATS_, UPPER_FLOATS_);
}

#define STORE_POWERS_                                                                            \
    "fsw f16, 0(%1)\n\tfsw f17, 32(%1)\n\tfsw f18, 8(%1)\n\tfsw f19, 40(%1)\n\t"                  \
    "fsw f20, 128(%1)\n\tfsw f21, 160(%1)\n\tfsw f22, 136(%1)\n\tfsw f23, 168(%1)\n\t"          \
    "fsw f24, 256(%1)\n\tfsw f25, 288(%1)\n\tfsw f26, 264(%1)\n\tfsw f27, 296(%1)\n\t"          \
    "fsw f28, 384(%1)\n\tfsw f29, 416(%1)\n\tfsw f30, 392(%1)\n\tfsw f31, 424(%1)\n\t"

/* Stores the powers in the accumulators as fragments of A: rows are lanes, keys are words. The
 * lanes of a store have two keys. Words of FP32 are stored for those of one key and then for those of
 * the other, a row of shared memory each: words of two rows would be stored one by one. */
SPICA_INLINE void attention_store_powers(char *scores)
{
    const uint32_t lane = vx_thread_id();
    char *to = scores - 4 * lane + 4 * (lane & 5) +
               (lane & 2) / ATTENTION_PER_WORD * REGISTER_BYTES;
#if SPICA_TENSOR_OPERAND_BITS == 32
    uint32_t mask;
    __asm__ volatile("li %0, 0x33\n\t" SPICA_INSN("x0, %0, x0", SPICA_INSN_VX_TMC) "\n\t"
                     STORE_POWERS_
                     "li %0, 0xCC\n\t" SPICA_INSN("x0, %0, x0", SPICA_INSN_VX_TMC) "\n\t"
                     STORE_POWERS_
                     "li %0, -1\n\t" SPICA_INSN("x0, %0, x0", SPICA_INSN_VX_TMC)
                     : "=&r"(mask) : "r"(to) : "memory");
#else
    __asm__ volatile(PACK_ALL_
                     "fsw f16, 0(%0)\n\tfsw f18, 8(%0)\n\tfsw f20, 64(%0)\n\tfsw f22, 72(%0)\n\t"
                     "fsw f24, 128(%0)\n\tfsw f26, 136(%0)\n\tfsw f28, 192(%0)\n\t"
                     "fsw f30, 200(%0)"
                     : : "r"(to) : UPPER_FLOATS_, "memory");
#endif
}

SPICA_INLINE void attention_end_powers(AttentionRows *rows)
{
    __asm__ volatile("fsw f3, 0(%0)\n\tfsw f4, 32(%0)" : : "r"(&rows->sum[0][0]) : "memory");
}

#endif
