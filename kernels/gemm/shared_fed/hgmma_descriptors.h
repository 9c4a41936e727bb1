/* Descriptors of the DMA for operands that lie within the matrices, a register of the DMA per lane.
 *
 * Lanes access the registers of the DMA in their order. One store of a warp therefore writes a
 * descriptor and starts it, and one addition turns it into the next: parts of an operand lie in
 * regular distances, and so do those of the next step. */
#ifndef HGMMA_DESCRIPTORS_H
#define HGMMA_DESCRIPTORS_H

#include <spica_tiles.h>

#include "hgmma_sizes.h"

#define HGMMA_LANE_(name) ((SPICA_DMA_##name - SPICA_DMA_DRAM) / 4)

enum {
    /* Registers from the first up to START, which starts a load by 0. */
    HGMMA_DESCRIPTOR_WORDS = HGMMA_LANE_(START) + 1,
    /* Parts lie in regular distances if each is in a bank of its own. */
    HGMMA_IS_REGULAR = SPICA_CORES <= HGMMA_BANKS && HGMMA_ACROSS <= HGMMA_BANKS,
};
_Static_assert(SPICA_THREADS >= HGMMA_DESCRIPTOR_WORDS,
               "[larger core.threads] a descriptor has a register per lane");

/* Words of the lanes: addresses of the registers, descriptor of the first part of the next step,
 * difference between parts, and difference from the part after the last to the first of the
 * following step. Lanes without a register of their own write the pitch in DRAM again, so that all
 * lanes are active. */
typedef struct {
    uint32_t dma[SPICA_THREADS];
    uint32_t first[SPICA_THREADS], part[SPICA_THREADS], step[SPICA_THREADS];
} HgmmaDescriptors;

#define HGMMA_DESCRIPTORS_(parts, rows, bytes)                                              \
    {                                                                                       \
        .dma = {[0 ... SPICA_THREADS - 1] = SPICA_DMA_DRAM_PITCH,                            \
                [HGMMA_LANE_(DRAM)] = SPICA_DMA_DRAM,                                        \
                [HGMMA_LANE_(LOCAL)] = SPICA_DMA_LOCAL,                                      \
                [HGMMA_LANE_(LOCAL_PITCH)] = SPICA_DMA_LOCAL_PITCH,                          \
                [HGMMA_LANE_(SHAPE)] = SPICA_DMA_SHAPE,                                      \
                [HGMMA_LANE_(FILL)] = SPICA_DMA_FILL,                                        \
                [HGMMA_LANE_(START)] = SPICA_DMA_START},                                     \
        .first = {[HGMMA_LANE_(LOCAL_PITCH)] = (bytes),                                      \
                  [HGMMA_LANE_(SHAPE)] = (rows) | (bytes) << 16,                             \
                  [HGMMA_LANE_(FILL)] = (rows) | (bytes) << 16},                             \
        .part = {[HGMMA_LANE_(LOCAL)] = HGMMA_BANK_BYTES},                                   \
        .step = {[HGMMA_LANE_(LOCAL)] = HGMMA_SLOT_BYTES - (parts) * HGMMA_BANK_BYTES},      \
    }

/* The words that all products have in common are constants. */
static HgmmaDescriptors hgmma_a_ = HGMMA_DESCRIPTORS_(SPICA_CORES, HGMMA_CORE_M, HGMMA_A_ROW);
static HgmmaDescriptors hgmma_b_ = HGMMA_DESCRIPTORS_(HGMMA_ACROSS, HGMMA_DEPTH, HGMMA_B_ROW);

SPICA_INLINE volatile HgmmaDescriptors *hgmma_words(HgmmaDescriptors *of)
{
    volatile HgmmaDescriptors *at;
    __asm__ volatile("lla %0, %1" : "=r"(at) : "i"(of));
    return at;
}

/* Sets the distances in DRAM: parts are `unit` bytes apart, steps `advance` bytes. */
SPICA_INLINE void hgmma_prepare(HgmmaDescriptors *of, uint32_t parts, uint32_t unit,
                                uint32_t advance)
{
    volatile HgmmaDescriptors *at = hgmma_words(of);
    at->part[HGMMA_LANE_(DRAM)] = unit;
    at->step[HGMMA_LANE_(DRAM)] = advance - parts * unit;
}

/* Sets the first part of a run. */
SPICA_INLINE void hgmma_describe(HgmmaDescriptors *of, uint32_t dram, uint32_t pitch, uint32_t local)
{
    volatile HgmmaDescriptors *at = hgmma_words(of);
    at->first[HGMMA_LANE_(DRAM)] = dram;
    at->first[HGMMA_LANE_(DRAM_PITCH)] = pitch;
    at->first[HGMMA_LANE_(LOCAL)] = local;
    for (int lane = HGMMA_DESCRIPTOR_WORDS; lane < SPICA_THREADS; lane++)
        at->first[lane] = pitch;
}

#define HGMMA_START_(of, parts)                                          \
    "\n\t.rept %c[" #parts "]\n\tsw %[" #of "_words], 0(%[dma])\n\t"      \
    "add %[" #of "_words], %[" #of "_words], %[" #of "_part]\n\t.endr\n\t" \
    "add %[" #of "_words], %[" #of "_words], %[" #of "_step]\n\t"         \
    "sw %[" #of "_words], %[first](%[" #of "_at])"

/* Starts the loads of all parts of both operands, and advances to the next step. */
SPICA_INLINE void hgmma_start(void)
{
    const uint32_t lane = 4 * vx_thread_id();
    const uint32_t a_at = (uint32_t)hgmma_words(&hgmma_a_) + lane;
    const uint32_t b_at = (uint32_t)hgmma_words(&hgmma_b_) + lane;
    const uint32_t dma = ((volatile HgmmaDescriptors *)a_at)->dma[0];
    uint32_t a_words = ((volatile HgmmaDescriptors *)a_at)->first[0];
    uint32_t b_words = ((volatile HgmmaDescriptors *)b_at)->first[0];
    const uint32_t a_part = ((volatile HgmmaDescriptors *)a_at)->part[0];
    const uint32_t b_part = ((volatile HgmmaDescriptors *)b_at)->part[0];
    const uint32_t a_step = ((volatile HgmmaDescriptors *)a_at)->step[0];
    const uint32_t b_step = ((volatile HgmmaDescriptors *)b_at)->step[0];
    __asm__ volatile(HGMMA_START_(a, cores) HGMMA_START_(b, across)
                     : [a_words] "+&r"(a_words), [b_words] "+&r"(b_words)
                     : [a_part] "r"(a_part), [b_part] "r"(b_part), [a_step] "r"(a_step),
                       [b_step] "r"(b_step), [a_at] "r"(a_at), [b_at] "r"(b_at),
                       [dma] "r"(dma), [cores] "i"(SPICA_CORES),
                       [across] "i"(HGMMA_ACROSS),
                       [first] "i"(__builtin_offsetof(HgmmaDescriptors, first))
                     : "memory");
}

#endif
