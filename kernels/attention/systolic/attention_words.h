/* Commands of whole blocks as tables of words, written by all lanes of a warp at once: a store to
 * registers of units is executed lane by lane, the lowest first. */
#ifndef ATTENTION_WORDS_H
#define ATTENTION_WORDS_H

#include "attention_steps.h"

enum { UNIT_WORDS = 16, SCORE_WORDS = 24, LOAD_WORDS = 8 };

_Static_assert(LOAD_WORDS % LANES == 0, "lanes must divide the words of a command");

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
static const uint32_t attention_load_registers[LOAD_WORDS] = {
    SPICA_DMA_DRAM, SPICA_DMA_DRAM_PITCH, SPICA_DMA_LOCAL, SPICA_DMA_LOCAL_PITCH,
    SPICA_DMA_SHAPE, SPICA_DMA_FILL, SPICA_DMA_FILL, SPICA_DMA_START,
};

/* BOUNDS, SPAD_AB, ACCUMULATOR and LOOP_WS of a product of m x n x k numbers. */
#define PRODUCT_(m, n, k, a, b, base, scales, options, parts)                              \
    0, (m) / VIRGO_ROWS | (n) / VIRGO_COLUMNS << 16, (k) / VIRGO_ROWS, SPICA_ROCC_BOUNDS,  \
    0, (a) / VIRGO_A_BLOCK, ((b) + VIRGO_B_BYTES(n, k)) / VIRGO_B_BLOCK, SPICA_ROCC_SPAD_AB, \
    base, (scales) / VIRGO_A_BLOCK, SPICA_ROCC_ACCUMULATOR,                                \
    options, VIRGO_ONLY_COMPUTE | (parts), SPICA_ROCC_LOOP_WS, 0, 0

/* P V: by step modulo 2, and whether it adds to O. */
#define ADD_(number, adds)                                                                     \
    {PRODUCT_(BLOCK_ROWS, DEPTH, BLOCK_KEYS, ATTENTION_P##number##_PLACE,                      \
              ATTENTION_V##number##_PLACE, O_BASE, ATTENTION_SCALES##number##_PLACE,           \
              (adds) ? VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS : 0, VIRGO_TRANSPOSED_A)}

/* K Q^T and its store: by step modulo 2, slot of K, and block of queries modulo 2. */
#define SCORE_(number, slot, block)                                                            \
    {PRODUCT_(BLOCK_KEYS, BLOCK_ROWS, DEPTH, ATTENTION_K##slot##_PLACE,                        \
              ATTENTION_Q##block##_PLACE, 0, 0, 0, VIRGO_TRANSPOSED_B),                        \
     VIRGO_WIDE, VIRGO_ONLY_SPILL, ATTENTION_S##number##_PLACE / VIRGO_A_BLOCK,                \
     SPICA_ROCC_LOOP_WS, 0, 0, 0, 0}
#define SCORES_(number, slot) {SCORE_(number, slot, 0), SCORE_(number, slot, 1)}

#if ATTENTION_SLOTS > 2
#define OF_SLOTS_(of, which) {of(which, 0), of(which, 1), of(which, 2)}
#else
#define OF_SLOTS_(of, which) {of(which, 0), of(which, 1)}
#endif
static const uint32_t attention_add_words[2][2][UNIT_WORDS] = {{ADD_(0, 0), ADD_(0, 1)},
                                                               {ADD_(1, 0), ADD_(1, 1)}};
static const uint32_t attention_score_words[2][SLOTS][2][SCORE_WORDS] = {OF_SLOTS_(SCORES_, 0),
                                                                         OF_SLOTS_(SCORES_, 1)};

/* Writes words to registers; all lanes of the warp take part. */
SPICA_INLINE void attention_send(const uint32_t *registers, const uint32_t *words, uint32_t count)
{
    const uint32_t lane = vx_thread_id();
#pragma unroll
    for (uint32_t word = 0; word < count; word += LANES)
        spica_store_register(registers[word + lane], words[word + lane]);
}

#endif
