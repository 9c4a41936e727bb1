// Conversions between FP32 and 16-bit formats, as in Zfhmin and Zfbfmin: bits in, bits and flags out.
#pragma once
#include <cstdint>

#include "arithmetic/exact32.hpp"

namespace spica {

template <Format form>
uint32_t narrow16(uint32_t a, Rounding rounding, uint32_t& flags) {
    uint32_t sign = a & kSign ? form.sign() : 0, magnitude = a & kMagnitude;
    if (is_nan32(a)) {
        nan32(flags, a);
        return form.nan();
    }
    if (magnitude == kInfinity) return sign | form.infinity();
    if (magnitude == 0) return sign;
    Number32 number(a);
    return rounded<form>(sign != 0, number.exponent, number.significand, rounding, flags);
}

// The number in bits 15:0, which FP32 represents exactly.
template <Format form>
uint32_t widen16(uint32_t a, uint32_t& flags) {
    uint32_t sign = a & form.sign() ? kSign : 0, magnitude = a & form.magnitude();
    if (magnitude > form.infinity()) {
        if (!(a & form.hidden() >> 1)) flags |= flag::invalid;
        return kNan;
    }
    if (magnitude == form.infinity()) return sign | kInfinity;
    if (magnitude == 0) return sign;
    uint32_t field = magnitude >> form.fraction_width, fraction = magnitude & (form.hidden() - 1);
    uint32_t significand = field == 0 ? fraction : fraction | form.hidden();
    int exponent = static_cast<int>(field == 0 ? 1 : field) - form.bias() - form.fraction_width;
    return rounded(sign != 0, exponent, significand, Rounding::NearestEven, flags);
}

// A 16-bit number fills an FP32 register with ones above it.
template <Format form>
uint32_t boxed16(uint32_t a, Rounding rounding, uint32_t& flags) {
    return 0xFFFF'0000 | narrow16<form>(a, rounding, flags);
}

template <Format form>
uint32_t unboxed16(uint32_t a, uint32_t& flags) {
    return a >> 16 == 0xFFFF ? widen16<form>(a, flags) : kNan;
}

template <Format form>
uint32_t packed16(uint32_t low, uint32_t high, Rounding rounding, uint32_t& flags) {
    return narrow16<form>(high, rounding, flags) << 16 | narrow16<form>(low, rounding, flags);
}

}  // namespace spica
