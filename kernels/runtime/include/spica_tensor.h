/* Tensor instructions with fixed registers.
 *
 * spica_hmma, in warps of 8 threads: threads hold rows of A as 16 FP16 values in f0-f7, columns of B
 * in f8-f15, and C in f16-f23. The compiler moves the arrays there.
 *
 * spica_hgmma, of cores with these instructions: A and B are in shared memory, C in f0-f31, a tile
 * of 16 x 16 FP32 values. The compiler does not track C. Between SPICA_HGMMA_CLEAR or _LOAD and the
 * last _STORE a program must use no floating-point values. Thread t has columns 2 t and 2 t + 1
 * of row r in registers f(2 r) and f(2 r + 1).
 *
 *     spica_hgmma_clear();
 *     for (...) {
 *         ... wait until a and b are in shared memory ...
 *         spica_hgmma(a, b);
 *         spica_hgmma_wait();
 *         ... now they may be overwritten ...
 *     }
 *     SPICA_HGMMA_STORE_FP16(0, row_0 + 4 * thread);
 *
 * A is 16 rows of 64 bytes. B has 16 columns and in all 1024 bytes, with FP16 32 rows. Both begin at
 * a multiple of 32 bytes. Their rows are dense. With core.tensor_layout=swizzle128 they are 128 bytes
 * apart and end within the same 128 bytes; the word at address p of such rows is stored at
 * spica_swizzled(p). */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_TENSOR_H
#define SPICA_TENSOR_H

#ifdef SPICA_LACKS_HMMA
#define SPICA_HMMA_FUNCTION_ SPICA_LACKING(SPICA_LACKS_HMMA)
#else
#define SPICA_HMMA_FUNCTION_ SPICA_INLINE
#endif
#ifdef SPICA_LACKS_HGMMA
#define SPICA_HGMMA_FUNCTION_ SPICA_LACKING(SPICA_LACKS_HGMMA)
#else
#define SPICA_HGMMA_FUNCTION_ SPICA_INLINE
#endif

#define SPICA_REGISTER_(name, number, value) \
    register float name __asm__("f" #number) = (value)

/* c += a * b for one 8 x 8 x 16 tile, accumulator set 0. */
SPICA_HMMA_FUNCTION_ void spica_hmma(float c[8], const float a[8], const float b[8])
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

/* Declares that the statement changes C, so that the compiler keeps no value there. */
#define SPICA_HGMMA_C_                                                                            \
    "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14", \
        "f15", "f16", "f17", "f18", "f19", "f20", "f21", "f22", "f23", "f24", "f25", "f26", "f27", \
        "f28", "f29", "f30", "f31"

#define SPICA_CLEAR_(a, b, c, d)                                                  \
    "fmv.w.x f" #a ", x0\n\tfmv.w.x f" #b ", x0\n\tfmv.w.x f" #c ", x0\n\tfmv.w.x f" #d \
    ", x0\n\t"

/* C := 0. */
SPICA_INLINE void spica_hgmma_clear(void)
{
    __asm__ volatile(SPICA_CLEAR_(0, 1, 2, 3) SPICA_CLEAR_(4, 5, 6, 7) SPICA_CLEAR_(8, 9, 10, 11)
                     SPICA_CLEAR_(12, 13, 14, 15) SPICA_CLEAR_(16, 17, 18, 19)
                     SPICA_CLEAR_(20, 21, 22, 23) SPICA_CLEAR_(24, 25, 26, 27)
                     SPICA_CLEAR_(28, 29, 30, 31) : : : SPICA_HGMMA_C_);
}

/* Address in shared memory at which core.tensor_layout=swizzle128 has the byte of an address: bits 4
 * to 6 are XORed with bits 7 to 9. */
SPICA_INLINE uint32_t spica_swizzled(uint32_t address)
{
    const uint32_t units = SPICA_SWIZZLE_ROW_BYTES / SPICA_SWIZZLE_UNIT_BYTES;
    return address ^ address / SPICA_SWIZZLE_ROW_BYTES % units * SPICA_SWIZZLE_UNIT_BYTES;
}

/* Starts C := A B + C; a and b are addresses in shared memory. It returns at once. A second product
 * of the warp starts when the first is complete. A and B must not be written until the wait, or until
 * the second has started. */
SPICA_HGMMA_FUNCTION_ void spica_hgmma(uint32_t a, uint32_t b)
{
    __asm__ volatile(SPICA_INSN("x0, %0, %1", SPICA_INSN_HGMMA)
                     : : "r"(a), "r"(b) : "memory", SPICA_HGMMA_C_);
}

/* Waits for all products of the warp; it must have started one since the last wait. */
SPICA_HGMMA_FUNCTION_ void spica_hgmma_wait(void)
{
    __asm__ volatile(SPICA_INSN("x0, x0, x0", SPICA_INSN_HGMMA_WAIT) : : : "memory");
}

/* Row r of C, a constant, at `address`: of each thread two FP32 values. */
#define SPICA_HGMMA_LOAD(row, address)                                      \
    __asm__ volatile("flw f%0, 0(%2)\n\tflw f%1, 4(%2)"                     \
                     : : "i"(2 * (row)), "i"(2 * (row) + 1), "r"(address)   \
                     : "memory", SPICA_HGMMA_C_)
#define SPICA_HGMMA_STORE(row, address)                                     \
    __asm__ volatile("fsw f%0, 0(%2)\n\tfsw f%1, 4(%2)"                     \
                     : : "i"(2 * (row)), "i"(2 * (row) + 1), "r"(address) : "memory")
/* The same as two FP16 values in one word; row r of C is lost. */
#define SPICA_HGMMA_STORE_FP16(row, address)                                      \
    __asm__ volatile(SPICA_INSN("f%0, f%0, f%1", SPICA_INSN_FPACK_H_S)            \
                     "\n\tfsw f%0, 0(%2)"                                         \
                     : : "i"(2 * (row)), "i"(2 * (row) + 1), "r"(address)         \
                     : "memory", SPICA_HGMMA_C_)

#endif
