// FP16 products and sums in integers, rounded to nearest even, and conversion to FP32.
#pragma once
#include <bit>
#include <cstdint>

#include "arithmetic/rounding.hpp"

namespace spica {

namespace half {

constexpr uint32_t kSign16 = kFp16.sign(), kMagnitude16 = kFp16.magnitude();
constexpr uint32_t kInfinity16 = kFp16.infinity(), kNan16 = kFp16.nan();
// Exponent of the subnormal unit: every finite number is a multiple of 2**kUnit16.
constexpr int kUnit16 = 1 - kFp16.bias() - kFp16.fraction_width;

// Magnitude of a finite number in units of 2**kUnit16: up to 41 bits.
inline int64_t units(uint32_t a) {
    uint32_t field = (a & kMagnitude16) >> kFp16.fraction_width;
    int64_t fraction = a & (kFp16.hidden() - 1);
    return field == 0 ? fraction : (fraction | kFp16.hidden()) << (field - 1);
}

inline uint32_t nearest(bool negative, int exponent, uint64_t significand) {
    uint32_t ignored = 0;
    if (significand == 0) return negative ? kSign16 : 0;
    return rounded<kFp16>(negative, exponent, significand, Rounding::NearestEven, ignored);
}

inline uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t x = a & kMagnitude16, y = b & kMagnitude16, sign = (a ^ b) & kSign16;
    if (x >= kInfinity16 || y >= kInfinity16) {
        bool is_nan = x > kInfinity16 || y > kInfinity16 || x == 0 || y == 0;
        return is_nan ? kNan16 : sign | kInfinity16;
    }
    if (x == 0 || y == 0) return sign;
    // Trailing zeros are removed first: with them the product could exceed 64 bits.
    int64_t first = units(x), second = units(y);
    int first_zeros = std::countr_zero(static_cast<uint64_t>(first));
    int second_zeros = std::countr_zero(static_cast<uint64_t>(second));
    uint64_t product = static_cast<uint64_t>((first >> first_zeros) * (second >> second_zeros));
    return nearest(sign != 0, 2 * kUnit16 + first_zeros + second_zeros, product);
}

inline uint32_t add(uint32_t a, uint32_t b) {
    uint32_t x = a & kMagnitude16, y = b & kMagnitude16;
    if (x > kInfinity16 || y > kInfinity16) return kNan16;
    if (x == kInfinity16 || y == kInfinity16) {
        if (x == y && a != b) return kNan16;
        return x == kInfinity16 ? a : b;
    }
    if (x == 0 && y == 0) return a & b;
    int64_t first = a & kSign16 ? -units(x) : units(x);
    int64_t total = first + (b & kSign16 ? -units(y) : units(y));
    bool negative = total < 0;
    return nearest(negative, kUnit16, static_cast<uint64_t>(negative ? -total : total));
}

// The same number as FP32.
inline uint32_t widened(uint32_t a) {
    uint32_t magnitude = a & kMagnitude16, sign = a & kSign16 ? kSign : 0;
    if (magnitude > kInfinity16) return kNan;
    if (magnitude == kInfinity16) return sign | kInfinity;
    if (magnitude == 0) return sign;
    uint32_t ignored = 0;
    return rounded(sign != 0, kUnit16, static_cast<uint64_t>(units(magnitude)),
                   Rounding::NearestEven, ignored);
}

}  // namespace half

}  // namespace spica
