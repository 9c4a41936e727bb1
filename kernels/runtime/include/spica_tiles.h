/* Copies of tiles by the DMA, for kernels that keep float registers by hand.
 *
 * One lane of the calling warp writes the registers of the DMA. The others keep their registers.
 * Addresses in shared memory are byte offsets from its start. */
#ifndef SPICA_TILES_H
#define SPICA_TILES_H

#include <spica.h>
#include <spica_parallel.h>

#define SPICA_ONE_LANE_ "li %[t], 1\n\t" SPICA_INSN("x0, %[t], x0", SPICA_INSN_VX_TMC) "\n\t"
#define SPICA_ALL_LANES_ "li %[t], -1\n\t" SPICA_INSN("x0, %[t], x0", SPICA_INSN_VX_TMC)
#define SPICA_OF_DMA_(name) (SPICA_DMA_##name - SPICA_DMA_DRAM)

/* Sets what the following loads have in common: bytes between their rows on both sides, and the
 * rows (bits 15:0) and bytes of a row (31:16) up to which they are filled with zeros, or 0. */
SPICA_INLINE void spica_tile_pitches(uint32_t dram_pitch, uint32_t local_pitch, uint32_t fill)
{
    uint32_t t;
    __asm__ volatile(SPICA_ONE_LANE_ "sw %[dram], %[dram_at](%[dma])\n\t"
                     "sw %[local], %[local_at](%[dma])\n\tsw %z[fill], %[fill_at](%[dma])\n\t"
                     SPICA_ALL_LANES_
                     : [t] "=&r"(t)
                     : [dma] "r"(SPICA_DMA_DRAM), [dram] "r"(dram_pitch), [local] "r"(local_pitch),
                       [fill] "rJ"(fill), [dram_at] "i"(SPICA_OF_DMA_(DRAM_PITCH)),
                       [local_at] "i"(SPICA_OF_DMA_(LOCAL_PITCH)), [fill_at] "i"(SPICA_OF_DMA_(FILL))
                     : "memory");
}

/* Starts the load of `shape`: rows in bits 15:0, bytes of a row in 31:16. */
SPICA_INLINE void spica_tile_load(uint32_t local, uint32_t dram, uint32_t shape)
{
    uint32_t t;
    __asm__ volatile(SPICA_ONE_LANE_
                     "sw %[dram], 0(%[dma])\n\tsw %[local], %[local_at](%[dma])\n\t"
                     "sw %[shape], %[shape_at](%[dma])\n\tsw x0, %[start_at](%[dma])\n\t"
                     SPICA_ALL_LANES_
                     : [t] "=&r"(t)
                     : [dma] "r"(SPICA_DMA_DRAM), [dram] "r"(dram), [local] "r"(local),
                       [shape] "r"(shape), [local_at] "i"(SPICA_OF_DMA_(LOCAL)),
                       [shape_at] "i"(SPICA_OF_DMA_(SHAPE)), [start_at] "i"(SPICA_OF_DMA_(START))
                     : "memory");
}

/* Sleeps until the DMA has done `loads` loads since reset, as vx_wait. */
SPICA_INLINE void spica_tile_await(uint32_t loads)
{
    vx_wait(SPICA_CONSTANT(SPICA_DMA_LOADS_DONE), loads);
}

#endif
