/* Order of the work: heads, tiles of queries of all warps, and blocks of keys. */
#ifndef ATTENTION_POSITION_H
#define ATTENTION_POSITION_H

#include "attention_sizes.h"

/* A head, the first query of all warps, the first key, and the buffer of the block; within one line
 * of the L1D. */
typedef struct {
    uint32_t problem, row, key, buffer;
    uint32_t loads; /* loads of this block and of all before it; of a warp that waits for them */
} __attribute__((aligned(32))) AttentionPosition;

/* Position of each warp: in memory, as registers are few. */
static AttentionPosition attention_positions_[ALL_WARPS + SPICA_CORES] __attribute__((section(".unset")));

SPICA_INLINE volatile AttentionPosition *attention_at(AttentionWarp *warp)
{
    return (volatile AttentionPosition *)(ATTENTION_ADDRESS(attention_positions_) +
                                          warp->number * (uint32_t)sizeof(AttentionPosition));
}

/* Whether a block is the last of its tile of queries; a tile without keys has one block. */
SPICA_INLINE uint32_t attention_is_last(volatile AttentionPosition *at)
{
    const uint32_t last = spica_minu(at->row + ALL_ROWS, ATTENTION->queries) - 1;
    return (int32_t)(at->key + BLOCK_KEYS) >= attention_seen((int32_t)last);
}

/* Advances from a block, the last of its tile of queries or not, to the next one; behind the last
 * `problem` is the number of heads. */
SPICA_INLINE void attention_advance(volatile AttentionPosition *at, uint32_t is_last)
{
    const uint32_t buffer = at->buffer, key = at->key;
    at->buffer = buffer ^ 1;
    if (!is_last) {
        at->key = key + BLOCK_KEYS;
        return;
    }
    at->key = 0;
    const uint32_t row = at->row + ALL_ROWS;
    if (row < ATTENTION->queries) {
        at->row = row;
        return;
    }
    at->row = 0;
    at->problem++;
}

SPICA_INLINE void attention_first(volatile AttentionPosition *at)
{
    at->problem = at->row = at->key = at->buffer = 0;
}

SPICA_INLINE uint32_t attention_is_over(volatile AttentionPosition *at)
{
    return at->problem == ATTENTION->problems;
}

#endif
