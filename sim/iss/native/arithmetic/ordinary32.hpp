// FP32 arithmetic with the processor's floating point, several lanes at a time, for ordinary
// operands: rounding to nearest even, no flag except inexact. `state` marks the lanes for which
// this does not hold; their results are undefined.
#pragma once
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "arithmetic/rounding.hpp"

static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16,
              "float and double must not be computed in wider formats");

// The ABI for vectors longer than the processor's differs between targets; all code is inline.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace spica {

// Whether the processor rounds to nearest even and flushes no subnormals. A library loaded into
// the same process may have changed that.
inline bool processor_is_ordinary() {
#if defined(__SSE2__)
    constexpr unsigned rounding = 0x6000, flush_to_zero = 0x8000, subnormals_are_zero = 0x0040;
    return (_mm_getcsr() & (rounding | flush_to_zero | subnormals_are_zero)) == 0;
#elif defined(__aarch64__)
    constexpr uint64_t default_nan = 1 << 25;
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return (control & ~default_nan) == 0;
#else
    return false;
#endif
}

// Vector types of GCC and Clang, available on any processor.
template <unsigned width>
struct Vectors;
#define SPICA_VECTORS(width)                                             \
    template <>                                                          \
    struct Vectors<width> {                                              \
        typedef uint32_t Words __attribute__((vector_size(4 * width)));  \
        typedef int32_t Masks __attribute__((vector_size(4 * width)));   \
        typedef float Floats __attribute__((vector_size(4 * width)));    \
        typedef double Doubles __attribute__((vector_size(8 * width)));  \
        typedef int64_t Longs __attribute__((vector_size(8 * width)));   \
    }
SPICA_VECTORS(1);
SPICA_VECTORS(2);
SPICA_VECTORS(4);
SPICA_VECTORS(8);
#undef SPICA_VECTORS

// Results and state of `width` lanes.
template <unsigned width>
struct Ordinary {
    using Words = typename Vectors<width>::Words;
    using Floats = typename Vectors<width>::Floats;
    using Doubles = typename Vectors<width>::Doubles;
    using Longs = typename Vectors<width>::Longs;

    static constexpr int64_t kInexact = 1, kInvalid = 2;

    Words bits;
    Longs state;  // kInexact, kInvalid or both

    static Words load(const uint32_t* from) {
        Words words;
        std::memcpy(&words, from, sizeof words);
        return words;
    }
    static Doubles widened(Words a) {
        return __builtin_convertvector(__builtin_bit_cast(Floats, a), Doubles);
    }

    // Rounds `exact` once more; lanes with `lost` have lost lower bits before. The result is
    // correct unless a lane with `lost` appears to be the middle between two floats. The smallest
    // normal number is marked invalid, as it may be tiny; so are infinities and NaN.
    static Ordinary narrowed(Doubles exact, Longs lost) {
        constexpr int64_t below = (int64_t{1} << 29) - 1, middle = int64_t{1} << 28;
        Floats value = __builtin_convertvector(exact, Floats);
        Doubles back = __builtin_convertvector(value, Doubles);
        Doubles size = __builtin_bit_cast(Doubles, __builtin_bit_cast(Longs, back) & INT64_MAX);
        using Limits = std::numeric_limits<float>;
        Longs is_normal = (size > double{Limits::min()}) & (size <= double{Limits::max()});
        Longs is_middle = (__builtin_bit_cast(Longs, exact) & below) == middle;
        Longs is_inexact = lost | (back != exact);
        return {__builtin_bit_cast(Words, value),
                (is_inexact & kInexact) | (~is_normal & kInvalid) | (is_middle & lost & kInvalid)};
    }
    // A sum or product of 0 is exact.
    static Ordinary with_zero(Doubles exact, Ordinary result) {
        result.state &= exact != 0;
        return result;
    }

    static Ordinary sum(Doubles a, Doubles b) {
        // Knuth's TwoSum: `error` is exactly the rounding error of the sum.
        Doubles sum = a + b, virtual_b = sum - a;
        Doubles error = (a - (sum - virtual_b)) + (b - virtual_b);
        return with_zero(sum, narrowed(sum, error != 0));
    }
    static Ordinary add(Words a, Words b) { return sum(widened(a), widened(b)); }
    // The product of two floats is exact in double precision.
    static Ordinary fma(Words a, Words b, Words c) {
        return sum(widened(a) * widened(b), widened(c));
    }
    static Ordinary multiply(Words a, Words b) {
        Doubles product = widened(a) * widened(b);
        return with_zero(product, narrowed(product, Longs{}));
    }
    // A quotient or root of 53 bits is never a middle, so rounding once more is correct.
    static Ordinary divide(Words a, Words b) {
        Doubles quotient = widened(a) / widened(b);
        Ordinary result = narrowed(quotient, Longs{});
        return result.exact_if(widened(result.bits) * widened(b) == widened(a));
    }
    static Ordinary root(Words a) {
        Doubles radicand = widened(a), root{};
        for (unsigned k = 0; k < width; ++k) root[k] = std::sqrt(radicand[k]);
        Ordinary result = narrowed(root, Longs{});
        return result.exact_if(widened(result.bits) * widened(result.bits) == radicand);
    }
    Ordinary exact_if(Longs is_exact) const {
        return {bits, (state & kInvalid) | (~is_exact & kInexact)};
    }

    // OR of the states of all lanes.
    int64_t any() const {
        if constexpr (width == 1) {
            return state[0];
        } else {
            using Half = Ordinary<width / 2>;
            typename Half::Longs halves[2];
            std::memcpy(halves, &state, sizeof halves);
            return Half{{}, halves[0] | halves[1]}.any();
        }
    }
};

template <typename Words>
using OrdinaryOf = Ordinary<sizeof(Words) / sizeof(uint32_t)>;

}  // namespace spica
