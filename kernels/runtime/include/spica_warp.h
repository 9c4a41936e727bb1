/* Votes of the threads of a warp, and shuffles between them, as in CUDA.
 *
 * All active threads take part. A thread that reads an inactive one, or one outside of its segment,
 * gets its own value. A segment is `width` adjacent threads, a power of two; with SPICA_THREADS the
 * whole warp is one, also if that is no power of two. Functions with an f are for floats, others for
 * integers. */
#include "spica.h" /* before the guard: includes all headers in order */

#ifndef SPICA_WARP_H
#define SPICA_WARP_H

#ifdef SPICA_LACKS_VX_SHFL_IDX
#define SPICA_WARP_FUNCTION_ SPICA_LACKING(SPICA_LACKS_VX_SHFL_IDX)
#else
#define SPICA_WARP_FUNCTION_ SPICA_INLINE
#endif

/* Instructions of Vortex. A vote counts bit 0 of the predicate. In a shuffle, threads of a segment
 * have equal numbers under `mask`; the largest one that they may read is `clamp` outside of it. */
#define SPICA_VOTE_(name, ...)                                                                  \
    SPICA_WARP_FUNCTION_ uint32_t name(uint32_t predicate)                                      \
    {                                                                                           \
        uint32_t result;                                                                        \
        __asm__ volatile(SPICA_INSN("%0, %1, x0", __VA_ARGS__) : "=r"(result) : "r"(predicate)); \
        return result;                                                                          \
    }
#define SPICA_SHUFFLE_(name, ...)                                                               \
    SPICA_WARP_FUNCTION_ uint32_t name##_selected_(uint32_t value, uint32_t selector)           \
    {                                                                                           \
        uint32_t result;                                                                        \
        __asm__ volatile(SPICA_INSN("%0, %1, %2", __VA_ARGS__)                                  \
                         : "=r"(result) : "r"(value), "r"(selector));                           \
        return result;                                                                          \
    }                                                                                           \
    SPICA_WARP_FUNCTION_ uint32_t name(uint32_t value, uint32_t b, uint32_t clamp, uint32_t mask) \
    {                                                                                           \
        return name##_selected_(value, mask << 12 | clamp << 6 | b);                            \
    }

SPICA_VOTE_(vx_vote_all, SPICA_INSN_VX_VOTE_ALL)
SPICA_VOTE_(vx_vote_any, SPICA_INSN_VX_VOTE_ANY)
SPICA_VOTE_(vx_vote_uni, SPICA_INSN_VX_VOTE_UNI)
SPICA_VOTE_(vx_vote_ballot, SPICA_INSN_VX_VOTE_BALLOT)
SPICA_SHUFFLE_(vx_shfl_up, SPICA_INSN_VX_SHFL_UP)
SPICA_SHUFFLE_(vx_shfl_down, SPICA_INSN_VX_SHFL_DOWN)
SPICA_SHUFFLE_(vx_shfl_bfly, SPICA_INSN_VX_SHFL_BFLY)
SPICA_SHUFFLE_(vx_shfl_idx, SPICA_INSN_VX_SHFL_IDX)

/* Whether the condition holds in all active threads, in any of them, in all or in none of them; and
 * a mask of those in which it holds. */
SPICA_WARP_FUNCTION_ uint32_t spica_all(uint32_t condition)
{
    return vx_vote_all(condition != 0);
}

SPICA_WARP_FUNCTION_ uint32_t spica_any(uint32_t condition)
{
    return vx_vote_any(condition != 0);
}

SPICA_WARP_FUNCTION_ uint32_t spica_uniform(uint32_t condition)
{
    return vx_vote_uni(condition != 0);
}

SPICA_WARP_FUNCTION_ uint32_t spica_ballot(uint32_t condition)
{
    return vx_vote_ballot(condition != 0);
}

#ifdef SPICA_THREADS /* only in programs compiled for one machine */

/* Mask and clamp of segments of `width` threads. */
SPICA_INLINE uint32_t spica_segments_(uint32_t width)
{
    return width >= SPICA_THREADS ? 0x3Fu << 6 : (0x40u - width) << 12 | (width - 1) << 6;
}

/* Value of the thread `delta` below, or above; of the one whose number differs by exclusive or with
 * `lanes`, also in an earlier segment; of thread `lane` of the segment, modulo `width`. */
#define SPICA_SHUFFLES_(name, instruction, operand, ...)                                        \
    SPICA_WARP_FUNCTION_ uint32_t name(uint32_t value, uint32_t operand, uint32_t width)        \
    {                                                                                           \
        return instruction##_selected_(value, spica_segments_(width) | (operand & 0x3Fu));      \
    }                                                                                           \
    SPICA_WARP_FUNCTION_ float name##f(float value, uint32_t operand, uint32_t width)           \
    {                                                                                           \
        const uint32_t selector = spica_segments_(width) | (operand & 0x3Fu);                   \
        float result;                                                                           \
        __asm__ volatile(SPICA_INSN("%0, %1, %2", __VA_ARGS__)                                  \
                         : "=f"(result) : "f"(value), "r"(selector));                           \
        return result;                                                                          \
    }

SPICA_SHUFFLES_(spica_shuffle_up, vx_shfl_up, delta, SPICA_INSN_FSHFL_UP_S)
SPICA_SHUFFLES_(spica_shuffle_down, vx_shfl_down, delta, SPICA_INSN_FSHFL_DOWN_S)
SPICA_SHUFFLES_(spica_shuffle_xor, vx_shfl_bfly, lanes, SPICA_INSN_FSHFL_BFLY_S)
SPICA_SHUFFLES_(spica_shuffle, vx_shfl_idx, lane, SPICA_INSN_FSHFL_IDX_S)

/* Combines the values of all threads of the warp, which must be active; each gets the result. The
 * order is that of distances 1, 2, 4 and so on, or of the threads if they are no power of two. */
#define SPICA_REDUCTION_(name, type, suffix, combine)                                           \
    SPICA_WARP_FUNCTION_ type name(type value)                                                  \
    {                                                                                           \
        const type own = value;                                                                 \
        if ((SPICA_THREADS & (SPICA_THREADS - 1)) == 0) {                                       \
            _Pragma("unroll") for (uint32_t k = 1; k < SPICA_THREADS; k *= 2)                   \
                value = combine(value, (type)spica_shuffle_xor##suffix(value, k, SPICA_THREADS)); \
            return value;                                                                       \
        }                                                                                       \
        value = (type)spica_shuffle##suffix(own, 0, SPICA_THREADS);                             \
        _Pragma("unroll") for (uint32_t k = 1; k < SPICA_THREADS; k++)                          \
            value = combine(value, (type)spica_shuffle##suffix(own, k, SPICA_THREADS));         \
        return value;                                                                           \
    }
#define SPICA_PLUS_(a, b) ((a) + (b))

SPICA_REDUCTION_(spica_warp_sum, uint32_t, , SPICA_PLUS_)
SPICA_REDUCTION_(spica_warp_sumf, float, f, SPICA_PLUS_)
SPICA_REDUCTION_(spica_warp_min, int32_t, , spica_min)
SPICA_REDUCTION_(spica_warp_minu, uint32_t, , spica_minu)
SPICA_REDUCTION_(spica_warp_minf, float, f, __builtin_fminf)
SPICA_REDUCTION_(spica_warp_max, int32_t, , spica_max)
SPICA_REDUCTION_(spica_warp_maxu, uint32_t, , spica_maxu)
SPICA_REDUCTION_(spica_warp_maxf, float, f, __builtin_fmaxf)

#endif

#endif
