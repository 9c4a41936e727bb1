/* Sizes and places of attention on a matrix unit. Block sizes and places are macros of the compiler,
 * from plan.py. */
#ifndef ATTENTION_SIZES_H
#define ATTENTION_SIZES_H

#include "../attention.h"
#include <spica_special.h>
#include <virgo.h>

enum {
    LANES = SPICA_THREADS,
    PER_LANE = ATTENTION_PER_LANE,
    BLOCK_ROWS = ATTENTION_ROWS,
    BLOCK_KEYS = ATTENTION_KEYS,
    DEPTH = ATTENTION_DEPTH,
    SLOTS = ATTENTION_SLOTS,
    PARTS = SPICA_WARPS, /* parts of the keys of a block, one for each warp */
    PART_KEYS = BLOCK_KEYS / PARTS,
    SETS = BLOCK_ROWS / PER_LANE, /* sets of PER_LANE queries, each of one lane */
    GROUPS = SETS / LANES,        /* groups of queries, each of one core */
    RISEN_BYTES = (PARTS + 3) / 4 * 4, /* a byte for each warp of a core */
    ROW_BYTES = DEPTH * VIRGO_OPERAND_BYTES,
    QUERY_BYTES = BLOCK_ROWS * ROW_BYTES,
    /* Scores are at the start of the accumulator, O behind them. */
    O_BASE = BLOCK_KEYS * BLOCK_ROWS / VIRGO_COLUMNS,
};

_Static_assert(GROUPS <= SPICA_CORES, "a block must have at most one group of queries per core");

/* Word of shared memory at a place. */
SPICA_INLINE volatile float *attention_at(uint32_t place)
{
    return (volatile float *)(SPICA_SHARED_BASE + place);
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

#endif
