/* Vortex v2 names of definitions in spica.h. */
#ifndef VX_INTRINSICS_H
#define VX_INTRINSICS_H

#include "spica.h"

#define RISCV_CUSTOM0 0x0B
#define RISCV_CUSTOM1 0x2B
#define RISCV_CUSTOM2 0x5B
#define RISCV_CUSTOM3 0x7B

#define VX_CSR_THREAD_ID SPICA_CSR_THREAD_ID
#define VX_CSR_WARP_ID SPICA_CSR_WARP_ID
#define VX_CSR_CORE_ID SPICA_CSR_CORE_ID
#define VX_CSR_ACTIVE_WARPS SPICA_CSR_WARP_MASK
#define VX_CSR_ACTIVE_THREADS SPICA_CSR_THREAD_MASK
#define VX_CSR_NUM_THREADS SPICA_CSR_NUM_THREADS
#define VX_CSR_NUM_WARPS SPICA_CSR_NUM_WARPS
#define VX_CSR_NUM_CORES SPICA_CSR_NUM_CORES
#define VX_CSR_MHARTID SPICA_CSR_MHARTID
#define VX_CSR_MSCRATCH SPICA_CSR_MSCRATCH
#define VX_CSR_MCYCLE SPICA_CSR_MCYCLE
#define VX_CSR_MINSTRET SPICA_CSR_MINSTRET

/* These are int there, so that they compare with negative numbers. */
#define vx_thread_id() ((int)vx_thread_id())
#define vx_warp_id() ((int)vx_warp_id())
#define vx_core_id() ((int)vx_core_id())
#define vx_hart_id() ((int)vx_hart_id())
#define vx_num_threads() ((int)vx_num_threads())
#define vx_num_warps() ((int)vx_num_warps())
#define vx_num_cores() ((int)vx_num_cores())
#define vx_active_threads() ((int)vx_thread_mask())
#define vx_active_warps() ((int)vx_warp_mask())

#define csr_read(csr)                                                            \
    ({                                                                           \
        uint32_t spica_value_;                                                   \
        __asm__ volatile("csrr %0, %1" : "=r"(spica_value_) : "i"(csr) : "memory"); \
        spica_value_;                                                            \
    })
#define csr_write(csr, value) \
    __asm__ volatile("csrw %0, %1" : : "i"(csr), "rK"((uint32_t)(value)) : "memory")

/* Splits off the threads without the condition. The machine ignores the bit that distinguishes the
 * two splits, so the condition is inverted. */
SPICA_INLINE uint32_t vx_split_n(uint32_t condition)
{
    return vx_split(!condition);
}

#endif
