// FP32 sums, products, quotients and roots in integers, for all rounding modes and operands.
//
// The processor's rounding mode, flags and flushing of subnormals have no effect.
#pragma once
#include <cmath>
#include <cstdint>

#include "arithmetic/rounding.hpp"

namespace spica {

inline bool is_nan32(uint32_t a) { return (a & kMagnitude) > kInfinity; }
inline bool is_signalling32(uint32_t a) { return is_nan32(a) && !(a & 0x0040'0000); }

inline uint32_t invalid32(uint32_t& flags) {
    flags |= flag::invalid;
    return kNan;
}

// NaN result of operands with a NaN; a signalling NaN raises invalid.
template <typename... Operands>
uint32_t nan32(uint32_t& flags, Operands... operands) {
    if ((is_signalling32(operands) || ...)) flags |= flag::invalid;
    return kNan;
}

// Finite number other than 0: `significand * 2**exponent`, with bit 23 of the significand set.
struct Number32 {
    bool negative;
    int exponent;
    uint32_t significand;

    explicit Number32(uint32_t a) : negative(a >> 31) {
        uint32_t fraction = a & (kLeastNormal - 1);
        int field = static_cast<int>((a & kMagnitude) >> kFp32.fraction_width);
        if (field != 0) {
            significand = fraction | kLeastNormal;
        } else {
            int places = std::countl_zero(fraction) - 8;
            significand = fraction << places;
            field = 1 - places;
        }
        exponent = field - kFp32.bias() - kFp32.fraction_width;
    }
};

namespace exact {

// a * b + c for a finite product other than 0 and a finite c.
inline uint32_t fused_sum(uint32_t a, uint32_t b, uint32_t c, Rounding rounding,
                          uint32_t& flags) {
    Number32 x(a), y(b);
    bool negative = x.negative != y.negative;
    // The leading bit of the addend is at place 61, of the product at 60 or 61, so a carry fits.
    // If more than one bit cancels, the shift before has lost only zeros.
    uint64_t product = static_cast<uint64_t>(x.significand) * y.significand << 14;
    int exponent = x.exponent + y.exponent - 14;
    if ((c & kMagnitude) == 0) return rounded(negative, exponent, product, rounding, flags);

    Number32 z(c);
    uint64_t addend = static_cast<uint64_t>(z.significand) << 38;
    int distance = exponent - (z.exponent - 38);
    if (distance >= 0) {
        addend = shift_right_jam(addend, distance);
    } else {
        product = shift_right_jam(product, -distance);
        exponent -= distance;
    }
    if (negative == z.negative) {
        return rounded(negative, exponent, product + addend, rounding, flags);
    }
    if (product == addend) return rounding == Rounding::Down ? kSign : 0;
    if (product > addend) return rounded(negative, exponent, product - addend, rounding, flags);
    return rounded(z.negative, exponent, addend - product, rounding, flags);
}

inline uint32_t fma32(uint32_t a, uint32_t b, uint32_t c, Rounding rounding, uint32_t& flags) {
    uint32_t x = a & kMagnitude, y = b & kMagnitude, z = c & kMagnitude;
    uint32_t sign = (a ^ b) & kSign;
    if (x >= kInfinity || y >= kInfinity || z >= kInfinity) {
        // Infinity times zero is invalid even if the addend is a quiet NaN.
        if ((x == kInfinity && y == 0) || (x == 0 && y == kInfinity)) return invalid32(flags);
        if (is_nan32(a) || is_nan32(b) || is_nan32(c)) return nan32(flags, a, b, c);
        if (x < kInfinity && y < kInfinity) return c;
        if (z == kInfinity && sign != (c & kSign)) return invalid32(flags);
        return sign | kInfinity;
    }
    if (x == 0 || y == 0) {
        if (z != 0) return c;
        if (sign == (c & kSign)) return sign;
        return rounding == Rounding::Down ? kSign : 0;
    }
    return fused_sum(a, b, c, rounding, flags);
}

inline uint32_t div32(uint32_t a, uint32_t b, Rounding rounding, uint32_t& flags) {
    uint32_t x = a & kMagnitude, y = b & kMagnitude;
    uint32_t sign = (a ^ b) & kSign;
    if (x > kInfinity || y > kInfinity) return nan32(flags, a, b);
    if (x == y && (x == 0 || x == kInfinity)) return invalid32(flags);
    if (x == kInfinity) return sign | kInfinity;
    if (x == 0 || y == kInfinity) return sign;
    if (y == 0) {
        flags |= flag::divide_by_zero;
        return sign | kInfinity;
    }
    Number32 dividend(a), divisor(b);
    uint64_t scaled = static_cast<uint64_t>(dividend.significand) << 40;
    uint64_t quotient = scaled / divisor.significand;
    quotient |= quotient * divisor.significand != scaled;
    int exponent = dividend.exponent - divisor.exponent - 40;
    return rounded(sign != 0, exponent, quotient, rounding, flags);
}

// The square root of `x`, below 2**63, rounded down.
inline uint64_t integer_root(uint64_t x) {
    // In any rounding mode of the processor, this is off by at most one.
    uint64_t root = static_cast<uint64_t>(std::sqrt(static_cast<double>(x)));
    while (root * root > x) --root;
    while ((root + 1) * (root + 1) <= x) ++root;
    return root;
}

inline uint32_t sqrt32(uint32_t a, Rounding rounding, uint32_t& flags) {
    if (is_nan32(a)) return nan32(flags, a);
    if ((a & kMagnitude) == 0 || a == kInfinity) return a;
    if (a & kSign) return invalid32(flags);
    Number32 radicand(a);
    int odd = radicand.exponent & 1;
    uint64_t scaled = static_cast<uint64_t>(radicand.significand) << (38 + odd);
    uint64_t root = integer_root(scaled);
    root |= root * root != scaled;
    return rounded(false, (radicand.exponent - odd - 38) / 2, root, rounding, flags);
}

}  // namespace exact

}  // namespace spica
