/* Loads of Q, K and V by the DMA, commanded by one warp.
 *
 * After the barrier that ends step t, the warp loads K of step t + 3, with Q if a block of queries
 * begins, and V of step t + 1. The scores of step t + 1 and P V of step t - 2 are complete then, so
 * these places are free. The warp waits for the loads before the next barrier. */
#ifndef ATTENTION_LOADS_H
#define ATTENTION_LOADS_H

#include "attention_steps.h"

/* Byte offset of the rows of K and V of a step, which heads of a group share. */
SPICA_INLINE uint32_t attention_head(const Attention *attention, const AttentionStep *step)
{
    return step->problem / attention->group * attention->keys * ROW_BYTES;
}

/* Starts a load with the pitch and shape that are set. */
SPICA_INLINE void attention_load(const char *from, uint32_t local)
{
    spica_store_register(SPICA_OF_UNIT(DMA, DRAM), (uint32_t)from);
    spica_store_register(SPICA_OF_UNIT(DMA, LOCAL), local);
    spica_store_register(SPICA_OF_UNIT(DMA, START), 0);
}

/* Sets the distance of rows in DRAM, and their number. */
SPICA_INLINE void attention_shape(uint32_t pitch, uint32_t rows)
{
    spica_store_register(SPICA_OF_UNIT(DMA, DRAM_PITCH), pitch);
    spica_store_register(SPICA_OF_UNIT(DMA, SHAPE), rows | ATTENTION_ANEW(ROW_BYTES << 16));
}

SPICA_INLINE void attention_usual_shape(void)
{
    attention_shape(ATTENTION_ANEW(ROW_BYTES), ATTENTION_ANEW(BLOCK_KEYS));
}

/* Loads a block of K or V. */
SPICA_INLINE void attention_load_block(const Attention *attention, const AttentionStep *step,
                                       const char *from, uint32_t local)
{
    attention_shape(ATTENTION_ANEW(ROW_BYTES), attention_keys(attention, step));
    attention_load(from + attention_head(attention, step) + step->key * ROW_BYTES, local);
}

/* Loads Q of a block: queries with an equal place in their sets follow each other. */
SPICA_INLINE void attention_load_queries(const Attention *attention, const AttentionStep *step,
                                         uint32_t block)
{
    const uint32_t rows = attention_rows(attention, step);
    uint32_t local = ATTENTION_PLACE(block, Q);
    const char *from =
        attention->q + (step->problem * attention->queries + step->query) * ROW_BYTES;
#pragma clang loop unroll(disable)
    for (uint32_t i = 0; i < PER_LANE && i < rows; i++) {
        attention_shape(PER_LANE * ROW_BYTES, (rows - i + PER_LANE - 1) / PER_LANE);
        attention_load(from, local);
        local += SETS * ROW_BYTES;
        from += ROW_BYTES;
    }
}

/* Loads K of a step, even if `number` is, and Q if a block of queries begins. */
SPICA_INLINE void attention_load_keys(const Attention *attention, const AttentionStep *step,
                                      uint32_t number, uint32_t block)
{
    if (attention_is_over(attention, step))
        return;
    SPICA_IF (vx_thread_id() == 0) {
        if (step->key == 0)
            attention_load_queries(attention, step, block);
        attention_load_block(attention, step, attention->k, ATTENTION_PLACE(number, K));
        attention_usual_shape();
    } SPICA_END_IF
}

/* Loads V of a step. */
SPICA_INLINE void attention_load_values(const Attention *attention, const AttentionStep *step,
                                        uint32_t third)
{
    if (attention_is_over(attention, step))
        return;
    SPICA_IF (vx_thread_id() == 0) {
        attention_load_block(attention, step, attention->v, ATTENTION_THIRD(third, V));
        attention_usual_shape();
    } SPICA_END_IF
}

/* Loads K of the step that follows a step by `steps`. */
SPICA_INLINE void attention_load_keys_after(const Attention *attention, AttentionStep step,
                                            uint32_t steps, uint32_t number, uint32_t block)
{
    attention_advance(attention, &step, &block, steps);
    attention_load_keys(attention, &step, number, block);
}

/* Loads after the barrier of a step, in the usual case: all blocks have the same head, at offset
 * `head`, and BLOCK_KEYS keys. */
SPICA_INLINE void attention_load_usual(const Attention *attention, uint32_t key, uint32_t phase,
                                       uint32_t head)
{
    const uint32_t from = head + key * ROW_BYTES;
    const uint32_t next = attention_next_phase(phase);
    SPICA_IF (vx_thread_id() == 0) {
        attention_load(attention->k + from + 3 * BLOCK_KEYS * ROW_BYTES,
                       ATTENTION_PLACE(next, K));
        attention_load(attention->v + from + BLOCK_KEYS * ROW_BYTES,
                       ATTENTION_THIRD(next >> 1, V));
    } SPICA_END_IF
}

/* The same in all other cases. */
SPICA_INLINE void attention_load_any(const Attention *attention, AttentionStep step,
                                     uint32_t phase, uint32_t block)
{
    const uint32_t next = attention_next_phase(phase);
    attention_advance(attention, &step, &block, 1);
    attention_load_values(attention, &step, next >> 1);
    attention_load_keys_after(attention, step, 2, next, block);
}

/* Loads before the first step: Q, K of two steps. */
SPICA_INLINE void attention_start_loads(const Attention *attention)
{
    const AttentionStep step = attention_first(attention);
    SPICA_IF (vx_thread_id() == 0) {
        spica_store_register(SPICA_OF_UNIT(DMA, LOCAL_PITCH), ROW_BYTES);
        spica_store_register(SPICA_OF_UNIT(DMA, FILL), 0);
    } SPICA_END_IF
    attention_load_keys(attention, &step, 0, 0);
    attention_load_keys_after(attention, step, 1, 1, 0);
}

/* Loads after the first scores: K of step 2, and V of step 0. */
SPICA_INLINE void attention_continue_loads(const Attention *attention)
{
    const AttentionStep step = attention_first(attention);
    attention_load_values(attention, &step, 0);
    attention_load_keys_after(attention, step, 2, 0, 0);
}

SPICA_INLINE void attention_await_loads(void)
{
    SPICA_IF (vx_thread_id() == 0) {
        virgo_dma_fence(0);
    } SPICA_END_IF
}

#endif
