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

#define HGMMA_NARROW_(even) \
    "fsw f" #even ", 0(%0)\n\tadd %0, %0, %1\n\tfmv.w.x f" #even ", x0\n\t"
#define HGMMA_NEXT_(even, odd) HGMMA_PACK_(even, odd) "fmv.w.x f" #odd ", x0\n\t"

/* FP16: a row of the warp is 32 bytes. Each row is packed before the previous one is stored, and C is
 * 0 afterwards: the next product of the warp starts soon. */
SPICA_INLINE void hgmma_store_narrow(uint32_t at, uint32_t pitch)
{
    __asm__ volatile(HGMMA_NEXT_(0, 1) HGMMA_NEXT_(2, 3) HGMMA_NARROW_(0)
                     HGMMA_NEXT_(4, 5) HGMMA_NARROW_(2)
                     HGMMA_NEXT_(6, 7) HGMMA_NARROW_(4)
                     HGMMA_NEXT_(8, 9) HGMMA_NARROW_(6)
                     HGMMA_NEXT_(10, 11) HGMMA_NARROW_(8)
                     HGMMA_NEXT_(12, 13) HGMMA_NARROW_(10)
                     HGMMA_NEXT_(14, 15) HGMMA_NARROW_(12)
                     HGMMA_NEXT_(16, 17) HGMMA_NARROW_(14)
                     HGMMA_NEXT_(18, 19) HGMMA_NARROW_(16)
                     HGMMA_NEXT_(20, 21) HGMMA_NARROW_(18)
                     HGMMA_NEXT_(22, 23) HGMMA_NARROW_(20)
                     HGMMA_NEXT_(24, 25) HGMMA_NARROW_(22)
                     HGMMA_NEXT_(26, 27) HGMMA_NARROW_(24)
                     HGMMA_NEXT_(28, 29) HGMMA_NARROW_(26)
                     HGMMA_NEXT_(30, 31) HGMMA_NARROW_(28) HGMMA_NARROW_(30)
                     : "+&r"(at) : "r"(pitch) : "memory", SPICA_HGMMA_C_);
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

/* Where a warp stores its elements. */
typedef struct {
    uint32_t row, column; /* of the first one */
    uint32_t at, pitch;   /* address of the thread's first elements, and bytes between rows */
    uint32_t is_wide;
    uint32_t fits; /* rows of words within C */
} HgmmaPlace;

/* Place of the elements whose first row and column are these. */
SPICA_INLINE HgmmaPlace hgmma_place_of(uint32_t row, uint32_t column)
{
    const uint32_t is_wide = HGMMA->options & HGMMA_WIDE, pitch = HGMMA->c_pitch;
    const uint32_t bytes = is_wide ? 4 : 2;
    HgmmaPlace place = {.row = row, .column = column + 2 * vx_thread_id(), .is_wide = is_wide};
    place.pitch = pitch * bytes;
    place.at = (uint32_t)HGMMA->c + (row * pitch + place.column) * bytes;
    place.fits = (row + HGMMA_SIDE <= HGMMA->m) & (column + HGMMA_SIDE <= HGMMA->n) &
                 ((is_wide >> 1) | ~pitch);
    SPICA_ANEW(place.at); /* computed here and not later */
    SPICA_ANEW(place.pitch);
    SPICA_ANEW(place.fits);
    return place;
}

/* Stores the elements of C, and sets C to 0. */
SPICA_INLINE void hgmma_store(HgmmaPlace place)
{
    if (place.fits && !place.is_wide) {
        hgmma_store_narrow(place.at, place.pitch);
        return;
    }
    if (!place.is_wide)
        hgmma_pack();
    if (place.fits)
        hgmma_store_wide(place.at, place.pitch);
    else
        hgmma_store_ragged(place.row, place.column, place.is_wide);
    spica_hgmma_clear();
}

#endif
