/* Attention on a matrix unit: the unit multiplies, and the cores compute the softmax of one block
 * while the unit computes the scores of the next.
 *
 * In a step all warps meet twice: when all have read their scores and the maxima of all are known, and
 * when P is complete and the next scores are in shared memory. */
#include "attention_commands.h"
#include "attention_softmax.h"
#include <spica_meet.h>

/* Commands of a warp: scores, products P V, loads. */
enum { SCORES = 1, ADDS = 2, LOADS = 4 };

/* Commands of warp 0 of a core. */
#define ATTENTION_ROLE(core)                                                     \
    (((core) == 0 ? SCORES : 0) | ((core) == 1 % SPICA_CORES ? ADDS : 0) |       \
     ((core) == 2 % SPICA_CORES ? LOADS : 0))

/* Runs statements in one thread of the warp with a role. */
#define ATTENTION_COMMAND(which, ...)    \
    if (role & (which)) {                \
        SPICA_IF (vx_thread_id() == 0) { \
            __VA_ARGS__;                 \
        } SPICA_END_IF                   \
    }

SPICA_INLINE int attention_has_queries(const AttentionPlace *at)
{
    return GROUPS == SPICA_CORES || at->core < GROUPS;
}

/* Softmax of a step up to P, with the meeting at which the maxima of all warps are known. */
SPICA_INLINE void attention_soften(const Attention *attention, const AttentionStep *step,
                                   AttentionPlace at, AttentionRows *rows, uint32_t number,
                                   const int role)
{
    const float scale = attention->scale_log2;
    AttentionScores scores;
    if (attention_has_queries(&at)) {
        const uint32_t place = ATTENTION_PLACE(number, S);
        if ((int32_t)(step->key + BLOCK_KEYS) > attention_seen(attention, step->query))
            attention_mask(attention, step, &at, place);
        scores = attention_read(&at, place);
        attention_offer(&at, &scores, rows, scale, number);
    }
    ATTENTION_COMMAND(ADDS, attention_await_powers(number))
    spica_meet(0, SPICA_WARPS);
    if (attention_has_queries(&at)) {
        attention_raise(&at, rows, scale, number);
        attention_powers(&at, &scores, rows, scale, number);
    }
    if (role & SCORES)
        attention_score(attention);
    if (role & LOADS)
        attention_load_keys(attention);
}

/* End of a block of queries, with a meeting at which the sums of all warps are known. */
SPICA_INLINE void attention_end(const Attention *attention, const AttentionStep *step,
                                AttentionPlace at, AttentionRows *rows, uint32_t number)
{
    if (attention_has_queries(&at))
        attention_write(&at, ATTENTION_PLACE(number, SUMS), rows->sum);
    spica_meet(0, SPICA_WARPS);
    if (attention_has_queries(&at) && at.warp == 0)
        attention_finish(attention, step, &at, rows, number);
    attention_clear(rows);
}

/* All steps of a warp. Each role has code of its own, as registers are few. */
SPICA_INLINE void attention_all(const Attention *attention, AttentionPlace at, const int role)
{
    if (role & SCORES)
        attention_start(attention);
    ATTENTION_COMMAND(SCORES, attention_await_scores(0))
    spica_meet(0, SPICA_WARPS);
    AttentionStep step = attention_first(attention);
    AttentionRows rows;
    attention_clear(&rows);
    for (uint32_t number = 0; !attention_is_over(attention, &step); number++) {
        SPICA_ANEW(at.core);
        SPICA_ANEW(at.set);
        SPICA_ANEW(at.warp);
        attention_soften(attention, &step, at, &rows, number, role);
        if (attention_is_last(&step))
            attention_end(attention, &step, at, &rows, number);
        ATTENTION_COMMAND(SCORES, attention_await_scores(number + 1))
        spica_meet(0, SPICA_WARPS);
        if (role & ADDS)
            attention_multiply_values(attention, &step, number);
        if (role & LOADS)
            attention_load_values(attention);
        attention_next(attention, &step);
    }
    ATTENTION_COMMAND(ADDS, virgo_fence(0))
}

SPICA_INLINE void attention_run(void)
{
    spica_begin();
    const Attention *attention = spica_arguments();
    const AttentionPlace at = attention_place();
    if (at.warp || at.core > 2)
        attention_all(attention, at, 0);
    else if (at.core == 0)
        attention_all(attention, at, ATTENTION_ROLE(0));
    else if (at.core == 1)
        attention_all(attention, at, ATTENTION_ROLE(1));
    else
        attention_all(attention, at, ATTENTION_ROLE(2));
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
