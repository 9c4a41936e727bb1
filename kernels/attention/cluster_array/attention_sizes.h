/* Sizes and places of attention on a matrix unit. Block sizes, and places and bytes of arrays, are
 * macros of the compiler, from plan.py. */
#ifndef ATTENTION_SIZES_H
#define ATTENTION_SIZES_H

#include "../attention.h"
#include <spica_special.h>
#include <virgo.h>

/* Whether each product P V replaces O: for measuring what adding costs. */
#ifdef ATTENTION_OVERWRITES
#define OVERWRITES 1
#else
#define OVERWRITES 0
#endif

enum {
    LANES = SPICA_THREADS,
    PER_LANE = ATTENTION_PER_LANE,
    BLOCK_ROWS = ATTENTION_ROWS,
    BLOCK_KEYS = ATTENTION_KEYS,
    DEPTH = ATTENTION_DEPTH,
    PARTS = SPICA_WARPS, /* parts of the keys of a block, one for each warp */
    PART_KEYS = BLOCK_KEYS / PARTS,
    SETS = BLOCK_ROWS / PER_LANE, /* sets of PER_LANE queries, each of one lane */
    GROUPS = SETS / LANES,        /* groups of queries, each of one core */
    ROW_BYTES = DEPTH * VIRGO_OPERAND_BYTES,
    SCORE_BYTES = ATTENTION_S_BYTES / 2, /* of one of the blocks that follow each other */
    POWER_BYTES = ATTENTION_P_BYTES / 3,
    /* Scores are at the start of the accumulator, O behind them. */
    O_BASE = BLOCK_KEYS * BLOCK_ROWS / VIRGO_COLUMNS,
};

/* Scores of even and odd steps, and P of steps modulo 3, follow each other. */
#define ATTENTION_S0_PLACE ATTENTION_S_PLACE
#define ATTENTION_S1_PLACE (ATTENTION_S_PLACE + SCORE_BYTES)
#define ATTENTION_P0_PLACE ATTENTION_P_PLACE
#define ATTENTION_P1_PLACE (ATTENTION_P_PLACE + POWER_BYTES)
#define ATTENTION_P2_PLACE (ATTENTION_P_PLACE + 2 * POWER_BYTES)

/* Word of shared memory at a place. */
SPICA_INLINE volatile float *attention_at(uint32_t offset)
{
    return (volatile float *)(SPICA_SHARED_BASE + offset);
}

/* A constant that is loaded at its use: the compiler would keep it in a register of all warps. */
#define ATTENTION_ANEW(number)                                                \
    ({                                                                        \
        uint32_t loaded_;                                                     \
        __asm__ volatile("li %0, %1" : "=r"(loaded_) : "i"((int32_t)(number))); \
        loaded_;                                                              \
    })

/* Place of the first of two arrays of a name if `number` is even, else of the second. */
#define ATTENTION_PLACE(number, name)                        \
    ((number) & 1 ? ATTENTION_ANEW(ATTENTION_##name##1_PLACE) \
                  : ATTENTION_ANEW(ATTENTION_##name##0_PLACE))

/* Place of one of three arrays of a name. */
#define ATTENTION_THIRD(third, name)                              \
    ((third) == 0 ? ATTENTION_ANEW(ATTENTION_##name##0_PLACE)     \
     : (third) == 1 ? ATTENTION_ANEW(ATTENTION_##name##1_PLACE)   \
                    : ATTENTION_ANEW(ATTENTION_##name##2_PLACE))

/* Flags of even and odd steps, not 0 if the step must be computed again. */
SPICA_INLINE volatile uint32_t *attention_flags(void)
{
    return (volatile uint32_t *)attention_at(ATTENTION_ANEW(ATTENTION_FLAGS_PLACE));
}

#endif
