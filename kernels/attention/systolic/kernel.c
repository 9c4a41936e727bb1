/* Attention on a matrix unit: the unit multiplies, and the cores compute the softmax of one block
 * while the unit computes the scores of the next.
 *
 * In a step all warps meet three times: when its scores are in shared memory, when the maxima of all
 * warps are, and when P is. Warp 0 of core 0 commands the unit between the steps. */
#include "attention_commands.h"
#include "attention_softmax.h"

/* Numbers of cores and warps are read again at each use, as registers are few. */
SPICA_INLINE int attention_has_queries(void)
{
    return vx_core_id() < GROUPS;
}

SPICA_INLINE int attention_commands(void)
{
    return (vx_core_id() | vx_warp_id()) == 0;
}

/* Softmax of a step. Cores without queries only meet the others. */
SPICA_INLINE void attention_soften(const Attention *attention, const AttentionStep *step,
                                   AttentionRows *rows, uint32_t number)
{
    const float scale = attention->scale_log2;
    AttentionScores scores;
    AttentionRows old = *rows;
    if (attention_has_queries()) {
        const uint32_t place = ATTENTION_PLACE(number, S);
        if ((int32_t)(step->key + BLOCK_KEYS) > attention_seen(attention, step->query))
            attention_mask(attention, step, place);
        scores = attention_read(place);
        attention_write_maxima(&scores);
    }
    virgo_meet();
    if (attention_has_queries()) {
        attention_raise(rows, scale);
        attention_powers(&scores, rows, &old, scale, number);
    }
    if (attention_is_last(step)) {
        if (attention_has_queries())
            attention_write_sums(rows);
        virgo_meet();
        if (attention_has_queries() && vx_warp_id() == 0)
            attention_finish(attention, step, rows, number);
        attention_clear(rows);
    }
}

SPICA_INLINE void attention_run(void)
{
    spica_begin();
    const Attention *attention = spica_arguments();
    if (attention_commands()) {
        SPICA_IF (vx_thread_id() == 0) {
            attention_start(attention);
        } SPICA_END_IF
    }
    AttentionStep step = attention_first(attention);
    AttentionRows rows;
    attention_clear(&rows);
    for (uint32_t number = 0; !attention_is_over(attention, &step); number++) {
        if (attention_commands()) {
            SPICA_IF (vx_thread_id() == 0) {
                attention_await_scores(number);
            } SPICA_END_IF
        }
        virgo_meet();
        attention_soften(attention, &step, &rows, number);
        virgo_meet();
        if (attention_commands()) {
            SPICA_IF (vx_thread_id() == 0) {
                attention_command(attention, &step, number);
            } SPICA_END_IF
        }
        attention_next(attention, &step);
    }
    if (attention_commands()) {
        SPICA_IF (vx_thread_id() == 0) {
            virgo_fence(0);
        } SPICA_END_IF
    }
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
