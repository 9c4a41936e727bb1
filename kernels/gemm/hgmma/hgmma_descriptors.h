/* Descriptors of the DMA for operands that lie within the matrices, a register of the DMA per lane.
 *
 * The registers of the DMA from DRAM to START follow each other, and lanes access them in their
 * order. One store of a warp therefore writes a descriptor and starts it, and one addition turns it
 * into the next: parts of an operand lie in regular distances, and so do those of the next step. */
#ifndef HGMMA_DESCRIPTORS_H
#define HGMMA_DESCRIPTORS_H

#include <spica_tiles.h>

#include "hgmma_sizes.h"

#define HGMMA_LANE_(name) ((SPICA_DMA_##name - SPICA_DMA_DRAM) / 4)

enum {
    /* Lanes up to the register that starts a load by 0. */
    HGMMA_DESCRIPTOR_LANES = HGMMA_LANE_(START) + 1,
    /* Parts lie in regular distances if each is in a bank of its own. */
    HGMMA_IS_REGULAR = SPICA_CORES <= HGMMA_BANKS && HGMMA_ACROSS <= HGMMA_BANKS,
};
_Static_assert(SPICA_THREADS >= HGMMA_DESCRIPTOR_LANES, "a descriptor has a register per lane");

/* Words of the lanes: descriptor of the first part of the next step, difference between parts, and
 * difference from the part after the last to the first of the following step. */
typedef struct {
    uint32_t first[SPICA_THREADS], part[SPICA_THREADS], step[SPICA_THREADS];
} HgmmaDescriptors;

static HgmmaDescriptors hgmma_a_ __attribute__((section(".unset"), used));
static HgmmaDescriptors hgmma_b_ __attribute__((section(".unset"), used));

SPICA_INLINE volatile HgmmaDescriptors *hgmma_words(HgmmaDescriptors *of)
{
    volatile HgmmaDescriptors *at;
    __asm__ volatile("lla %0, %1" : "=r"(at) : "i"(of));
    return at;
}

/* Sets what all steps have in common. Parts are `unit` bytes apart in DRAM, steps `advance` bytes;
 * a part has `rows` rows of `bytes` bytes. */
SPICA_INLINE void hgmma_prepare(HgmmaDescriptors *of, uint32_t parts, uint32_t unit,
                                uint32_t advance, uint32_t rows, uint32_t bytes)
{
    volatile HgmmaDescriptors *at = hgmma_words(of);
    for (int lane = 0; lane < HGMMA_DESCRIPTOR_LANES; lane++)
        at->first[lane] = at->part[lane] = at->step[lane] = 0;
    at->first[HGMMA_LANE_(LOCAL_PITCH)] = bytes;
    at->first[HGMMA_LANE_(SHAPE)] = at->first[HGMMA_LANE_(FILL)] = rows | bytes << 16;
    at->part[HGMMA_LANE_(DRAM)] = unit;
    at->part[HGMMA_LANE_(LOCAL)] = HGMMA_BANK_BYTES;
    at->step[HGMMA_LANE_(DRAM)] = advance - parts * unit;
    at->step[HGMMA_LANE_(LOCAL)] = HGMMA_SLOT_BYTES - parts * HGMMA_BANK_BYTES;
}

static __attribute__((noinline)) void hgmma_begin_descriptors(void)
{
    const Hgmma *product = HGMMA;
    const uint32_t a_pitch = product->a_pitch * HGMMA_BYTES, b_pitch = product->b_pitch * HGMMA_BYTES;
    hgmma_prepare(&hgmma_a_, SPICA_CORES, HGMMA_CORE_M * a_pitch, HGMMA_A_ROW, HGMMA_CORE_M,
                  HGMMA_A_ROW);
    hgmma_prepare(&hgmma_b_, HGMMA_ACROSS, HGMMA_B_ROW, HGMMA_DEPTH * b_pitch, HGMMA_DEPTH,
                  HGMMA_B_ROW);
}

/* Sets the first part of a tile of C. */
SPICA_INLINE void hgmma_describe(HgmmaDescriptors *of, uint32_t dram, uint32_t pitch, uint32_t local)
{
    volatile HgmmaDescriptors *at = hgmma_words(of);
    at->first[HGMMA_LANE_(DRAM)] = dram;
    at->first[HGMMA_LANE_(DRAM_PITCH)] = pitch;
    at->first[HGMMA_LANE_(LOCAL)] = local;
}

/* Continues at the first slot after the last. */
SPICA_INLINE void hgmma_begin_ring(void)
{
    hgmma_words(&hgmma_a_)->first[HGMMA_LANE_(LOCAL)] -= HGMMA_SLOTS * HGMMA_SLOT_BYTES;
    hgmma_words(&hgmma_b_)->first[HGMMA_LANE_(LOCAL)] -= HGMMA_SLOTS * HGMMA_SLOT_BYTES;
}

/* Starts the loads of all parts of an operand, and advances to the next step. */
SPICA_INLINE void hgmma_start(HgmmaDescriptors *of, int parts)
{
    const uint32_t lane = 4 * vx_thread_id();
    uint32_t t, words, difference;
    __asm__ volatile("li %[t], %[lanes]\n\t" SPICA_INSN("x0, %[t], x0", SPICA_INSN_VX_TMC) "\n\t"
                     "lw %[words], %[first](%[at])\n\tlw %[difference], %[part](%[at])\n\t"
                     ".rept %c[parts]\n\tsw %[words], 0(%[dma])\n\t"
                     "add %[words], %[words], %[difference]\n\t.endr\n\t"
                     "lw %[difference], %[step](%[at])\n\tadd %[words], %[words], %[difference]\n\t"
                     "sw %[words], %[first](%[at])\n\t" SPICA_ALL_LANES_
                     : [t] "=&r"(t), [words] "=&r"(words), [difference] "=&r"(difference)
                     : [at] "r"((uint32_t)hgmma_words(of) + lane), [dma] "r"(SPICA_DMA_DRAM + lane),
                       [lanes] "i"((1 << HGMMA_DESCRIPTOR_LANES) - 1), [parts] "i"(parts),
                       [first] "i"(__builtin_offsetof(HgmmaDescriptors, first)),
                       [part] "i"(__builtin_offsetof(HgmmaDescriptors, part)),
                       [step] "i"(__builtin_offsetof(HgmmaDescriptors, step))
                     : "memory");
}

#endif
