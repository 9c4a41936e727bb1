/* Arrangement of row-major operands in the order of fragments, from DRAM to DRAM, by all warps.
 *
 * A lane reads the words of its row of A, and stores them as registers of a fragment. Of B it reads
 * a column pair. With one element in a word, the pair is two words, one of the even and one of the
 * odd panel. With two, it reads the words of two rows; their low halves are a word of the even
 * panel, the high halves one of the odd panel. Elements beyond the matrices are 0. */
#ifndef TENSOR_ARRANGE_H
#define TENSOR_ARRANGE_H

#include <spica_meet.h>

#include "tensor_rounds.h"

_Static_assert(TENSOR_PER_WORD <= 2,
               "[other core.tensor_operand] words of operands must have one or two elements");

enum {
    TENSOR_RUN = 4, /* steps along k that a warp arranges at a time */
    REGISTER_BYTES = 4 * TENSOR_LANES,
    ELEMENT_BYTES = 4 / TENSOR_PER_WORD,
};

#if SPICA_TENSOR_OPERAND_BITS == 32
typedef uint32_t TensorElement;
#else
typedef uint16_t TensorElement;
#endif

/* An element, or 0 outside the matrix. */
SPICA_INLINE uint32_t tensor_element(const char *at, uint32_t pitch, uint32_t rows,
                                     uint32_t columns, uint32_t row, uint32_t column)
{
    const uint32_t is_inside = (row < rows) & (column < columns);
    const uint32_t index = spica_minu(row, rows - 1) * pitch + spica_minu(column, columns - 1);
    return ((const TensorElement *)at)[index] & -is_inside;
}

SPICA_INLINE uint32_t tensor_of_a(uint32_t row, uint32_t column)
{
    return tensor_element(TENSOR->a, TENSOR->a_pitch, TENSOR->m, TENSOR->k, row, column);
}

SPICA_INLINE uint32_t tensor_of_b(uint32_t row, uint32_t column)
{
    return tensor_element(TENSOR->b, TENSOR->b_pitch, TENSOR->k, TENSOR->n, row, column);
}

/* Words of A and B at a place: elements that follow each other along k. */
SPICA_INLINE uint32_t tensor_word_of_a(uint32_t row, uint32_t column)
{
    const uint32_t word = tensor_of_a(row, column);
    return TENSOR_PER_WORD == 1 ? word : word | tensor_of_a(row, column + 1) << 16;
}

SPICA_INLINE uint32_t tensor_word_of_b(uint32_t row, uint32_t column)
{
    const uint32_t word = tensor_of_b(row, column);
    return TENSOR_PER_WORD == 1 ? word : word | tensor_of_b(row + 1, column) << 16;
}

/* Arranges a step of a panel of A: 8 rows from `row` on, the columns of a step from `column` on. */
SPICA_INLINE void tensor_arrange_a(uint32_t row, uint32_t column, char *to)
{
    const uint32_t own = row + vx_thread_id(), pitch = TENSOR->a_pitch;
    if (row + 8 > TENSOR->m || column + TENSOR_DEPTH > TENSOR->k || pitch % TENSOR_PER_WORD) {
        const char *end = to + FRAGMENT_BYTES;
#pragma unroll 1
        for (; to != end; to += REGISTER_BYTES, column += TENSOR_PER_WORD)
            *(uint32_t *)to = tensor_word_of_a(own, column);
        return;
    }
    const uint32_t *from = (const uint32_t *)(TENSOR->a + (own * pitch + column) * ELEMENT_BYTES);
    uint32_t words[8];
#pragma unroll
    for (int r = 0; r < 8; r++) words[r] = from[r];
#pragma unroll
    for (int r = 0; r < 8; r++) *(uint32_t *)(to + r * REGISTER_BYTES) = words[r];
}

/* Arranges a step of two panels of B: its rows from `row` on, 16 columns from `column` on. */
SPICA_INLINE void tensor_arrange_b(uint32_t row, uint32_t column, char *even, char *odd)
{
    const uint32_t own = column + 2 * vx_thread_id(), pitch = TENSOR->b_pitch;
    if (row + TENSOR_DEPTH > TENSOR->k || column + 16 > TENSOR->n || pitch % TENSOR_PER_WORD) {
#pragma unroll 1
        for (const char *end = even + FRAGMENT_BYTES; even != end; row += TENSOR_PER_WORD) {
            *(uint32_t *)even = tensor_word_of_b(row, own);
            *(uint32_t *)odd = tensor_word_of_b(row, own + 1);
            even += REGISTER_BYTES, odd += REGISTER_BYTES;
        }
        return;
    }
    const char *from = TENSOR->b + (row * pitch + own) * ELEMENT_BYTES;
#if SPICA_TENSOR_OPERAND_BITS == 32
#pragma unroll
    for (int r = 0; r < 8; r++, from += ELEMENT_BYTES * pitch) {
        *(uint32_t *)(even + r * REGISTER_BYTES) = ((const uint32_t *)from)[0];
        *(uint32_t *)(odd + r * REGISTER_BYTES) = ((const uint32_t *)from)[1];
        SPICA_ANEW(from);
    }
#else
#pragma unroll 1
    for (const char *end = even + FRAGMENT_BYTES; even != end;) {
        uint32_t words[8];
#pragma unroll
        for (int r = 0; r < 8; r++, from += 2 * pitch) {
            words[r] = *(const uint32_t *)from;
            SPICA_ANEW(from);
        }
#pragma unroll
        for (int r = 0; r < 8; r += 2) {
            const int at = r / 2 * REGISTER_BYTES;
            *(uint32_t *)(even + at) = words[r] << 16 >> 16 | words[r + 1] << 16;
            *(uint32_t *)(odd + at) = words[r] >> 16 | words[r + 1] >> 16 << 16;
        }
        even += 4 * REGISTER_BYTES, odd += 4 * REGISTER_BYTES;
    }
#endif
}

/* Runs of steps in a panel. */
SPICA_INLINE uint32_t tensor_runs(void)
{
    return TENSOR_BLOCKS(tensor_steps(), TENSOR_RUN);
}

/* All panels of A: the warps take runs of panels in turn. */
SPICA_INLINE void tensor_arrange_all_a(void)
{
#pragma unroll 1
    for (uint32_t item = tensor_warp();; item += TENSOR_WARPS) {
        const uint32_t panel = item / tensor_runs();
        if (panel >= tensor_tiles_down() * TENSOR_DOWN)
            return;
        uint32_t step = item % tensor_runs() * TENSOR_RUN, end = tensor_steps();
        char *to = TENSOR->a_fragments + (panel * end + step) * FRAGMENT_BYTES + 4 * vx_thread_id();
        end = spica_minu(end, step + TENSOR_RUN);
#pragma unroll 1
        for (; step < end; step++, to += FRAGMENT_BYTES)
            tensor_arrange_a(8 * panel, step * TENSOR_DEPTH, to);
    }
}

/* All panels of B, in pairs. */
SPICA_INLINE void tensor_arrange_all_b(void)
{
#pragma unroll 1
    for (uint32_t item = tensor_warp();; item += TENSOR_WARPS) {
        const uint32_t pair = item / tensor_runs();
        uint32_t tile = pair / TENSOR_ACROSS;
        if (tile >= tensor_tiles_across())
            return;
        SPICA_ANEW(tile);
        uint32_t step = item % tensor_runs() * TENSOR_RUN, end = tensor_steps();
        const uint32_t panel = (2 * tile * TENSOR_ACROSS + pair % TENSOR_ACROSS) * end + step;
        char *even = TENSOR->b_fragments + panel * FRAGMENT_BYTES + 4 * vx_thread_id();
        char *odd = even + TENSOR_ACROSS * end * FRAGMENT_BYTES;
        end = spica_minu(end, step + TENSOR_RUN);
#pragma unroll 1
        for (; step < end; step++, even += FRAGMENT_BYTES, odd += FRAGMENT_BYTES)
            tensor_arrange_b(step * TENSOR_DEPTH, 16 * pair, even, odd);
    }
}

/* Arranges both operands; they are complete for all warps and for the DMA after it. */
SPICA_INLINE void tensor_arrange(void)
{
    tensor_arrange_all_a();
    tensor_arrange_all_b();
    vx_fence();
    spica_meet(0, SPICA_WARPS);
}

#endif
