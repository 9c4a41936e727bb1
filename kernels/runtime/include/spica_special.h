/* Special functions as single instructions; spica_sinf and spica_cosf take radians. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_SPECIAL_H
#define SPICA_SPECIAL_H

#define SPICA_SPECIAL_(name, ...)                                                     \
    SPICA_INLINE float name(float x)                                                  \
    {                                                                                 \
        float result;                                                                 \
        __asm__(SPICA_INSN("%0, %1, f0", __VA_ARGS__) : "=f"(result) : "f"(x));       \
        return result;                                                                \
    }

SPICA_SPECIAL_(spica_rcpf, SPICA_INSN_FRCP_S)
SPICA_SPECIAL_(spica_rsqrtf, SPICA_INSN_FRSQRT_S)
SPICA_SPECIAL_(spica_exp2f, SPICA_INSN_FEXP2_S)
SPICA_SPECIAL_(spica_log2f, SPICA_INSN_FLOG2_S)
SPICA_SPECIAL_(spica_sinf, SPICA_INSN_FSIN_S)
SPICA_SPECIAL_(spica_cosf, SPICA_INSN_FCOS_S)

#endif
