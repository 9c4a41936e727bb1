/* Intrinsics for instructions that compilers do not support; thread, warp and core numbers. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_INTRINSICS_H
#define SPICA_INTRINSICS_H

#include <stddef.h>
#include <stdint.h>

#define SPICA_INLINE static inline __attribute__((always_inline))
/* Value equal in all threads of a warp, for programs of Vortex. */
#ifndef __UNIFORM__
#define __UNIFORM__
#endif
#define SPICA_TEXT_(...) #__VA_ARGS__
#define SPICA_TEXT(...) SPICA_TEXT_(__VA_ARGS__)
/* Text of an R-type instruction: operands rd, rs1 and rs2, and its name in spica.h. */
#define SPICA_INSN(operands, ...) ".insn r " SPICA_TEXT(__VA_ARGS__) ", " operands

/* Functions of a unit that this machine does not have: a use is an error of the compiler, which says
 * what is missing. */
#define SPICA_LACKING(sentence) SPICA_INLINE __attribute__((unavailable(sentence)))

/* All reads are volatile, although most values are constant: if a function wakes other threads by
 * vx_tmc, the value must be read after that, in each thread. */
#define SPICA_CSR_READ_(name, number)                                   \
    SPICA_INLINE uint32_t name(void)                                    \
    {                                                                   \
        uint32_t value;                                                 \
        __asm__ volatile("csrr %0, " SPICA_TEXT(number) : "=r"(value)); \
        return value;                                                   \
    }

SPICA_CSR_READ_(vx_thread_id, SPICA_CSR_THREAD_ID)
SPICA_CSR_READ_(vx_warp_id, SPICA_CSR_WARP_ID)
SPICA_CSR_READ_(vx_core_id, SPICA_CSR_CORE_ID)
SPICA_CSR_READ_(vx_hart_id, SPICA_CSR_MHARTID)
SPICA_CSR_READ_(vx_num_threads, SPICA_CSR_NUM_THREADS)
SPICA_CSR_READ_(vx_num_warps, SPICA_CSR_NUM_WARPS)
SPICA_CSR_READ_(vx_num_cores, SPICA_CSR_NUM_CORES)
SPICA_CSR_READ_(spica_cluster_id, SPICA_CSR_CLUSTER_ID)
SPICA_CSR_READ_(spica_num_clusters, SPICA_CSR_NUM_CLUSTERS)
SPICA_CSR_READ_(vx_thread_mask, SPICA_CSR_THREAD_MASK)
SPICA_CSR_READ_(vx_warp_mask, SPICA_CSR_WARP_MASK)
SPICA_CSR_READ_(spica_cycles, SPICA_CSR_MCYCLE)
SPICA_CSR_READ_(spica_instructions, SPICA_CSR_MINSTRET)

/* Sets the warp's thread mask; 0 ends the warp. Registers of woken threads are undefined, except
 * those set by start-up code, and the compiler does not model this. Call it first in a function
 * that is never inlined, as launches do. */
SPICA_INLINE void vx_tmc(uint32_t mask)
{
    __asm__ volatile(SPICA_INSN("x0, %0, x0", SPICA_INSN_VX_TMC) : : "r"(mask) : "memory");
}

SPICA_INLINE void vx_tmc_zero(void)
{
    __asm__ volatile(SPICA_INSN("x0, x0, x0", SPICA_INSN_VX_TMC) : : : "memory");
}

SPICA_INLINE void vx_tmc_one(void)
{
    vx_tmc(1);
}

/* Starts warps 1 to warps - 1 at `entry`, each with thread 0 alone. */
SPICA_INLINE void vx_wspawn(uint32_t warps, void (*entry)(void))
{
    __asm__ volatile(SPICA_INSN("x0, %0, %1", SPICA_INSN_VX_WSPAWN)
                     : : "r"(warps), "r"(entry) : "memory");
}

/* Splits the warp by bit 0 of each thread's `condition`; pass the result to vx_join. */
SPICA_INLINE uint32_t vx_split(uint32_t condition)
{
    uint32_t token;
    __asm__ volatile(SPICA_INSN("%0, %1, x0", SPICA_INSN_VX_SPLIT)
                     : "=r"(token) : "r"(condition) : "memory");
    return token;
}

SPICA_INLINE void vx_join(uint32_t token)
{
    __asm__ volatile(SPICA_INSN("x0, %0, x0", SPICA_INSN_VX_JOIN) : : "r"(token) : "memory");
}

/* Keeps the threads with bit 0 of `condition` set; if there are none, restores `mask`. */
SPICA_INLINE void vx_pred(uint32_t condition, uint32_t mask)
{
    __asm__ volatile(SPICA_INSN("x0, %0, %1", SPICA_INSN_VX_PRED)
                     : : "r"(condition), "r"(mask) : "memory");
}

/* Waits until `warps` warps have arrived at barrier `id`. */
SPICA_INLINE void vx_barrier(uint32_t id, uint32_t warps)
{
    __asm__ volatile(SPICA_INSN("x0, %0, %1", SPICA_INSN_VX_BAR) : : "r"(id), "r"(warps) : "memory");
}

#ifdef SPICA_LACKS_VX_WAIT
#define SPICA_WAIT_FUNCTION_ SPICA_LACKING(SPICA_LACKS_VX_WAIT)
#else
#define SPICA_WAIT_FUNCTION_ SPICA_INLINE
#endif

/* Sleeps until a unit register has a value: `running` of a DMA port or a matrix unit at most `n`;
 * `loads_done`, `stores_done` or `computes_done` at or past `n`. Any other address is a fault. The
 * stores and command words of the warp come first. A warp that sleeps executes nothing. A counter
 * must be less than 32,768 before or past `n`. */
SPICA_WAIT_FUNCTION_ void vx_wait(uint32_t address, uint32_t n)
{
    __asm__ volatile(SPICA_INSN("x0, %0, %1", SPICA_INSN_VX_WAIT)
                     : : "r"(address), "r"(n) : "memory");
}

/* Waits for the warp's own stores and invalidates the core's cached data. */
SPICA_INLINE void vx_fence(void)
{
    __asm__ volatile("fence" : : : "memory");
}

/* Markers of the measured region: from the first begin to the last end executed by any warp. A
 * program without `spica_begin` is measured from main on. */
SPICA_INLINE void spica_begin(void)
{
    __asm__ volatile(".pushsection .spica.markers,\"\",@progbits\n\t.byte 1\n\t.popsection\n\t"
                     "slti x0, x1, " SPICA_TEXT(SPICA_MARKER_BEGIN) : : : "memory");
}

SPICA_INLINE void spica_end(void)
{
    __asm__ volatile("slti x0, x1, " SPICA_TEXT(SPICA_MARKER_END) : : : "memory");
}

/* Address of shared memory. */
SPICA_INLINE void *spica_shared(void)
{
    return (void *)SPICA_SHARED_BASE;
}

/* Window of a machine of several clusters to the shared memory of one of them, also the own. A fence
 * orders accesses to a word at this address and at that of spica_shared. */
SPICA_INLINE void *spica_cluster_shared(uint32_t cluster)
{
    return (void *)(SPICA_CLUSTER_WINDOWS + cluster * SPICA_CLUSTER_WINDOW_BYTES);
}

/* Argument words that the host placed for this run. */
SPICA_INLINE const void *spica_arguments(void)
{
    return (const void *)SPICA_ARGUMENTS;
}

#endif
