/* Sequence of steps, each a block of queries with a block of keys. */
#ifndef ATTENTION_STEPS_H
#define ATTENTION_STEPS_H

#include "attention_sizes.h"

/* A step: head, first query, first key, and the end of the keys to which its block of queries
 * attends. */
typedef struct {
    uint32_t problem, query, key, end;
} AttentionStep;

/* Phase of a step: bit 0 is its number modulo 2, the bits above are its number modulo 3. */
SPICA_INLINE uint32_t attention_next_phase(uint32_t phase)
{
    const uint32_t following = 3 | 2 << 3 | 5 << 6 | 4 << 9 | 1 << 12 | 0 << 15;
    return ATTENTION_ANEW(following) >> 3 * phase & 7;
}

SPICA_INLINE uint32_t attention_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Number of keys that a query attends to, negative if it is before the first key. */
SPICA_INLINE int32_t attention_seen(const Attention *attention, uint32_t query)
{
    uint32_t seen = query + 1 + attention->keys - attention->queries;
    return (int32_t)(attention->causal ? seen : attention->keys);
}

/* Sets the end of the keys: a block of queries that see none has a step nevertheless. */
SPICA_INLINE void attention_enter(const Attention *attention, AttentionStep *step)
{
    uint32_t last = attention_least(step->query + BLOCK_ROWS, attention->queries) - 1;
    int32_t seen = attention_seen(attention, last);
    step->end = seen < 1 ? 1 : (uint32_t)seen;
    step->key = 0;
}

SPICA_INLINE AttentionStep attention_first(const Attention *attention)
{
    AttentionStep step = {.problem = 0, .query = 0};
    attention_enter(attention, &step);
    return step;
}

SPICA_INLINE int attention_is_over(const Attention *attention, const AttentionStep *step)
{
    return step->problem == attention->problems;
}

/* Whether a query does not see all keys of the step's block; only in the last steps. */
SPICA_INLINE int attention_is_masked(const Attention *attention, const AttentionStep *step)
{
    return (int32_t)(step->key + BLOCK_KEYS) > attention_seen(attention, step->query);
}

SPICA_INLINE int attention_is_last(const AttentionStep *step)
{
    return step->key + BLOCK_KEYS >= step->end;
}

/* Advances to the next step; after the last, `problem` is the number of heads. */
SPICA_INLINE void attention_next(const Attention *attention, AttentionStep *step)
{
    if (!attention_is_last(step)) {
        step->key += BLOCK_KEYS;
        return;
    }
    step->query += BLOCK_ROWS;
    if (step->query >= attention->queries) {
        step->query = 0;
        step->problem++;
    }
    attention_enter(attention, step);
}

/* Advances by `steps`, up to the end, also the number of the block of queries. */
SPICA_INLINE void attention_advance(const Attention *attention, AttentionStep *step,
                                    uint32_t *block, uint32_t steps)
{
#pragma clang loop unroll(disable)
    for (; steps && !attention_is_over(attention, step); steps--) {
        *block += attention_is_last(step);
        attention_next(attention, step);
    }
}

/* Queries, and keys, of a step. */
SPICA_INLINE uint32_t attention_rows(const Attention *attention, const AttentionStep *step)
{
    uint32_t rows = attention_least(attention->queries - step->query, BLOCK_ROWS);
    SPICA_ANEW(rows); /* or sizes derived from it need constants in registers */
    return rows;
}

SPICA_INLINE uint32_t attention_keys(const Attention *attention, const AttentionStep *step)
{
    uint32_t keys = attention_least(attention->keys - step->key, BLOCK_KEYS);
    SPICA_ANEW(keys);
    return keys;
}

#endif
