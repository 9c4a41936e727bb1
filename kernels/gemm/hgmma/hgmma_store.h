/* Store of a warp's 16 x 16 elements of C from its registers: lane l has columns 2 l and 2 l + 1 of
 * row r in f(2 r) and f(2 r + 1). */
#ifndef HGMMA_STORE_H
#define HGMMA_STORE_H

#include "hgmma_sizes.h"

/* Columns 2 l and 2 l + 1 of a row as one word, in place of the first. */
#define HGMMA_PACK_(even, odd) \
    SPICA_INSN("f" #even ", f" #even ", f" #odd, SPICA_INSN_FPACK_H_S) "\n\t"

SPICA_INLINE void hgmma_pack(void)
{
    __asm__ volatile(HGMMA_PACK_(0, 1) HGMMA_PACK_(2, 3) HGMMA_PACK_(4, 5) HGMMA_PACK_(6, 7)
                     HGMMA_PACK_(8, 9) HGMMA_PACK_(10, 11) HGMMA_PACK_(12, 13) HGMMA_PACK_(14, 15)
                     HGMMA_PACK_(16, 17) HGMMA_PACK_(18, 19) HGMMA_PACK_(20, 21) HGMMA_PACK_(22, 23)
                     HGMMA_PACK_(24, 25) HGMMA_PACK_(26, 27) HGMMA_PACK_(28, 29) HGMMA_PACK_(30, 31)
                     : : : SPICA_HGMMA_C_);
}

#define HGMMA_NARROW_(even) "fsw f" #even ", 0(%0)\n\tadd %0, %0, %1\n\t"

/* FP16: a row of the warp is 32 bytes. */
SPICA_INLINE void hgmma_store_narrow(uint32_t at, uint32_t pitch)
{
    __asm__ volatile(HGMMA_NARROW_(0) HGMMA_NARROW_(2) HGMMA_NARROW_(4) HGMMA_NARROW_(6)
                     HGMMA_NARROW_(8) HGMMA_NARROW_(10) HGMMA_NARROW_(12) HGMMA_NARROW_(14)
                     HGMMA_NARROW_(16) HGMMA_NARROW_(18) HGMMA_NARROW_(20) HGMMA_NARROW_(22)
                     HGMMA_NARROW_(24) HGMMA_NARROW_(26) HGMMA_NARROW_(28) HGMMA_NARROW_(30)
                     : "+&r"(at) : "r"(pitch) : "memory");
}

#define HGMMA_WIDE_(even, odd) \
    "fsw f" #even ", 0(%0)\n\tfsw f" #odd ", 4(%0)\n\tadd %0, %0, %1\n\t"

/* FP32. */
SPICA_INLINE void hgmma_store_wide(uint32_t at, uint32_t pitch)
{
    __asm__ volatile(HGMMA_WIDE_(0, 1) HGMMA_WIDE_(2, 3) HGMMA_WIDE_(4, 5) HGMMA_WIDE_(6, 7)
                     HGMMA_WIDE_(8, 9) HGMMA_WIDE_(10, 11) HGMMA_WIDE_(12, 13) HGMMA_WIDE_(14, 15)
                     HGMMA_WIDE_(16, 17) HGMMA_WIDE_(18, 19) HGMMA_WIDE_(20, 21) HGMMA_WIDE_(22, 23)
                     HGMMA_WIDE_(24, 25) HGMMA_WIDE_(26, 27) HGMMA_WIDE_(28, 29) HGMMA_WIDE_(30, 31)
                     : "+&r"(at) : "r"(pitch) : "memory");
}

/* Stores one element of each lane whose column is within C. */
SPICA_INLINE void hgmma_put(uint32_t row, uint32_t column, uint32_t bits, uint32_t is_wide)
{
    const uint32_t element = row * HGMMA->c_pitch + column;
    SPICA_IF (column < HGMMA->n) {
        if (is_wide)
            ((volatile uint32_t *)HGMMA->c)[element] = bits;
        else
            ((volatile uint16_t *)HGMMA->c)[element] = (uint16_t)bits;
    } SPICA_END_IF
}

#define HGMMA_PUT_(r, even, odd)                                                       \
    if (row + (r) < HGMMA->m) {                                                        \
        uint32_t first_, second_;                                                      \
        __asm__ volatile("fmv.x.w %0, f" #even "\n\tfmv.x.w %1, f" #odd                \
                         : "=&r"(first_), "=r"(second_));                              \
        hgmma_put(row + (r), column, first_, is_wide);                                 \
        hgmma_put(row + (r), column + 1, is_wide ? second_ : first_ >> 16, is_wide);   \
    }

/* At the edges of C, and for rows of FP16 that are not aligned to words. */
SPICA_INLINE void hgmma_store_ragged(uint32_t row, uint32_t column, uint32_t is_wide)
{
    HGMMA_PUT_(0, 0, 1) HGMMA_PUT_(1, 2, 3) HGMMA_PUT_(2, 4, 5) HGMMA_PUT_(3, 6, 7)
    HGMMA_PUT_(4, 8, 9) HGMMA_PUT_(5, 10, 11) HGMMA_PUT_(6, 12, 13) HGMMA_PUT_(7, 14, 15)
    HGMMA_PUT_(8, 16, 17) HGMMA_PUT_(9, 18, 19) HGMMA_PUT_(10, 20, 21) HGMMA_PUT_(11, 22, 23)
    HGMMA_PUT_(12, 24, 25) HGMMA_PUT_(13, 26, 27) HGMMA_PUT_(14, 28, 29) HGMMA_PUT_(15, 30, 31)
}

/* Stores the elements whose first row and column are these. */
SPICA_INLINE void hgmma_store(uint32_t row, uint32_t column)
{
    const uint32_t is_wide = HGMMA->options & HGMMA_WIDE, pitch = HGMMA->c_pitch;
    const uint32_t lane = vx_thread_id(), bytes = is_wide ? 4 : 2;
    const int fits = row + HGMMA_SIDE <= HGMMA->m && column + HGMMA_SIDE <= HGMMA->n;
    if (!is_wide)
        hgmma_pack();
    if (!fits || (!is_wide && (pitch & 1))) {
        hgmma_store_ragged(row, column + 2 * lane, is_wide);
        return;
    }
    const uint32_t at = (uint32_t)HGMMA->c + (row * pitch + column + 2 * lane) * bytes;
    if (is_wide)
        hgmma_store_wide(at, 4 * pitch);
    else
        hgmma_store_narrow(at, 2 * pitch);
}

#endif
