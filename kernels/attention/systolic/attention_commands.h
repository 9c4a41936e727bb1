/* Commands to the DMA and the matrix unit.
 *
 * Scores of a block are computed transposed, K times Q^T, so that a lane has all scores of its
 * queries and rows need no reduction between lanes. O is P^T, transposed by the unit, times V. Its
 * rows in the accumulator are scaled by the unit whenever their maximum rises. After the last block
 * a product of zeros scales them by the inverses of the sums.
 *
 * Three warps share the commands, each of another core if there are as many. Between the meetings of
 * step t, one commands the scores of step t + 2, and another the load of K of step t + 3. After step t
 * the third commands its product P V, and the second the load of V of step t + 1. So the unit always
 * has a product ahead, and scores wait for their softmax. */
#ifndef ATTENTION_COMMANDS_H
#define ATTENTION_COMMANDS_H

#include "attention_words.h"

/* Copies of the steps ahead, in shared memory: several warps use them, and registers are few. A slot's
 * user is the number of computes after which it may be overwritten, its load the number of loads
 * after which it may be used. */
typedef struct {
    AttentionStep keys, scores, values; /* next steps: load of K, scores, load of V */
    uint32_t key_slot, score_slot;
    uint32_t key_query, score_query; /* blocks of queries before those steps */
    uint32_t score_number, value_number; /* of those steps */
    uint32_t loads, computes, stores;
    uint32_t key_load[SLOTS], value_load[2];
    uint32_t query_user[2], key_user[SLOTS], score_store[2];
    uint32_t add_user[2]; /* of V, P and factors of a step */
    uint32_t load[LOAD_WORDS]; /* words of the next load */
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

/* Queues a load of rows; all lanes take part. */
SPICA_INLINE void attention_load(AttentionState *state, uint32_t place, const char *from,
                                 uint32_t pitch, uint32_t rows)
{
    SPICA_IF (vx_thread_id() == 0) {
        state->load[0] = (uint32_t)from;
        state->load[1] = pitch;
        state->load[2] = place;
        state->load[4] = rows | ATTENTION_ANEW(ROW_BYTES << 16);
        state->loads++;
    } SPICA_END_IF
    attention_send(attention_load_registers, state->load, LOAD_WORDS);
}

/* Loads Q of a block: queries with an equal place in their sets follow each other. */
SPICA_INLINE void attention_load_queries(const Attention *attention, AttentionState *state)
{
    const AttentionStep *step = &state->keys;
    const uint32_t rows = attention_rows(attention, step), block = state->key_query;
    uint32_t place = ATTENTION_PLACE(block, Q);
    const uint32_t first = step->problem * attention->queries + step->query;
    const char *from = attention->q + first * ROW_BYTES;
    SPICA_IF (vx_thread_id() == 0) {
        attention_await_computes(state->query_user[block & 1]);
    } SPICA_END_IF
#pragma clang loop unroll(disable)
    for (uint32_t i = 0; i < PER_LANE && i < rows; i++) {
        attention_load(state, place, from, PER_LANE * ROW_BYTES,
                       (rows - i + PER_LANE - 1) / PER_LANE);
        place += SETS * ROW_BYTES;
        from += ROW_BYTES;
    }
}

/* Loads K of the next step, and Q if a block of queries begins. */
SPICA_INLINE void attention_load_keys(const Attention *attention)
{
    AttentionState *state = attention_state();
    AttentionStep *step = &state->keys;
    if (attention_is_over(attention, step))
        return;
    const uint32_t slot = state->key_slot;
    if (step->key == 0)
        attention_load_queries(attention, state);
    SPICA_IF (vx_thread_id() == 0) {
        attention_await_computes(state->key_user[slot]);
    } SPICA_END_IF
    attention_load(state, SLOT_(slot, K), attention_row(attention, attention->k, step), ROW_BYTES,
                   attention_keys(attention, step));
    SPICA_IF (vx_thread_id() == 0) {
        state->key_load[slot] = state->loads;
        state->key_slot = attention_following(slot);
        state->key_query += attention_is_last(step);
        attention_next(attention, step);
    } SPICA_END_IF
}

/* Loads V of the next step. */
SPICA_INLINE void attention_load_values(const Attention *attention)
{
    AttentionState *state = attention_state();
    AttentionStep *step = &state->values;
    if (attention_is_over(attention, step))
        return;
    const uint32_t number = state->value_number;
    SPICA_IF (vx_thread_id() == 0) {
        attention_await_computes(state->add_user[number & 1]);
    } SPICA_END_IF
    attention_load(state, ATTENTION_PLACE(number, V), attention_row(attention, attention->v, step),
                   ROW_BYTES, attention_keys(attention, step));
    SPICA_IF (vx_thread_id() == 0) {
        state->value_load[number & 1] = state->loads;
        state->value_number = number + 1;
        attention_next(attention, step);
    } SPICA_END_IF
}

SPICA_INLINE void attention_multiply(uint32_t a, uint32_t b_end, uint32_t options,
                                     uint32_t transposed)
{
    virgo_operands(a, b_end);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_LOW), options);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_LOW), VIRGO_ONLY_COMPUTE | transposed);
    virgo_start();
}

/* Commands the scores of a block with fewer keys. */
SPICA_INLINE void attention_score_part(uint32_t keys, uint32_t slot, uint32_t block, uint32_t number)
{
    uint32_t query = ATTENTION_PLACE(block, Q);
    virgo_tile(keys, BLOCK_ROWS, DEPTH);
    virgo_accumulator(0, 0);
    attention_multiply(SLOT_(slot, K), query + QUERY_BYTES, 0, VIRGO_TRANSPOSED_B);
    virgo_spill(ATTENTION_PLACE(number, S), VIRGO_WIDE);
}

/* Scores of the next step, K Q^T, to shared memory; all lanes take part. */
SPICA_INLINE void attention_score(const Attention *attention)
{
    AttentionState *state = attention_state();
    AttentionStep *step = &state->scores;
    if (attention_is_over(attention, step))
        return;
    const uint32_t slot = state->score_slot, number = state->score_number;
    const uint32_t block = state->score_query, keys = attention_keys(attention, step);
    SPICA_IF (vx_thread_id() == 0) {
        attention_await_loads(state->key_load[slot]);
        if (keys != BLOCK_KEYS)
            attention_score_part(keys, slot, block, number);
    } SPICA_END_IF
    if (keys == BLOCK_KEYS)
        attention_send(attention_unit_registers, attention_score_words[number & 1][slot][block & 1],
                       SCORE_WORDS);
    SPICA_IF (vx_thread_id() == 0) {
        uint32_t computes = ++state->computes;
        state->key_user[slot] = state->query_user[block & 1] = computes;
        state->score_store[number & 1] = ++state->stores;
        state->score_number = number + 1;
        state->score_slot = attention_following(slot);
        state->score_query = block + attention_is_last(step);
        attention_next(attention, step);
    } SPICA_END_IF
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
    attention_multiply(zeros, zeros + ATTENTION_ANEW(VIRGO_B_BYTES(DEPTH, 1)),
                       VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS, VIRGO_TRANSPOSED_A);
    state->computes++;
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

/* Commands P V of a block with fewer keys. */
SPICA_INLINE void attention_add_part(uint32_t keys, uint32_t adds, uint32_t number)
{
    virgo_tile(ATTENTION_ANEW(BLOCK_ROWS), DEPTH, keys);
    virgo_accumulator(ATTENTION_ANEW(O_BASE), ATTENTION_PLACE(number, SCALES));
    attention_multiply(ATTENTION_PLACE(number, P),
                       ATTENTION_PLACE(number, V) + VIRGO_B_BYTES(DEPTH, keys),
                       adds ? VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS : 0, VIRGO_TRANSPOSED_A);
}

/* State before the first command, and zeros. */
SPICA_INLINE void attention_begin(const Attention *attention)
{
    AttentionState *state = attention_state();
    for (uint32_t word = 0; word < sizeof(AttentionState) / 4; word++)
        ((volatile uint32_t *)state)[word] = 0;
    state->keys = state->scores = state->values = attention_first(attention);
    state->loads = spica_load_register(SPICA_OF_UNIT(DMA, LOADS_DONE));
    uint32_t computes = spica_load_register(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE));
    state->computes = computes;
    state->load[3] = ROW_BYTES;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        state->key_user[slot] = computes;
    state->query_user[0] = state->query_user[1] = computes;
    state->add_user[0] = state->add_user[1] = computes;
    for (uint32_t word = 0; word < (BLOCK_ROWS > DEPTH ? BLOCK_ROWS : DEPTH) *
                                       VIRGO_OPERAND_BYTES / 4; word++)
        attention_at(ATTENTION_ZEROS_PLACE)[word] = 0;
    virgo_store_pitch(DEPTH);
}

/* Starts everything that precedes the first softmax; all lanes take part. */
SPICA_INLINE void attention_start(const Attention *attention)
{
    SPICA_IF (vx_thread_id() == 0) {
        attention_begin(attention);
    } SPICA_END_IF
    attention_load_keys(attention);
    attention_load_keys(attention);
    attention_score(attention);
    attention_load_values(attention);
    attention_score(attention);
    attention_load_keys(attention);
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
    attention_await_computes(attention_state()->add_user[number & 1]);
}

/* The product P V of a step, and the store of O after the last step of a block of queries; all lanes
 * take part. */
SPICA_INLINE void attention_multiply_values(const Attention *attention, const AttentionStep *step,
                                            uint32_t number)
{
    AttentionState *state = attention_state();
    const uint32_t adds = step->key != 0;
    const uint32_t keys = attention_keys(attention, step);
    SPICA_IF (vx_thread_id() == 0) {
        attention_await_loads(state->value_load[number & 1]);
        if (keys != BLOCK_KEYS)
            attention_add_part(keys, adds, number);
    } SPICA_END_IF
    if (keys == BLOCK_KEYS)
        attention_send(attention_unit_registers, attention_add_words[number & 1][adds], UNIT_WORDS);
    SPICA_IF (vx_thread_id() == 0) {
        state->add_user[number & 1] = ++state->computes;
        if (attention_is_last(step))
            attention_store(attention, state, step, number);
    } SPICA_END_IF
}

#endif
