// FP32 arithmetic of the RISC-V F extension (2.2): bits in, bits and flags out.
//
// Every result is the exact one rounded once. NaN results are canonical; tininess is detected after
// rounding. `flags` are set, never cleared. The processor's rounding mode and flags have no effect.
#pragma once
#include <cstdint>

#include "arithmetic/operations32.hpp"

namespace spica {

inline uint32_t add32(uint32_t a, uint32_t b, Rounding rounding, uint32_t& flags) {
    return one32<Add<>>(a, b, 0, rounding, flags);
}

inline uint32_t mul32(uint32_t a, uint32_t b, Rounding rounding, uint32_t& flags) {
    return one32<Multiply>(a, b, 0, rounding, flags);
}

// Maps numbers to integers in the same order; both zeros map to 0.
inline int32_t ordered32(uint32_t a) {
    int32_t magnitude = static_cast<int32_t>(a & kMagnitude);
    return a & kSign ? -magnitude : magnitude;
}

inline bool eq32(uint32_t a, uint32_t b, uint32_t& flags) {
    if (is_nan32(a) || is_nan32(b)) {
        nan32(flags, a, b);
        return false;
    }
    return ordered32(a) == ordered32(b);
}

inline bool lt32(uint32_t a, uint32_t b, uint32_t& flags) {
    if (is_nan32(a) || is_nan32(b)) {
        flags |= flag::invalid;
        return false;
    }
    return ordered32(a) < ordered32(b);
}

inline bool le32(uint32_t a, uint32_t b, uint32_t& flags) {
    if (is_nan32(a) || is_nan32(b)) {
        flags |= flag::invalid;
        return false;
    }
    return ordered32(a) <= ordered32(b);
}

// Smaller operand, or the greater one if `greater`. -0 is below +0; a number is preferred to a NaN.
inline uint32_t pick32(uint32_t a, uint32_t b, bool greater, uint32_t& flags) {
    if (is_nan32(a) || is_nan32(b)) {
        nan32(flags, a, b);
        return !is_nan32(a) ? a : !is_nan32(b) ? b : kNan;
    }
    bool first = ordered32(a) != ordered32(b) ? ordered32(a) < ordered32(b) : a >> 31;
    return first != greater ? a : b;
}

inline uint32_t min32(uint32_t a, uint32_t b, uint32_t& flags) {
    return pick32(a, b, false, flags);
}

inline uint32_t max32(uint32_t a, uint32_t b, uint32_t& flags) {
    return pick32(a, b, true, flags);
}

// One-hot class of ten bits, as `fclass` numbers them.
inline uint32_t class32(uint32_t a) {
    uint32_t magnitude = a & kMagnitude;
    if (magnitude > kInfinity) return is_signalling32(a) ? 1u << 8 : 1u << 9;
    uint32_t size = magnitude == kInfinity ? 3 : magnitude >= kLeastNormal ? 2 : magnitude != 0;
    return a & kSign ? 1u << (3 - size) : 1u << (4 + size);
}

// Values outside the range saturate, NaN to the upper end; they raise invalid, not inexact.
inline uint32_t to_int32(uint32_t a, bool is_signed, Rounding rounding, uint32_t& flags) {
    uint64_t below = is_signed ? uint64_t{1} << 31 : 0;
    uint64_t above = is_signed ? 0x7FFF'FFFF : 0xFFFF'FFFF;
    bool negative = a >> 31 && !is_nan32(a);
    uint32_t beyond = static_cast<uint32_t>(negative ? uint64_t{0} - below : above);
    if ((a & kMagnitude) >= kInfinity) {
        flags |= flag::invalid;
        return beyond;
    }
    if ((a & kMagnitude) == 0) return 0;
    Number32 number(a);
    if (number.exponent > 8) {
        flags |= flag::invalid;
        return beyond;
    }
    // Fixed point: 32 integer bits and 32 fraction bits.
    uint64_t fixed = static_cast<uint64_t>(number.significand) << 32;
    fixed = number.exponent >= 0 ? fixed << number.exponent
                                 : shift_right_jam(fixed, -number.exponent);
    uint64_t whole = fixed >> 32, rest = fixed & 0xFFFF'FFFF;
    whole += rounds_up(rounding, negative, whole & 1, rest, 0x8000'0000);
    if (whole > (negative ? below : above)) {
        flags |= flag::invalid;
        return beyond;
    }
    if (rest != 0) flags |= flag::inexact;
    return static_cast<uint32_t>(negative ? uint64_t{0} - whole : whole);
}

inline uint32_t from_int32(uint32_t a, bool is_signed, Rounding rounding, uint32_t& flags) {
    if (a == 0) return 0;
    bool negative = is_signed && a >> 31;
    return rounded(negative, 0, negative ? 0u - a : a, rounding, flags);
}

}  // namespace spica
