/* State of a warp between the meetings. */
#ifndef ATTENTION_STATE_H
#define ATTENTION_STATE_H

#include "attention_softmax.h"

/* Number in a register of floats, as registers of integers are few. */
typedef struct {
    float value;
} AttentionCold;

SPICA_INLINE AttentionCold attention_cool(uint32_t number)
{
    AttentionCold cold = {spica_float(number)};
    __asm__ volatile("" : "+f"(cold.value));
    return cold;
}

SPICA_INLINE uint32_t attention_warm(AttentionCold cold)
{
    __asm__ volatile("" : "+f"(cold.value));
    return spica_bits(cold.value);
}

/* The step, its phase, and the number of the block of queries; rows; for the warp that commands the
 * unit, the computes commanded and the words of the next scores, 0 if they need other commands; for
 * the one that commands loads, the offset of the head of K and V. */
typedef struct {
    AttentionCold problem, query;
    uint32_t key, end, phase;
    AttentionRows rows;
    float scale;
    AttentionCold block, computes, scoring, head;
} AttentionState;

SPICA_INLINE AttentionStep attention_current(const AttentionState *state)
{
    return (AttentionStep){
        .problem = attention_warm(state->problem),
        .query = attention_warm(state->query),
        .key = state->key,
        .end = state->end,
    };
}

SPICA_INLINE void attention_set(AttentionState *state, const AttentionStep *step)
{
    state->problem = attention_cool(step->problem);
    state->query = attention_cool(step->query);
    state->key = step->key;
    state->end = step->end;
}

#endif
