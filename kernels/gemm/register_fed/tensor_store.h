/* Store of a warp's elements of C from the accumulators.
 *
 * In lane l, register q of an accumulator has row (l & 5) + (q & 2) and column pair
 * (l & 2) + (q & 1) + (q & 4). The accumulators have the even and the odd column of each pair. */
#ifndef TENSOR_STORE_H
#define TENSOR_STORE_H

#include "tensor_fragments.h"

/* First row and column of a warp or of a lane. */
typedef struct {
    uint32_t row, column;
} TensorCorner;

SPICA_INLINE TensorCorner tensor_warp_corner(uint32_t i, uint32_t j)
{
    return (TensorCorner){
        .row = i * TENSOR_M + 8 * tensor_down(),
        .column = j * TENSOR_N + 16 * tensor_across(),
    };
}

SPICA_INLINE TensorCorner tensor_lane_corner(TensorCorner warp)
{
    const uint32_t lane = vx_thread_id();
    return (TensorCorner){.row = warp.row + (lane & 5), .column = warp.column + 2 * (lane & 2)};
}

#define TENSOR_PACK_(even, odd) SPICA_INSN("f" #even ", f" #even ", f" #odd, SPICA_INSN_FPACK_H_S)

/* FP16, two columns in a word. */
SPICA_INLINE void tensor_store_narrow(char *upper, char *lower)
{
    __asm__ volatile(TENSOR_PACK_(16, 24) "\n\t" TENSOR_PACK_(17, 25) "\n\t"
                     TENSOR_PACK_(20, 28) "\n\t" TENSOR_PACK_(21, 29) "\n\t"
                     TENSOR_PACK_(18, 26) "\n\t" TENSOR_PACK_(19, 27) "\n\t"
                     TENSOR_PACK_(22, 30) "\n\t" TENSOR_PACK_(23, 31) "\n\t"
                     "fsw f16, 0(%0)\n\tfsw f17, 4(%0)\n\tfsw f20, 16(%0)\n\tfsw f21, 20(%0)\n\t"
                     "fsw f18, 0(%1)\n\tfsw f19, 4(%1)\n\tfsw f22, 16(%1)\n\tfsw f23, 20(%1)"
                     : : "r"(upper), "r"(lower) : TENSOR_ACCUMULATORS_, "memory");
}

/* FP32. */
SPICA_INLINE void tensor_store_wide(char *upper, char *lower)
{
    __asm__ volatile("fsw f16, 0(%0)\n\tfsw f24, 4(%0)\n\tfsw f17, 8(%0)\n\tfsw f25, 12(%0)\n\t"
                     "fsw f20, 32(%0)\n\tfsw f28, 36(%0)\n\tfsw f21, 40(%0)\n\tfsw f29, 44(%0)\n\t"
                     "fsw f18, 0(%1)\n\tfsw f26, 4(%1)\n\tfsw f19, 8(%1)\n\tfsw f27, 12(%1)\n\t"
                     "fsw f22, 32(%1)\n\tfsw f30, 36(%1)\n\tfsw f23, 40(%1)\n\tfsw f31, 44(%1)"
                     : : "r"(upper), "r"(lower) : TENSOR_ACCUMULATORS_, "memory");
}

/* Stores one element of each lane, if it is within C. */
#define TENSOR_PUT_(number, q, odd)                                                              \
    {                                                                                            \
        uint32_t bits_;                                                                          \
        if (is_wide)                                                                             \
            __asm__ volatile("fmv.x.w %0, f" #number : "=r"(bits_));                             \
        else                                                                                     \
            __asm__ volatile(SPICA_INSN("f" #number ", f" #number ", f0", SPICA_INSN_FCVT_H_S)   \
                             "\n\tfmv.x.w %0, f" #number                                         \
                             : "=r"(bits_) : : TENSOR_ACCUMULATORS_);                            \
        const uint32_t row_ = at.row + ((q)&2), column_ = at.column + 2 * ((q)&5) + (odd);       \
        SPICA_IF ((row_ < TENSOR->m) & (column_ < TENSOR->n)) {                                  \
            const uint32_t element_ = row_ * TENSOR->c_pitch + column_;                          \
            if (is_wide)                                                                         \
                ((volatile uint32_t *)TENSOR->c)[element_] = bits_;                              \
            else                                                                                 \
                ((volatile uint16_t *)TENSOR->c)[element_] = (uint16_t)bits_;                    \
        } SPICA_END_IF                                                                           \
    }

/* At the edges of C, and for words of FP16 that are not aligned. */
SPICA_INLINE void tensor_store_ragged(TensorCorner at, uint32_t is_wide)
{
    TENSOR_PUT_(16, 0, 0) TENSOR_PUT_(17, 1, 0) TENSOR_PUT_(18, 2, 0) TENSOR_PUT_(19, 3, 0)
    TENSOR_PUT_(20, 4, 0) TENSOR_PUT_(21, 5, 0) TENSOR_PUT_(22, 6, 0) TENSOR_PUT_(23, 7, 0)
    TENSOR_PUT_(24, 0, 1) TENSOR_PUT_(25, 1, 1) TENSOR_PUT_(26, 2, 1) TENSOR_PUT_(27, 3, 1)
    TENSOR_PUT_(28, 4, 1) TENSOR_PUT_(29, 5, 1) TENSOR_PUT_(30, 6, 1) TENSOR_PUT_(31, 7, 1)
}

/* Stores the warp's part of tile (i, j), as far as it is within C. */
SPICA_INLINE void tensor_store(uint32_t i, uint32_t j)
{
    const uint32_t is_wide = TENSOR->options & TENSOR_WIDE, pitch = TENSOR->c_pitch;
    const TensorCorner first = tensor_warp_corner(i, j), at = tensor_lane_corner(first);
    if (first.row >= TENSOR->m || first.column >= TENSOR->n)
        return;
    const int fits = first.row + 8 <= TENSOR->m && first.column + 16 <= TENSOR->n;
    if (!fits || (!is_wide && (pitch & 1))) {
        tensor_store_ragged(at, is_wide);
        return;
    }
    const uint32_t bytes = is_wide ? 4 : 2;
    char *upper = TENSOR->c + (at.row * pitch + at.column) * bytes;
    char *lower = upper + 2 * pitch * bytes;
    if (is_wide)
        tensor_store_wide(upper, lower);
    else
        tensor_store_narrow(upper, lower);
}

#endif
