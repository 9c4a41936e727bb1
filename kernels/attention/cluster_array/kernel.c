/* Attention on a matrix unit: the unit multiplies, and the cores compute the softmax of one block
 * while the unit computes the scores of the next.
 *
 * A step ends with a barrier of all warps, when P is complete and the next scores are in shared
 * memory. */
#include "attention_commands.h"
#include "attention_loads.h"
#include "attention_state.h"
#include <spica_meet.h>

/* Roles of a warp: it has queries, commands the unit, commands loads. */
enum { SOFTMAX = 1, UNIT = 2, LOADS = 4 };

/* Cores whose warp 0 commands: the last, which have no queries if blocks are small. */
enum { UNIT_CORE = SPICA_CORES - 1, LOADS_CORE = SPICA_CORES > 1 ? SPICA_CORES - 2 : 0 };

/* Writes P, and returns the sums of powers. */
SPICA_INLINE void attention_weigh(AttentionState *state, const AttentionPlace *at, float *sum)
{
    attention_stream(attention_scores(at, state->phase), attention_weights(at, state->phase),
                     &state->rows, state->scale, sum);
}

/* Softmax of a step in which all warps exchange their maxima. */
SPICA_INLINE void attention_soften(AttentionState *state, const AttentionPlace *at,
                                   const uint32_t *raised, const int role)
{
    if (role & SOFTMAX) {
        const AttentionScores scores = attention_read(at, state->phase);
        attention_offer(at, &scores, raised);
    }
    spica_meet(0, SPICA_WARPS);
    if (PER_LANE > 1 && (role & UNIT)) /* all have read it */
        attention_flags()[state->phase & 1] = 0;
    if (role & SOFTMAX) {
        float sum[PER_LANE];
        attention_raise(at, &state->rows, state->scale);
        attention_weigh(state, at, sum);
        attention_rescale(at, &state->rows, sum, state->phase);
    }
}

/* Softmax of a step with the maxima of the step before. */
SPICA_INLINE void attention_soften_lazily(AttentionState *state, const AttentionPlace *at,
                                          float *sum, uint32_t *raised)
{
    if (state->key == 0)
        attention_guess(at, &state->rows, state->scale, state->phase);
    attention_weigh(state, at, sum);
    attention_check(&state->rows, sum, raised, state->phase);
}

/* Ends a step with a barrier of all warps. The warp that commands the unit prepares its next
 * commands. */
SPICA_INLINE void attention_end_step(const Attention *attention, AttentionState *state,
                                     const int role)
{
    if (role & UNIT) {
        const uint32_t block = attention_warm(state->block);
        const uint32_t *words;
        if (state->key + 3 * BLOCK_KEYS <= state->end)
            words = attention_score_words[state->phase & 1][block & 1];
        else
            words = attention_score_row(attention, attention_current(state), state->phase, block);
        state->scoring = attention_cool((uint32_t)words);
        attention_await_scores(attention_warm(state->computes), 0);
    }
    if (role & LOADS)
        attention_await_loads();
    spica_meet(0, SPICA_WARPS);
}

SPICA_INLINE void attention_mask_scores(const Attention *attention, const AttentionState *state,
                                        const AttentionPlace *at)
{
    const AttentionStep step = attention_current(state);
    if (attention_is_masked(attention, &step))
        attention_mask(attention, &step, at, state->phase);
}

/* A step up to its barrier; returns whether O must be scaled. */
SPICA_INLINE uint32_t attention_step(const Attention *attention, AttentionState *state,
                                     AttentionPlace *at, const int role)
{
    AttentionRows *rows = &state->rows;
    const int is_last = state->key + BLOCK_KEYS >= state->end;
    uint32_t raised[PER_LANE];
    if (state->key + BLOCK_KEYS + BLOCK_ROWS > state->end) { /* only last steps are masked */
        if (role & SOFTMAX)
            attention_mask_scores(attention, state, at);
        /* In the first step, all warps read the masked scores of the first; if it is also the last,
         * the sums of the block before have been read then. */
        if (PER_LANE > 1 && state->key == 0)
            spica_meet(0, SPICA_WARPS);
    }
    SPICA_ANEW(at->set);
    SPICA_ANEW(at->warp);
    if (PER_LANE > 1) {
        float sum[PER_LANE];
        if (role & SOFTMAX) {
            attention_soften_lazily(state, at, sum, raised);
            if (is_last) {
                float total[PER_LANE];
                for (int i = 0; i < PER_LANE; i++)
                    total[i] = rows->sum[i] + sum[i];
                attention_write(at, ATTENTION_ANEW(ATTENTION_SUMS_PLACE), total);
            }
        }
        attention_end_step(attention, state, role);
        if (attention_flags()[state->phase & 1] == 0) {
            for (int i = 0; i < PER_LANE; i++)
                rows->sum[i] += sum[i];
            return 0;
        }
    } else {
        for (int i = 0; i < PER_LANE; i++)
            raised[i] = 1;
    }
    SPICA_ANEW(at->set);
    SPICA_ANEW(at->warp);
    attention_soften(state, at, raised, role);
    if (is_last && (role & SOFTMAX))
        attention_write(at, ATTENTION_ANEW(ATTENTION_SUMS_PLACE), rows->sum);
    attention_end_step(attention, state, role);
    return state->key != 0;
}

/* Divides and stores O of the block of queries before that of the state. */
SPICA_INLINE void attention_store_block(const Attention *attention, AttentionState *state)
{
    const AttentionStep step = attention_current(state);
    attention_store(attention, &step, attention_warm(state->block));
    state->computes = attention_cool(attention_warm(state->computes) + 1);
}

/* Commands after the barrier of a step. */
SPICA_INLINE void attention_continue(const Attention *attention, AttentionState *state,
                                     uint32_t scales, const int role)
{
    if (role & UNIT) {
        const uint32_t opens = state->key == 0;
        const uint32_t kind = opens || OVERWRITES ? ATTENTION_SET : scales ? ATTENTION_SCALE : ATTENTION_ADD;
        if (opens && attention_warm(state->block))
            attention_store_block(attention, state);
        uint32_t computes = 2;
        const uint32_t *words = (const uint32_t *)attention_warm(state->scoring);
        if (words)
            attention_send(words, SCORE_WORDS);
        else
            computes = 1 + attention_score(attention, attention_current(state), 2, state->phase,
                                           attention_warm(state->block));
        attention_add(attention->keys - state->key, state->phase >> 1, kind);
        state->computes = attention_cool(attention_warm(state->computes) + computes);
    }
    if (role & LOADS) {
        if (state->key + 4 * BLOCK_KEYS <= state->end)
            attention_load_usual(attention, state->key, state->phase,
                                 attention_warm(state->head));
        else
            attention_load_any(attention, attention_current(state), state->phase,
                               attention_warm(state->block));
    }
}

/* Ends a block of queries; returns whether there is another. */
SPICA_INLINE int attention_end(const Attention *attention, AttentionState *state,
                               const AttentionPlace *at, const int role)
{
    AttentionStep step = attention_current(state);
    if ((role & SOFTMAX) && at->warp == PARTS - 1)
        attention_finish(attention, &step, at, &state->rows, attention_warm(state->block));
    attention_clear(&state->rows);
    attention_next(attention, &step);
    attention_set(state, &step);
    state->block = attention_cool(attention_warm(state->block) + 1);
    if (role & LOADS)
        state->head = attention_cool(attention_head(attention, &step));
    return !attention_is_over(attention, &step);
}

/* Commands before the first step. */
SPICA_INLINE void attention_start(const Attention *attention, AttentionState *state, const int role)
{
    const AttentionStep step = attention_first(attention);
    attention_set(state, &step);
    state->scale = attention->scale_log2;
    if (role & LOADS) {
        state->head = attention_cool(0);
        attention_start_loads(attention);
        attention_await_loads();
    }
    spica_meet(0, SPICA_WARPS);
    if (role & UNIT) {
        const uint32_t computes = attention_start_unit(attention);
        AttentionStep second = step;
        state->computes = attention_cool(computes);
        attention_next(attention, &second);
        attention_await_scores(computes, !attention_is_over(attention, &second));
    }
    spica_meet(0, SPICA_WARPS);
    if (role & LOADS)
        attention_continue_loads(attention);
}

/* All steps of a warp. Each role has code of its own, as registers are few. */
SPICA_INLINE void attention_all(const Attention *attention, AttentionPlace at, const int role)
{
    AttentionState state = {.phase = 0, .block = attention_cool(0)};
    attention_start(attention, &state, role);
    attention_clear(&state.rows);
    for (;;) {
        SPICA_ANEW(at.set);
        SPICA_ANEW(at.warp);
        const uint32_t scales = attention_step(attention, &state, &at, role);
        attention_continue(attention, &state, scales, role);
        state.phase = attention_next_phase(state.phase);
        if (state.key + BLOCK_KEYS < state.end)
            state.key += BLOCK_KEYS;
        else if (!attention_end(attention, &state, &at, role))
            break;
    }
    spica_meet(0, SPICA_WARPS);
    if (role & UNIT) {
        attention_store_block(attention, &state);
        SPICA_IF (vx_thread_id() == 0) {
            virgo_fence(0);
        } SPICA_END_IF
    }
}

SPICA_INLINE void attention_run(void)
{
    spica_begin();
    const Attention *attention = spica_arguments();
    const AttentionPlace at = attention_place();
    if (at.warp == 0 && at.core == UNIT_CORE)
        attention_all(attention, at,
                      UNIT | (UNIT_CORE == LOADS_CORE ? LOADS : 0) | (UNIT_CORE < GROUPS ? SOFTMAX : 0));
    else if (at.warp == 0 && at.core == LOADS_CORE)
        attention_all(attention, at, LOADS | (LOADS_CORE < GROUPS ? SOFTMAX : 0));
    else if (at.core < GROUPS)
        attention_all(attention, at, SOFTMAX);
    else
        attention_all(attention, at, 0);
    vx_fence();
    spica_end();
}

int main(void)
{
    SPICA_PARALLEL {
        attention_run();
    } SPICA_END_PARALLEL
    return (int)(spica_load_register(SPICA_OF_UNIT(MATRIX, ERROR)) |
                 spica_load_register(SPICA_OF_UNIT(DMA, ERROR)));
}
