/* Conversions between FP32 and 16-bit formats, each a single instruction. Those to 16 bits round to
 * nearest, ties to even. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_CONVERT_H
#define SPICA_CONVERT_H

#define SPICA_PACK_(name, ...)                                                                    \
    SPICA_INLINE uint32_t name(float low, float high)                                             \
    {                                                                                             \
        float result;                                                                             \
        __asm__(SPICA_INSN("%0, %1, %2", __VA_ARGS__) : "=f"(result) : "f"(low), "f"(high));      \
        return spica_bits(result);                                                                \
    }
#define SPICA_UNPACK_(name, ...)                                                                  \
    SPICA_INLINE float name(uint32_t pair)                                                        \
    {                                                                                             \
        float result;                                                                             \
        __asm__(SPICA_INSN("%0, %1, f0", __VA_ARGS__) : "=f"(result) : "f"(spica_float(pair)));   \
        return result;                                                                            \
    }

/* Two numbers in one word, `low` in bits 15:0. */
SPICA_PACK_(spica_pack_fp16, SPICA_INSN_FPACK_H_S)
SPICA_PACK_(spica_pack_bf16, SPICA_INSN_FPACK_BF16_S)

/* Number in bits 15:0, and in bits 31:16. */
SPICA_UNPACK_(spica_low_fp16, SPICA_INSN_FUNPACKL_S_H)
SPICA_UNPACK_(spica_high_fp16, SPICA_INSN_FUNPACKH_S_H)
SPICA_UNPACK_(spica_low_bf16, SPICA_INSN_FUNPACKL_S_BF16)
SPICA_UNPACK_(spica_high_bf16, SPICA_INSN_FUNPACKH_S_BF16)

/* One number; `fcvt.h.s` and `fcvt.bf16.s` of RISC-V, whose field rs2 is a part of the encoding. */
SPICA_INLINE uint16_t spica_to_fp16(float x)
{
    float result;
    __asm__(SPICA_INSN("%0, %1, f0", SPICA_INSN_FCVT_H_S) : "=f"(result) : "f"(x));
    return (uint16_t)spica_bits(result);
}

SPICA_INLINE uint16_t spica_to_bf16(float x)
{
    float result;
    __asm__(SPICA_INSN("%0, %1, f8", SPICA_INSN_FCVT_BF16_S) : "=f"(result) : "f"(x));
    return (uint16_t)spica_bits(result);
}

#endif
