/* Commands of one thread to the DMA and the matrix unit.
 *
 * Scores of a block are computed transposed, K times Q^T, so that a lane has all scores of its
 * queries and rows need no reduction between lanes. O is P^T, transposed by the unit, times V. Its
 * rows in the accumulator are scaled by the unit whenever their maximum rises. After the last block
 * a product of zeros scales them by the inverses of the sums.
 *
 * Three warps share the commands, each of another core if there are as many. Between the meetings of
 * step t, one commands the scores of step t + 2, and another the loads of V of step t + 1 and of K of
 * step t + 3. After step t the third commands its product P V. So the unit always has a product ahead,
 * and scores wait for their softmax. */
#ifndef ATTENTION_COMMANDS_H
#define ATTENTION_COMMANDS_H

#include "attention_steps.h"

/* Copies of the steps ahead, in shared memory: several warps use them, and registers are few. A slot's
 * user is the number of computes after which it may be overwritten, its load the number of loads
 * after which it may be used. */
typedef struct {
    AttentionStep keys, scores, values; /* next steps: load of K, scores, load of V */
    uint32_t key_slot, score_slot, value_slot, output_slot;
    uint32_t key_query, score_query; /* blocks of queries before those steps */
    uint32_t score_number;
    uint32_t loads, computes, stores;
    uint32_t key_load[SLOTS], value_load[SLOTS];
    uint32_t query_user[2], value_user[SLOTS], key_user[SLOTS], score_store[2];
    uint32_t power_user[2];
} AttentionState;

_Static_assert(sizeof(AttentionState) <= ATTENTION_STATE_BYTES, "the plan must have room for the state");

SPICA_INLINE AttentionState *attention_state(void)
{
    return (AttentionState *)ATTENTION_ANEW(SPICA_SHARED_BASE + ATTENTION_STATE_PLACE);
}

#if ATTENTION_SLOTS > 2
#define SLOT_(slot, name) ((slot) == 0 ? ATTENTION_##name##0_PLACE \
                           : (slot) == 1 ? ATTENTION_##name##1_PLACE : ATTENTION_##name##2_PLACE)
#else
#define SLOT_(slot, name) ((slot) == 0 ? ATTENTION_##name##0_PLACE : ATTENTION_##name##1_PLACE)
#endif

SPICA_INLINE uint32_t attention_following(uint32_t slot)
{
    return slot + 1 == SLOTS ? 0 : slot + 1;
}

SPICA_INLINE void attention_await_computes(uint32_t count)
{
    virgo_await(SPICA_CONSTANT(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE)), count);
}

SPICA_INLINE void attention_await_loads(uint32_t count)
{
    virgo_await(SPICA_CONSTANT(SPICA_OF_UNIT(DMA, LOADS_DONE)), count);
}

SPICA_INLINE int attention_is_over(const Attention *attention, const AttentionStep *step)
{
    return step->problem == attention->problems;
}

/* Address of a row of K or V, which heads of a group share. */
SPICA_INLINE const char *attention_row(const Attention *attention, const char *from,
                                       const AttentionStep *step)
{
    uint32_t head = step->problem / attention->group;
    return from + (head * attention->keys + step->key) * ROW_BYTES;
}

/* Loads Q of a block: queries with an equal place in their sets follow each other. */
SPICA_INLINE void attention_load_queries(const Attention *attention, AttentionState *state)
{
    const AttentionStep *step = &state->keys;
    uint32_t rows = attention_rows(attention, step);
    uint32_t place = ATTENTION_PLACE(state->key_query, Q);
    uint32_t first = step->problem * attention->queries + step->query;
    const char *from = attention->q + first * ROW_BYTES;
    attention_await_computes(state->query_user[state->key_query & 1]);
    for (uint32_t i = 0; i < PER_LANE && i < rows; i++) {
        virgo_dma_load(place + i * SETS * ROW_BYTES, from + i * ROW_BYTES, PER_LANE * ROW_BYTES,
                       ROW_BYTES, (rows - i + PER_LANE - 1) / PER_LANE, ROW_BYTES, 0, 0);
        state->loads++;
    }
}

/* Loads K of the next step, and Q if a block of queries begins. */
SPICA_INLINE void attention_load_keys(const Attention *attention, AttentionState *state)
{
    AttentionStep *step = &state->keys;
    if (attention_is_over(attention, step))
        return;
    if (step->key == 0)
        attention_load_queries(attention, state);
    uint32_t slot = state->key_slot;
    attention_await_computes(state->key_user[slot]);
    virgo_dma_load(SLOT_(slot, K), attention_row(attention, attention->k, step), ROW_BYTES,
                   ROW_BYTES, attention_keys(attention, step), ROW_BYTES, 0, 0);
    state->key_load[slot] = ++state->loads;
    state->key_slot = attention_following(slot);
    state->key_query += attention_is_last(step);
    attention_next(attention, step);
}

SPICA_INLINE void attention_load_values(const Attention *attention, AttentionState *state)
{
    AttentionStep *step = &state->values;
    if (attention_is_over(attention, step))
        return;
    uint32_t slot = state->value_slot;
    attention_await_computes(state->value_user[slot]);
    virgo_dma_load(SLOT_(slot, V), attention_row(attention, attention->v, step), ROW_BYTES,
                   ROW_BYTES, attention_keys(attention, step), ROW_BYTES, 0, 0);
    state->value_load[slot] = ++state->loads;
    state->value_slot = attention_following(slot);
    attention_next(attention, step);
}

SPICA_INLINE void attention_multiply(AttentionState *state, uint32_t a, uint32_t b_end,
                                     uint32_t options, uint32_t transposed)
{
    virgo_operands(a, b_end);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_LOW), options);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_LOW), VIRGO_ONLY_COMPUTE | transposed);
    virgo_start();
    state->computes++;
}

/* Scores of the next step, K Q^T, to shared memory. */
SPICA_INLINE void attention_score(const Attention *attention, AttentionState *state)
{
    AttentionStep *step = &state->scores;
    if (attention_is_over(attention, step))
        return;
    uint32_t slot = state->score_slot, block = state->score_query;
    uint32_t query = ATTENTION_PLACE(block, Q);
    virgo_tile(attention_keys(attention, step), BLOCK_ROWS, DEPTH);
    virgo_accumulator(0, 0);
    attention_await_loads(state->key_load[slot]);
    attention_multiply(state, SLOT_(slot, K), query + QUERY_BYTES, 0, VIRGO_TRANSPOSED_B);
    state->key_user[slot] = state->query_user[block & 1] = state->computes;
    virgo_spill(ATTENTION_PLACE(state->score_number, S),
                VIRGO_WIDE);
    state->score_store[state->score_number & 1] = ++state->stores;
    state->score_number++;
    state->score_slot = attention_following(slot);
    state->score_query += attention_is_last(step);
    attention_next(attention, step);
}

/* Divides O by the sums and stores it, a block with fewer queries by column blocks: the distance of
 * column blocks in the accumulator is that of whole blocks of rows. */
SPICA_INLINE void attention_store(const Attention *attention, AttentionState *state,
                                  const AttentionStep *step, uint32_t number)
{
    uint32_t rows = attention_rows(attention, step);
    virgo_tile(ATTENTION_ANEW(BLOCK_ROWS), DEPTH, 1);
    virgo_accumulator(ATTENTION_ANEW(O_BASE), ATTENTION_PLACE(number, INVERSES));
    uint32_t zeros = ATTENTION_ANEW(ATTENTION_ZEROS_PLACE);
    attention_multiply(state, zeros, zeros + ATTENTION_ANEW(VIRGO_B_BYTES(DEPTH, 1)),
                       VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS, VIRGO_TRANSPOSED_A);
    uint32_t first = step->problem * attention->queries + step->query;
    char *to = attention->o + first * ROW_BYTES;
    if (rows == BLOCK_ROWS) {
        virgo_store(to, 0);
        state->stores++;
        return;
    }
    virgo_tile(rows, VIRGO_COLUMNS, 1);
    for (uint32_t column = 0; column < DEPTH; column += VIRGO_COLUMNS) {
        virgo_accumulator(O_BASE + column / VIRGO_COLUMNS * BLOCK_ROWS, 0);
        virgo_store(to + column * VIRGO_OPERAND_BYTES, 0);
        state->stores++;
    }
}

/* Adds P V of a step to O. */
SPICA_INLINE void attention_add(const Attention *attention, AttentionState *state,
                                const AttentionStep *step, uint32_t number)
{
    uint32_t slot = state->output_slot;
    uint32_t scales = ATTENTION_PLACE(number, SCALES);
    virgo_tile(ATTENTION_ANEW(BLOCK_ROWS), DEPTH, attention_keys(attention, step));
    virgo_accumulator(ATTENTION_ANEW(O_BASE), scales);
    attention_await_loads(state->value_load[slot]);
    attention_multiply(state,
                       ATTENTION_PLACE(number, P),
                       SLOT_(slot, V) + VIRGO_B_BYTES(DEPTH, attention_keys(attention, step)),
                       step->key ? VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS : 0, VIRGO_TRANSPOSED_A);
    state->value_user[slot] = state->power_user[number & 1] = state->computes;
    state->output_slot = attention_following(slot);
}

/* Starts everything that precedes the first softmax. */
SPICA_INLINE void attention_start(const Attention *attention)
{
    AttentionState *state = attention_state();
    for (uint32_t word = 0; word < sizeof(AttentionState) / 4; word++)
        ((volatile uint32_t *)state)[word] = 0;
    state->keys = state->scores = state->values = attention_first(attention);
    state->loads = spica_load_register(SPICA_OF_UNIT(DMA, LOADS_DONE));
    uint32_t computes = spica_load_register(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE));
    state->computes = computes;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        state->key_user[slot] = state->value_user[slot] = computes;
    state->query_user[0] = state->query_user[1] = computes;
    state->power_user[0] = state->power_user[1] = computes;
    for (uint32_t word = 0; word < (BLOCK_ROWS > DEPTH ? BLOCK_ROWS : DEPTH) *
                                       VIRGO_OPERAND_BYTES / 4; word++)
        attention_at(ATTENTION_ZEROS_PLACE)[word] = 0;
    attention_load_keys(attention, state);
    virgo_store_pitch(DEPTH);
    attention_load_keys(attention, state);
    attention_score(attention, state);
    attention_load_values(attention, state);
    attention_score(attention, state);
    attention_load_keys(attention, state);
}

/* Waits until the scores of a step are in shared memory. */
SPICA_INLINE void attention_await_scores(uint32_t number)
{
    const AttentionState *state = attention_state();
    const volatile uint32_t *place =
        (const volatile uint32_t *)ATTENTION_ANEW(SPICA_OF_UNIT(MATRIX, RUNNING));
    /* Running commands that are no computes are stores. They are read before the number of computes
     * done, so that there can only appear to be more. */
    uint32_t computes = state->computes, stores = state->stores - state->score_store[number & 1];
    uint32_t running = *place;
    for (;;) {
        uint32_t done = spica_load_register(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE));
        if ((int32_t)(running - (computes - done) - stores) <= 0)
            return;
        running = virgo_look_again(&place);
    }
}

/* Waits until P of the step before the last, and the factors with it, may be overwritten. */
SPICA_INLINE void attention_await_powers(uint32_t number)
{
    attention_await_computes(attention_state()->power_user[number & 1]);
}

/* The loads ahead: V of the next step, and K of the third after it. */
SPICA_INLINE void attention_load_ahead(const Attention *attention)
{
    AttentionState *state = attention_state();
    attention_load_values(attention, state);
    attention_load_keys(attention, state);
}

/* The scores ahead, of the second step after this. */
SPICA_INLINE void attention_score_ahead(const Attention *attention)
{
    attention_score(attention, attention_state());
}

/* The product P V of a step, and the store of O after the last step of a block of queries. */
SPICA_INLINE void attention_multiply_values(const Attention *attention, const AttentionStep *step,
                                            uint32_t number)
{
    AttentionState *state = attention_state();
    attention_add(attention, state, step, number);
    if (attention_is_last(step))
        attention_store(attention, state, step, number);
}

#endif
