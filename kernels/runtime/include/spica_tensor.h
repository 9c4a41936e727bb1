/* Tensor instructions with fixed registers.
 *
 * spica_hmma, in warps of 8 threads: threads hold rows of A as 16 FP16 values in f0-f7, columns of B
 * in f8-f15, and C in f16-f23. The compiler moves the arrays there. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_TENSOR_H
#define SPICA_TENSOR_H

#define SPICA_REGISTER_(name, number, value) \
    register float name __asm__("f" #number) = (value)

/* c += a * b for one 8 x 8 x 16 tile, accumulator set 0. */
SPICA_INLINE void spica_hmma(float c[8], const float a[8], const float b[8])
{
    SPICA_REGISTER_(a0, 0, a[0]);
    SPICA_REGISTER_(a1, 1, a[1]);
    SPICA_REGISTER_(a2, 2, a[2]);
    SPICA_REGISTER_(a3, 3, a[3]);
    SPICA_REGISTER_(a4, 4, a[4]);
    SPICA_REGISTER_(a5, 5, a[5]);
    SPICA_REGISTER_(a6, 6, a[6]);
    SPICA_REGISTER_(a7, 7, a[7]);
    SPICA_REGISTER_(b0, 8, b[0]);
    SPICA_REGISTER_(b1, 9, b[1]);
    SPICA_REGISTER_(b2, 10, b[2]);
    SPICA_REGISTER_(b3, 11, b[3]);
    SPICA_REGISTER_(b4, 12, b[4]);
    SPICA_REGISTER_(b5, 13, b[5]);
    SPICA_REGISTER_(b6, 14, b[6]);
    SPICA_REGISTER_(b7, 15, b[7]);
    SPICA_REGISTER_(c0, 16, c[0]);
    SPICA_REGISTER_(c1, 17, c[1]);
    SPICA_REGISTER_(c2, 18, c[2]);
    SPICA_REGISTER_(c3, 19, c[3]);
    SPICA_REGISTER_(c4, 20, c[4]);
    SPICA_REGISTER_(c5, 21, c[5]);
    SPICA_REGISTER_(c6, 22, c[6]);
    SPICA_REGISTER_(c7, 23, c[7]);
    __asm__ volatile(SPICA_INSN("x0, x0, x0", SPICA_INSN_HMMA)
                     : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3), "+f"(c4), "+f"(c5), "+f"(c6), "+f"(c7)
                     : "f"(a0), "f"(a1), "f"(a2), "f"(a3), "f"(a4), "f"(a5), "f"(a6), "f"(a7),
                       "f"(b0), "f"(b1), "f"(b2), "f"(b3), "f"(b4), "f"(b5), "f"(b6), "f"(b7));
    c[0] = c0, c[1] = c1, c[2] = c2, c[3] = c3, c[4] = c4, c[5] = c5, c[6] = c6, c[7] = c7;
}

#endif
