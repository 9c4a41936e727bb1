// Rounded FP32 operations with two paths each: exact for all operands, fast for ordinary ones.
//
// All take three operands, used or not, so that callers can treat them alike.
#pragma once
#include <cstdint>

#include "arithmetic/exact32.hpp"
#include "arithmetic/ordinary32.hpp"

namespace spica {

// a * b + c; kSign negates the product or the addend.
template <uint32_t product_sign = 0, uint32_t addend_sign = 0>
struct MultiplyAdd {
    template <typename Words>
    static auto fast(Words a, Words b, Words c) {
        return OrdinaryOf<Words>::fma(a ^ product_sign, b, c ^ addend_sign);
    }
    static uint32_t slow(uint32_t a, uint32_t b, uint32_t c, Rounding rounding, uint32_t& flags) {
        return exact::fma32(a ^ product_sign, b, c ^ addend_sign, rounding, flags);
    }
};

// a + b, or a - b with kSign.
template <uint32_t addend_sign = 0>
struct Add {
    template <typename Words>
    static auto fast(Words a, Words b, Words) {
        return OrdinaryOf<Words>::add(a, b ^ addend_sign);
    }
    static uint32_t slow(uint32_t a, uint32_t b, uint32_t, Rounding rounding, uint32_t& flags) {
        return exact::fma32(a, kOne, b ^ addend_sign, rounding, flags);
    }
};

struct Multiply {
    template <typename Words>
    static auto fast(Words a, Words b, Words) {
        return OrdinaryOf<Words>::multiply(a, b);
    }
    static uint32_t slow(uint32_t a, uint32_t b, uint32_t, Rounding rounding, uint32_t& flags) {
        // Adding a zero with the sign of the product does not change it.
        return exact::fma32(a, b, (a ^ b) & kSign, rounding, flags);
    }
};

struct Divide {
    template <typename Words>
    static auto fast(Words a, Words b, Words) {
        return OrdinaryOf<Words>::divide(a, b);
    }
    static uint32_t slow(uint32_t a, uint32_t b, uint32_t, Rounding rounding, uint32_t& flags) {
        return exact::div32(a, b, rounding, flags);
    }
};

struct SquareRoot {
    template <typename Words>
    static auto fast(Words a, Words, Words) {
        return OrdinaryOf<Words>::root(a);
    }
    static uint32_t slow(uint32_t a, uint32_t, uint32_t, Rounding rounding, uint32_t& flags) {
        return exact::sqrt32(a, rounding, flags);
    }
};

// Result of `Operation` for one lane.
template <typename Operation>
uint32_t one32(uint32_t a, uint32_t b, uint32_t c, Rounding rounding, uint32_t& flags) {
    if (rounding == Rounding::NearestEven && processor_is_ordinary()) [[likely]] {
        using Words = Vectors<1>::Words;
        Ordinary<1> result = Operation::fast(Words{a}, Words{b}, Words{c});
        int64_t state = result.state[0];
        if (state < result.kInvalid) [[likely]] {
            flags |= static_cast<uint32_t>(state);
            return result.bits[0];
        }
    }
    return Operation::slow(a, b, c, rounding, flags);
}

}  // namespace spica
