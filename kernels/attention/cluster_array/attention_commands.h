/* Commands to the matrix unit, by one warp.
 *
 * Scores of a block are computed transposed, K times Q^T, so that a lane has all scores of its
 * queries and rows need no reduction between lanes. O is P^T, transposed by the unit, times V. Its
 * rows in the accumulator are scaled by the unit whenever their maximum rises. After the last block
 * a product of zeros scales them by the inverses of the sums.
 *
 * After the barrier that ends step t, the warp commands the scores of step t + 2 and P V of step t.
 * At this barrier the scores of step t + 1 are complete. The unit executes in order, so also P V of
 * step t - 2 is. So no command waits for another: it overwrites what was last used at those times. */
#ifndef ATTENTION_COMMANDS_H
#define ATTENTION_COMMANDS_H

#include "attention_words.h"

SPICA_INLINE void attention_multiply(uint32_t a, uint32_t b_end, uint32_t options,
                                     uint32_t transposed)
{
    virgo_operands(a, b_end);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_LOW), options);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_LOW), SPICA_ONLY_COMPUTE | transposed);
    virgo_start();
}

/* Scores of a block with fewer keys, K Q^T, to shared memory. */
SPICA_INLINE void attention_score_part(uint32_t keys, uint32_t number, uint32_t block)
{
    SPICA_IF (vx_thread_id() == 0) {
        virgo_tile(keys, BLOCK_ROWS, DEPTH);
        virgo_accumulator(0, 0);
        attention_multiply(ATTENTION_PLACE(number, K),
                           ATTENTION_PLACE(block, Q) + ATTENTION_Q0_BYTES, 0, VIRGO_TRANSPOSED_B);
        virgo_spill(ATTENTION_PLACE(number, S), VIRGO_WIDE);
    } SPICA_END_IF
}

/* Product P V of a block with fewer keys. */
SPICA_INLINE void attention_add_part(uint32_t keys, uint32_t third, uint32_t options)
{
    SPICA_IF (vx_thread_id() == 0) {
        virgo_tile(ATTENTION_ANEW(BLOCK_ROWS), DEPTH, keys);
        virgo_accumulator(ATTENTION_ANEW(O_BASE), ATTENTION_THIRD(third, SCALES));
        attention_multiply(ATTENTION_THIRD(third, P),
                           ATTENTION_THIRD(third, V) + VIRGO_B_BYTES(DEPTH, keys), options,
                           VIRGO_TRANSPOSED_A);
    } SPICA_END_IF
}

/* Row of `attention_score_words` for the step that follows a step by two; 0 if that has fewer keys, or
 * there is none. */
SPICA_INLINE const uint32_t *attention_score_row(const Attention *attention, AttentionStep step,
                                                 uint32_t number, uint32_t block)
{
    attention_advance(attention, &step, &block, 2);
    if (attention_is_over(attention, &step) || attention_keys(attention, &step) != BLOCK_KEYS)
        return 0;
    return attention_score_words[number & 1][block & 1];
}

/* Commands the scores of the step that follows a step by `steps`; returns the number of computes. */
SPICA_INLINE uint32_t attention_score(const Attention *attention, AttentionStep step,
                                      uint32_t steps, uint32_t number, uint32_t block)
{
    attention_advance(attention, &step, &block, steps);
    if (attention_is_over(attention, &step))
        return 0;
    const uint32_t keys = attention_keys(attention, &step);
    if (keys == BLOCK_KEYS)
        attention_send(attention_score_words[number & 1][block & 1], SCORE_WORDS);
    else
        attention_score_part(keys, number, block);
    return 1;
}

/* P V of a step; `kind` says how it adds to O. */
SPICA_INLINE void attention_add(uint32_t keys, uint32_t third, uint32_t kind)
{
    if (keys >= BLOCK_KEYS)
        attention_send(attention_add_words[third][kind], UNIT_WORDS);
    else
        attention_add_part(keys, third,
                           kind == ATTENTION_SET ? 0
                           : kind == ATTENTION_ADD ? VIRGO_ACCUMULATE
                                                   : VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS);
}

/* Divides O of the block of queries before that of a step by the sums and stores it, a block with
 * fewer queries by column blocks: the distance of column blocks in the accumulator is that of whole
 * blocks of rows. `block` is odd if that of the step is. */
SPICA_INLINE void attention_store(const Attention *attention, const AttentionStep *step,
                                  uint32_t block)
{
    const uint32_t rows =
        step->query ? BLOCK_ROWS : (attention->queries - 1) % BLOCK_ROWS + 1;
    const uint32_t first = step->problem * attention->queries + step->query - rows;
    char *to = attention->o + first * ROW_BYTES;
    block++;
    SPICA_IF (vx_thread_id() == 0) {
        virgo_tile(ATTENTION_ANEW(BLOCK_ROWS), DEPTH, 1);
        virgo_accumulator(ATTENTION_ANEW(O_BASE), ATTENTION_PLACE(block, INVERSES));
        uint32_t zeros = ATTENTION_ANEW(ATTENTION_ZEROS_PLACE);
        attention_multiply(zeros, zeros + ATTENTION_ANEW(VIRGO_B_BYTES(DEPTH, 1)),
                           VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS, VIRGO_TRANSPOSED_A);
        if (rows == BLOCK_ROWS) {
            virgo_store(to, 0);
        } else {
            virgo_tile(rows, VIRGO_COLUMNS, 1);
            for (uint32_t column = 0; column < DEPTH; column += VIRGO_COLUMNS) {
                virgo_accumulator(O_BASE + column / VIRGO_COLUMNS * BLOCK_ROWS, 0);
                virgo_store(to + column * VIRGO_OPERAND_BYTES, 0);
            }
        }
    } SPICA_END_IF
}

/* Zeros, and the scores of the first two steps; returns the computes. */
SPICA_INLINE uint32_t attention_start_unit(const Attention *attention)
{
    const AttentionStep step = attention_first(attention);
    uint32_t computes = spica_load_register(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE));
    SPICA_IF (vx_thread_id() == 0) {
        for (uint32_t word = 0; word < ATTENTION_ZEROS_BYTES / 4; word++)
            attention_at(ATTENTION_ZEROS_PLACE)[word] = 0;
        attention_flags()[0] = attention_flags()[1] = 0;
        virgo_store_pitch(DEPTH);
    } SPICA_END_IF
#pragma clang loop unroll(disable)
    for (uint32_t number = 0; number < 2; number++)
        computes += attention_score(attention, step, number, number, 0);
    return computes;
}

/* Waits until all scores are in shared memory but those of the last `later` stores. */
SPICA_INLINE void attention_await_scores(uint32_t computes, uint32_t later)
{
    SPICA_IF (vx_thread_id() == 0) {
        const uint32_t address = ATTENTION_ANEW(SPICA_OF_UNIT(MATRIX, RUNNING));
        for (;;) {
            /* Running commands that are no computes are stores. They are read before the number of
             * computes done, so that there can only appear to be more. */
            uint32_t running = spica_load_register(address);
            uint32_t done = spica_load_register(SPICA_OF_UNIT(MATRIX, COMPUTES_DONE));
            if ((int32_t)(running - (computes - done) - later) <= 0)
                break;
            vx_wait(address, running - 1); /* until a command has ended */
        }
    } SPICA_END_IF
}

#endif
