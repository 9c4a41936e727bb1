/* Fragments in registers: A in f0-f7, B in f8-f15, accumulators of even columns in f16-f23 and of
 * odd columns in f24-f31.
 *
 * No other code of a thread uses float registers, so the values stay there between the statements
 * below. */
#ifndef TENSOR_FRAGMENTS_H
#define TENSOR_FRAGMENTS_H

#include "tensor_sizes.h"

#define TENSOR_OPERANDS_ \
    "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14", \
        "f15"
#define TENSOR_ACCUMULATORS_ \
    "f16", "f17", "f18", "f19", "f20", "f21", "f22", "f23", "f24", "f25", "f26", "f27", "f28", \
        "f29", "f30", "f31"

/* Loads of a register each, one aligned row of shared memory for the warp. */
#define TENSOR_LOAD_A_                                                                           \
    "flw f0, %[at]+0(%[a])\n\tflw f1, %[at]+32(%[a])\n\tflw f2, %[at]+64(%[a])\n\t"              \
    "flw f3, %[at]+96(%[a])\n\tflw f4, %[at]+128(%[a])\n\tflw f5, %[at]+160(%[a])\n\t"           \
    "flw f6, %[at]+192(%[a])\n\tflw f7, %[at]+224(%[a])\n\t"
#define TENSOR_LOAD_B_                                                                           \
    "flw f8, %[at]+0(%[b])\n\tflw f9, %[at]+32(%[b])\n\tflw f10, %[at]+64(%[b])\n\t"             \
    "flw f11, %[at]+96(%[b])\n\tflw f12, %[at]+128(%[b])\n\tflw f13, %[at]+160(%[b])\n\t"        \
    "flw f14, %[at]+192(%[b])\n\tflw f15, %[at]+224(%[b])\n\t"

/* Loads the fragments of a step, of B those of the even columns. `at` is a constant. */
#define TENSOR_FETCH(place, offset)                                                              \
    __asm__ volatile(TENSOR_LOAD_B_ TENSOR_LOAD_A_                                               \
                     : : [a] "r"((place).a), [b] "r"((place).even), [at] "i"(offset)             \
                     : TENSOR_OPERANDS_, "memory")

/* Multiplies a step whose fragments are fetched, even columns and then odd columns. */
#define TENSOR_MULTIPLY(place, offset)                                                           \
    __asm__ volatile(SPICA_INSN("x0, x0, x0", SPICA_INSN_HMMA) "\n\t" TENSOR_LOAD_B_             \
                     SPICA_INSN("x1, x0, x0", SPICA_INSN_HMMA)                                   \
                     : : [b] "r"((place).odd), [at] "i"(offset)                                  \
                     : TENSOR_OPERANDS_, TENSOR_ACCUMULATORS_, "memory")

/* Addresses of the lane's words in the fragments of a step. */
typedef struct {
    uint32_t a, even, odd;
} TensorPlace;

SPICA_INLINE TensorPlace tensor_first_place(void)
{
    const uint32_t lane = SPICA_SHARED_BASE + 4 * vx_thread_id(), across = tensor_across();
    return (TensorPlace){
        .a = lane + tensor_a_place(tensor_down()),
        .even = lane + tensor_b_place(across),
        .odd = lane + tensor_b_place(across + TENSOR_ACROSS),
    };
}

SPICA_INLINE void tensor_move(TensorPlace *place, uint32_t bytes)
{
    place->a += bytes;
    place->even += bytes;
    place->odd += bytes;
}

#define TENSOR_ZERO_(n) "fmv.w.x f" #n ", x0\n\t"

SPICA_INLINE void tensor_clear(void)
{
    __asm__ volatile(TENSOR_ZERO_(16) TENSOR_ZERO_(17) TENSOR_ZERO_(18) TENSOR_ZERO_(19)
                     TENSOR_ZERO_(20) TENSOR_ZERO_(21) TENSOR_ZERO_(22) TENSOR_ZERO_(23)
                     TENSOR_ZERO_(24) TENSOR_ZERO_(25) TENSOR_ZERO_(26) TENSOR_ZERO_(27)
                     TENSOR_ZERO_(28) TENSOR_ZERO_(29) TENSOR_ZERO_(30) TENSOR_ZERO_(31)
                     : : : TENSOR_ACCUMULATORS_);
}

#endif
