// Special functions, bit-exact to the SFU: quadratic interpolation in the segments of tables.
//
// Words with a width of n are integers in units of 2**-n. Truncations are part of the definition;
// sim/golden/arith/special/special_function.py explains them. The result is rounded to nearest even, without flags.
#pragma once
#include <bit>
#include <cstdint>

#include "arithmetic/float32.hpp"
#include "special_tables.hpp"

namespace spica {

namespace special_detail {

using namespace special_tables;

constexpr int kFractionWidth = kFp32.fraction_width;
constexpr int64_t kHidden = kLeastNormal;
// Magnitudes of radix-4 Booth digits: three bits of a factor, the lowest shared with the digit
// below.
constexpr int64_t kDigitMagnitude[] = {0, 1, 1, 2, 2, 1, 1, 0};

// Truncated x * (y + carry) / 2**dropped by radix-4 digits of y, negated if `negative` is 1.
template <int digits, int dropped>
inline int64_t truncated_product(int64_t x, int64_t y, int64_t carry = 0, int64_t negative = 0) {
    int64_t doubled = y * 2 | carry, total = 0;
    for (int digit = 0; digit < digits; ++digit) {
        int64_t bits = doubled >> (2 * digit) & 7;
        int64_t multiple = kDigitMagnitude[bits] * x;
        int places = 2 * digit - dropped;
        multiple = places >= 0 ? multiple << places : multiple >> -places;
        total += multiple ^ -((bits >> 2) ^ negative);
    }
    return total;
}

// Truncated square of the upper bits of a position in a segment.
inline int64_t square(int64_t x) {
    constexpr int dropped = 2 * kSquaredWidth - kSquareWidth;
    x >>= kOffsetWidth - kSquaredWidth;
    int64_t total = 0;
    for (int bit = 0; bit < kSquaredWidth; ++bit) {
        int64_t row = (1 + (x >> (bit + 1) << 2)) << (2 * bit);
        total += row >> dropped & -(x >> bit & 1);
    }
    return total;
}

inline int64_t interpolate(const Coefficients& row, int64_t x) {
    int64_t linear = truncated_product<kC1Digits, kC1Width + kOffsetWidth - kSumWidth>(x, row.c1);
    int64_t quadratic =
        truncated_product<kC2Digits, kC2Width + kSquareWidth - kSumWidth>(square(x), row.c2);
    int64_t total = (row.c0 << (kSumWidth - kC0Width)) + linear + quadratic;
    return total >> (kSumWidth - kValueWidth);
}

template <typename Table>
int64_t lookup(int64_t v) {
    int64_t segment = 0, x = 0;
    for (const Piece& piece : Table::pieces) {
        int length = kArgumentWidth - piece.index_width;
        int64_t index = v >> length;
        if (index < piece.first || index > piece.last) continue;
        segment = index - piece.first + piece.before;
        x = (v & ((int64_t{1} << length) - 1)) << (kOffsetWidth - length);
    }
    return interpolate(Table::coefficients[segment], x);
}

// Factor from 1 to below 2, its rounding carry, and its exponent.
struct Factor {
    int64_t value, carry;
    int exponent;

    // `x` is in units of 2**-width.
    Factor(int64_t x, int width) {
        int length = 64 - std::countl_zero(static_cast<uint64_t>(x));
        // One more bit, the rounding carry.
        int places = kFactorWidth + 2 - length;
        int64_t doubled = places >= 0 ? x << places : x >> -places;
        value = doubled >> 1;
        carry = doubled & 1;
        exponent = length - 1 - width;
    }
};

inline int64_t multiply(int64_t value, int64_t factor, int64_t carry, int64_t negative = 0) {
    constexpr int dropped = kValueWidth + kFactorWidth - kProductWidth;
    return kProductBias +
           truncated_product<kFactorDigits, dropped>(value, factor, carry, negative);
}

// `significand * 2**exponent`, rounded to nearest even.
inline uint32_t nearest(bool negative, int64_t significand, int exponent) {
    uint32_t ignored = 0;
    if (significand < 0) return nearest(!negative, -significand, exponent);
    if (significand == 0) return negative ? kSign : 0;
    return rounded(negative, exponent, static_cast<uint64_t>(significand), Rounding::NearestEven,
                   ignored);
}

// Magnitude of a number as significand and exponent; `argument` is its fraction.
struct Split {
    int64_t significand, argument;
    int exponent;

    explicit Split(uint32_t a) {
        Number32 number(a & kMagnitude);
        significand = number.significand;
        exponent = number.exponent + kFractionWidth;
        argument = (significand - kHidden) << (kArgumentWidth - kFractionWidth);
    }
};

inline uint32_t reciprocal(uint32_t a) {
    Split x(a);
    return nearest(a >> 31, lookup<Rcp>(x.argument), -x.exponent - kValueWidth);
}

inline uint32_t reciprocal_root(uint32_t a) {
    Split x(a);
    bool odd = x.exponent & 1;
    int64_t value = odd ? lookup<RsqrtOdd>(x.argument) : lookup<Rsqrt>(x.argument);
    return nearest(false, value, -(x.exponent >> 1) - kValueWidth);
}

inline uint32_t exponential(uint32_t a) {
    Number32 number(a);
    // The argument rounded down; its value is irrelevant far outside the range of FP32 results.
    int64_t units = number.negative ? -static_cast<int64_t>(number.significand)
                                    : static_cast<int64_t>(number.significand);
    int places = number.exponent + kArgumentWidth;
    units = places > 16 ? units << 16 : places >= 0 ? units << places
          : places > -63 ? units >> -places : units >> 63;
    int whole = static_cast<int>(units >> kArgumentWidth);
    int64_t v = units & ((int64_t{1} << kArgumentWidth) - 1);
    return nearest(false, lookup<Exp2>(v), whole + 1 - kValueWidth);
}

inline uint32_t logarithm(uint32_t a) {
    Split x(a);
    constexpr int64_t border = kHidden + (kHidden >> kLog2UpperWidth) * kLog2Upper;
    bool upper = x.significand >= border;
    int e = x.exponent + upper;
    int64_t v = x.argument;
    if (upper) {
        // For subnormals the complement is one unit less: their logarithm is far from zero.
        bool subnormal = a >> kFractionWidth == 0;
        v = ((int64_t{1} << kArgumentWidth) - v - subnormal) >> 1;
    }
    bool near = e == 0;
    if (near && v == 0) return 0;
    Factor factor(v, kArgumentWidth);
    if (!near) factor.value = v << (kFactorWidth - kArgumentWidth);
    int64_t value = upper ? lookup<Log2Upper>(v) : lookup<Log2>(v);
    int64_t complement = !near && upper != (e < 0);
    int64_t magnitude = static_cast<int64_t>(e < 0 ? -e : e) << (kProductWidth - 1);
    magnitude += multiply(value, factor.value, factor.carry, complement);
    int exponent = (near ? factor.exponent : 0) + 1 - kProductWidth;
    return nearest(near ? upper : e < 0, magnitude, exponent);
}

// `significand * 2**exponent / (2 pi)` modulo 1, in units of 2**-kTurnWidth.
inline int64_t turns(int64_t significand, int exponent) {
    int64_t window = kWindows[exponent + 1], total = 0;
    for (int digit = 0; digit < kSignificandDigits; ++digit) {
        int64_t bits = significand << 1 >> (2 * digit) & 7;
        int64_t multiple = window * kDigitMagnitude[bits];
        total += multiple >> (kWindowWidth - kTurnWidth - 2 * digit) ^ -(bits >> 2);
    }
    return total & ((int64_t{1} << kTurnWidth) - 1);
}

inline uint32_t circular(uint32_t a, bool cosine) {
    Split x(a);
    bool negative = !cosine && a >> 31;
    if (x.exponent < kTinyAngle) return cosine ? kOne : a;
    // A small angle is in octant 0, so it uses the octant's bits for eight times the resolution.
    bool small = x.exponent < -1;
    int64_t word = turns(x.significand, small ? 1 : x.exponent);
    int64_t octant = small ? 0 : word >> (kTurnWidth - 3);
    if (!small) {
        // The bit after the last known one is set to 1, the middle of the unknown interval.
        constexpr int64_t mask = (int64_t{1} << kTurnWidth) - 1;
        word = ((word ^ -(octant & 1)) << 3 & mask) | 4;
    }
    int shift = small ? -2 - x.exponent : 0;
    int64_t v = word >> shift >> (kTurnWidth - kArgumentWidth);
    int64_t quadrant = (octant >> 1) + cosine;
    negative ^= (quadrant & 2) != 0;
    if ((quadrant & 1) != (octant & 1)) return nearest(negative, lookup<Cos>(v), -kValueWidth);
    Factor factor(word, kTurnWidth);
    int64_t product = multiply(lookup<Sin>(v), factor.value, factor.carry);
    return nearest(negative, product, factor.exponent - shift - kProductWidth);
}

// Results of each function, in the order of `Special`, at +0, -0, +infinity and -infinity.
constexpr uint32_t kLimits[][4] = {
    {kInfinity, kInfinity | kSign, 0, kSign},                 // Rcp
    {kInfinity, kInfinity | kSign, 0, kNan},                  // Rsqrt
    {kOne, kOne, kInfinity, 0},                               // Exp2
    {kInfinity | kSign, kInfinity | kSign, kInfinity, kNan},  // Log2
    {0, kSign, kNan, kNan},                                   // Sin
    {kOne, kOne, kNan, kNan},                                 // Cos
};

}  // namespace special_detail

inline uint32_t special32(Special function, uint32_t a) {
    using namespace special_detail;
    uint32_t magnitude = a & kMagnitude;
    bool negative = a >> 31;
    if (magnitude > kInfinity) return kNan;
    if (magnitude == 0 || magnitude == kInfinity) {
        return kLimits[static_cast<uint32_t>(function)][(magnitude != 0) * 2 + negative];
    }
    switch (function) {
        case Special::Rcp: return reciprocal(a);
        case Special::Rsqrt: return negative ? kNan : reciprocal_root(a);
        case Special::Exp2: return exponential(a);
        case Special::Log2: return negative ? kNan : logarithm(a);
        case Special::Sin: return circular(a, false);
        default: return circular(a, true);
    }
}

}  // namespace spica
