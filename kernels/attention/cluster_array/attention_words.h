/* Commands of whole blocks as tables of words, written by all lanes of a warp at once: a store to
 * registers of units is executed lane by lane, the lowest first. */
#ifndef ATTENTION_WORDS_H
#define ATTENTION_WORDS_H

#include "attention_steps.h"

enum { UNIT_WORDS = 16, SCORE_WORDS = 24 };

_Static_assert(8 % LANES == 0, "[other core.threads] warps must have 1, 2, 4 or 8 threads");

/* Upper halves of operands are 0 before and after a command. */
static const uint32_t attention_unit_registers[SCORE_WORDS] = {
    SPICA_MATRIX_RS1_LOW, SPICA_MATRIX_RS2_LOW, SPICA_MATRIX_RS2_HIGH, SPICA_MATRIX_INSTRUCTION,
    SPICA_MATRIX_RS2_HIGH, SPICA_MATRIX_RS1_LOW, SPICA_MATRIX_RS2_LOW, SPICA_MATRIX_INSTRUCTION,
    SPICA_MATRIX_RS1_LOW, SPICA_MATRIX_RS2_LOW, SPICA_MATRIX_INSTRUCTION,
    SPICA_MATRIX_RS1_LOW, SPICA_MATRIX_RS2_LOW, SPICA_MATRIX_INSTRUCTION,
    SPICA_MATRIX_RS2_HIGH, SPICA_MATRIX_RS2_HIGH,
    SPICA_MATRIX_RS1_LOW, SPICA_MATRIX_RS2_LOW, SPICA_MATRIX_RS2_HIGH, SPICA_MATRIX_INSTRUCTION,
    SPICA_MATRIX_RS2_HIGH, SPICA_MATRIX_RS2_HIGH, SPICA_MATRIX_RS2_HIGH, SPICA_MATRIX_RS2_HIGH,
};

/* BOUNDS, SPAD_AB, ACCUMULATOR and LOOP_WS of a product of m x n x k numbers. */
#define PRODUCT_(m, n, k, a, b, base, scales, options, parts)                              \
    0, (m) / VIRGO_ROWS | (n) / VIRGO_COLUMNS << 16, (k) / VIRGO_ROWS, SPICA_ROCC_BOUNDS,  \
    0, (a) / VIRGO_A_BLOCK, ((b) + VIRGO_B_BYTES(n, k)) / VIRGO_B_BLOCK, SPICA_ROCC_SPAD_AB, \
    base, (scales) / VIRGO_A_BLOCK, SPICA_ROCC_ACCUMULATOR,                                \
    options, SPICA_ONLY_COMPUTE | (parts), SPICA_ROCC_LOOP_WS, 0, 0

/* Kinds of P V: the first of a block of queries, and one that adds to O, or to O times factors. */
enum { ATTENTION_SET, ATTENTION_ADD, ATTENTION_SCALE };

/* P V: by step modulo 3, and kind. */
#define ADD_(third, options)                                                                   \
    {PRODUCT_(BLOCK_ROWS, DEPTH, BLOCK_KEYS, ATTENTION_P##third##_PLACE,                       \
              ATTENTION_V##third##_PLACE, O_BASE, ATTENTION_SCALES##third##_PLACE, options,    \
              VIRGO_TRANSPOSED_A)}
#define ADDS_(third)                                                                           \
    {ADD_(third, 0), ADD_(third, VIRGO_ACCUMULATE),                                            \
     ADD_(third, VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS)}

/* K Q^T and its store: by step modulo 2, and block of queries modulo 2. */
#define SCORE_(number, block)                                                                  \
    {PRODUCT_(BLOCK_KEYS, BLOCK_ROWS, DEPTH, ATTENTION_K##number##_PLACE,                      \
              ATTENTION_Q##block##_PLACE, 0, 0, 0, VIRGO_TRANSPOSED_B),                        \
     VIRGO_WIDE, SPICA_ONLY_SPILL, ATTENTION_S##number##_PLACE / VIRGO_A_BLOCK,                \
     SPICA_ROCC_LOOP_WS, 0, 0, 0, 0}

static const uint32_t attention_add_words[3][3][UNIT_WORDS] = {ADDS_(0), ADDS_(1), ADDS_(2)};
static const uint32_t attention_score_words[2][2][SCORE_WORDS] = {{SCORE_(0, 0), SCORE_(0, 1)},
                                                                  {SCORE_(1, 0), SCORE_(1, 1)}};

/* Writes the words of a command to registers of the unit; all lanes of the warp take part. */
SPICA_INLINE void attention_send(const uint32_t *words, uint32_t count)
{
    const uint32_t lane = vx_thread_id();
#pragma unroll
    for (uint32_t word = 0; word < count; word += LANES)
        spica_store_register(attention_unit_registers[word + lane], words[word + lane]);
}

#endif
