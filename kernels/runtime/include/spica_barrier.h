/* Transaction barriers in shared memory, as mbarrier in PTX.
 *
 * A phase completes when all its arrivals and all bytes that it expects have come; then the next
 * phase begins, of the other parity. Each active thread executes its operation. A warp that waits
 * sleeps, so no thread of it may still have to arrive. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_BARRIER_H
#define SPICA_BARRIER_H

#ifdef SPICA_LACKS_MBARRIER_INIT
#define SPICA_MBARRIER_FUNCTION_ SPICA_LACKING(SPICA_LACKS_MBARRIER_INIT)
#else
#define SPICA_MBARRIER_FUNCTION_ SPICA_INLINE
#endif

/* In shared memory. Programs must not access its bytes otherwise. */
typedef struct {
    uint64_t bits;
} __attribute__((aligned(8))) spica_mbarrier;

#define SPICA_MBARRIER_EFFECT_(name, operand, ...)                                              \
    SPICA_MBARRIER_FUNCTION_ void name(spica_mbarrier *barrier, uint32_t operand)               \
    {                                                                                           \
        __asm__ volatile(SPICA_INSN("x0, %0, %1", __VA_ARGS__)                                  \
                         : : "r"(barrier), "r"(operand) : "memory");                            \
    }
#define SPICA_MBARRIER_RESULT_(name, operand, ...)                                              \
    SPICA_MBARRIER_FUNCTION_ uint32_t name(spica_mbarrier *barrier, uint32_t operand)           \
    {                                                                                           \
        uint32_t result;                                                                        \
        __asm__ volatile(SPICA_INSN("%0, %1, %2", __VA_ARGS__)                                  \
                         : "=r"(result) : "r"(barrier), "r"(operand) : "memory");               \
        return result;                                                                          \
    }

/* Makes a barrier with this number of arrivals in each phase, 1 to 2^20 - 1; and ends it. */
SPICA_MBARRIER_EFFECT_(spica_mbarrier_init, arrivals, SPICA_INSN_MBARRIER_INIT)
SPICA_MBARRIER_FUNCTION_ void spica_mbarrier_inval(spica_mbarrier *barrier)
{
    __asm__ volatile(SPICA_INSN("x0, %0, x0", SPICA_INSN_MBARRIER_INVAL)
                     : : "r"(barrier) : "memory");
}

/* Arrives this number of times, with `drop` also in all phases to come; returns the parity of the
 * phase. With `expect` it arrives once and the phase expects so many bytes more. */
SPICA_MBARRIER_RESULT_(spica_mbarrier_arrive, arrivals, SPICA_INSN_MBARRIER_ARRIVE)
SPICA_MBARRIER_RESULT_(spica_mbarrier_arrive_drop, arrivals, SPICA_INSN_MBARRIER_ARRIVE_DROP)
SPICA_MBARRIER_RESULT_(spica_mbarrier_arrive_expect, bytes, SPICA_INSN_MBARRIER_ARRIVE_EXPECT_TX)
SPICA_MBARRIER_RESULT_(spica_mbarrier_arrive_drop_expect, bytes,
                      SPICA_INSN_MBARRIER_ARRIVE_DROP_EXPECT_TX)

/* The phase expects so many bytes more; so many of them have come. */
SPICA_MBARRIER_EFFECT_(spica_mbarrier_expect, bytes, SPICA_INSN_MBARRIER_EXPECT_TX)
SPICA_MBARRIER_EFFECT_(spica_mbarrier_complete, bytes, SPICA_INSN_MBARRIER_COMPLETE_TX)

/* Whether the phase of this parity has completed: now; after a limited time; waits until it has. */
SPICA_MBARRIER_RESULT_(spica_mbarrier_test, parity, SPICA_INSN_MBARRIER_TEST_WAIT_PARITY)
SPICA_MBARRIER_RESULT_(spica_mbarrier_try, parity, SPICA_INSN_MBARRIER_TRY_WAIT_PARITY)
SPICA_MBARRIER_EFFECT_(spica_mbarrier_wait, parity, SPICA_INSN_MBARRIER_WAIT_PARITY)

#endif
