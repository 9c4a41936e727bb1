// Bit-exact rounding steps of tensor instructions in integers: fused sums, and trees of FP32.
//
// A fused sum adds products and an addend: terms are exact, aligned to the largest exponent,
// truncated and added exactly; the sum is rounded once, toward zero, to FP32.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "arithmetic/float32.hpp"
#include "arithmetic/numerics.hpp"

namespace spica {

// Fields of an operand of a tensor instruction.
struct Factor {
    int64_t significand;
    int32_t exponent;
    bool is_negative, is_infinite, is_nan;
};

inline Factor factor_of(const TensorNumerics& numerics, uint32_t stored) {
    uint32_t magnitude = stored & ((1u << numerics.magnitude_width) - 1);
    uint32_t field = magnitude >> numerics.number_fraction;
    int64_t hidden = int64_t{1} << numerics.number_fraction;
    Factor factor;
    factor.significand = (magnitude & (hidden - 1)) | (field != 0 ? hidden : 0);
    factor.exponent =
        static_cast<int32_t>(std::max(field, 1u)) - static_cast<int32_t>(numerics.bias);
    factor.is_negative = stored >> numerics.magnitude_width & 1;
    bool is_beyond = magnitude > numerics.largest;
    factor.is_infinite = is_beyond && numerics.has_infinity && magnitude == numerics.largest + 1;
    factor.is_nan = is_beyond && !factor.is_infinite;
    return factor;
}

// magnitude * 2**places, truncated.
inline int64_t aligned(int64_t magnitude, int32_t places) {
    constexpr int32_t kFar = 62;
    if (magnitude == 0) return 0;
    return places >= 0 ? magnitude << std::min(places, kFar)
                       : magnitude >> std::min(-places, kFar);
}

// total * 2**unit rounded toward zero to FP32 with `digits` fraction bits; infinity beyond.
inline uint32_t truncated32(int64_t total, int32_t unit, int32_t digits) {
    constexpr int32_t kBias = 127, kFraction = 23;
    if (total == 0) return 0;
    uint64_t magnitude = static_cast<uint64_t>(total < 0 ? -total : total);
    int32_t leading = static_cast<int32_t>(std::bit_width(magnitude)) - 1 + unit;
    leading = std::max(leading, 1 - kBias);
    int64_t units = aligned(static_cast<int64_t>(magnitude), unit + digits - leading);
    // The hidden bit of the units adds to the exponent field.
    int64_t stored = (static_cast<int64_t>(leading + kBias - 1) << kFraction) +
                     (units << (kFraction - digits));
    stored = std::min<int64_t>(stored, kInfinity);
    return static_cast<uint32_t>(stored) | (total < 0 ? kSign : 0);
}

inline uint32_t fused_sum(const TensorNumerics& numerics, const Factor* a, const Factor* b,
                          uint32_t c) {
    // All ones except the sign, unlike other NaN results.
    constexpr uint32_t kFusedNan = ~kSign;
    constexpr int32_t kFraction = 23, kBias = 127;
    uint32_t field = (c & kMagnitude) >> kFraction;
    int64_t c_significand = (c & 0x7F'FFFF) | (field != 0 ? 0x80'0000 : 0);
    int32_t c_exponent = static_cast<int32_t>(std::max(field, 1u)) - kBias;
    bool nan = (c & kMagnitude) > kInfinity;
    bool plus = c == kInfinity, minus = c == (kSign | kInfinity);
    int32_t largest = numerics.floor;
    if (c_significand != 0) largest = std::max(largest, c_exponent);
    for (uint32_t k = 0; k < numerics.terms; ++k) {
        bool is_infinite = a[k].is_infinite || b[k].is_infinite;
        bool is_zero = a[k].significand == 0 || b[k].significand == 0;
        bool is_negative = a[k].is_negative != b[k].is_negative;
        nan |= a[k].is_nan || b[k].is_nan || (is_infinite && is_zero);
        plus |= is_infinite && !is_negative;
        minus |= is_infinite && is_negative;
        if (!is_zero) largest = std::max(largest, a[k].exponent + b[k].exponent);
    }
    if (nan || (plus && minus)) return kFusedNan;
    if (plus || minus) return minus ? kSign | kInfinity : kInfinity;
    int32_t width = numerics.fraction_width;
    int64_t total = aligned(c_significand, c_exponent - largest + width - kFraction);
    if (c & kSign) total = -total;
    int32_t fraction = 2 * static_cast<int32_t>(numerics.number_fraction);
    for (uint32_t k = 0; k < numerics.terms; ++k) {
        int64_t term = aligned(a[k].significand * b[k].significand,
                               a[k].exponent + b[k].exponent - largest + width - fraction);
        total += a[k].is_negative != b[k].is_negative ? -term : term;
    }
    return truncated32(total, largest - width, numerics.result_fraction);
}

// Products rounded to FP32, added in pairs, each sum rounded, then added to c.
inline uint32_t tree32(uint32_t terms, const uint32_t* a, const uint32_t* b, uint32_t c) {
    constexpr uint32_t kMost = 8;
    uint32_t sums[kMost], ignored = 0;
    for (uint32_t k = 0; k < terms; ++k) {
        sums[k] = mul32(a[k], b[k], Rounding::NearestEven, ignored);
    }
    for (uint32_t count = terms / 2; count != 0; count /= 2) {
        for (uint32_t k = 0; k < count; ++k) {
            sums[k] = add32(sums[2 * k], sums[2 * k + 1], Rounding::NearestEven, ignored);
        }
    }
    return add32(sums[0], c, Rounding::NearestEven, ignored);
}

}  // namespace spica
