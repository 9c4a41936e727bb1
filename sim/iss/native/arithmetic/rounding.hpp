// Rounding to FP32, FP16 or BF16 in integers: the final step of every exact operation.
#pragma once
#include <bit>
#include <cstdint>

namespace spica {

// Rounding modes, as `frm` encodes them.
enum class Rounding : uint32_t { NearestEven, TowardZero, Down, Up, NearestMaxMagnitude };

// Exceptions, as `fflags` encodes them.
namespace flag {
constexpr uint32_t inexact = 1, underflow = 2, overflow = 4, divide_by_zero = 8, invalid = 16;
}

// An IEEE format.
struct Format {
    int exponent_width, fraction_width;

    constexpr int bias() const { return (1 << (exponent_width - 1)) - 1; }
    constexpr uint32_t sign() const { return 1u << (exponent_width + fraction_width); }
    constexpr uint32_t magnitude() const { return sign() - 1; }
    constexpr uint32_t hidden() const { return 1u << fraction_width; }
    constexpr uint32_t infinity() const { return sign() - hidden(); }
    constexpr uint32_t nan() const { return infinity() | hidden() >> 1; }
};

constexpr Format kFp32{8, 23}, kFp16{5, 10}, kBf16{8, 7};
constexpr uint32_t kSign = kFp32.sign(), kMagnitude = kFp32.magnitude();
constexpr uint32_t kInfinity = kFp32.infinity(), kNan = kFp32.nan();
constexpr uint32_t kLeastNormal = kFp32.hidden(), kOne = 0x3F80'0000;

// Whether a magnitude is rounded up; `rest` is the part below its last place, `half` half a place.
inline bool rounds_up(Rounding rounding, bool negative, bool odd, uint64_t rest, uint64_t half) {
    switch (rounding) {
        case Rounding::NearestEven: return rest > half || (rest == half && odd);
        case Rounding::Down: return negative && rest != 0;
        case Rounding::Up: return !negative && rest != 0;
        case Rounding::NearestMaxMagnitude: return rest >= half;
        default: return false;
    }
}

// `x >> places` with sticky bit: the last bit is also 1 if a 1 was shifted out.
inline uint64_t shift_right_jam(uint64_t x, int places) {
    if (places > 63) return x != 0;
    return x >> places | ((x & ((uint64_t{1} << places) - 1)) != 0);
}

// Result of an overflow: infinity, or the largest finite number.
template <Format form>
uint32_t overflowed(bool negative, Rounding rounding, uint32_t& flags) {
    flags |= flag::overflow | flag::inexact;
    bool stays = rounding == Rounding::TowardZero ||
                 rounding == (negative ? Rounding::Up : Rounding::Down);
    return (form.infinity() - stays) | (negative ? form.sign() : 0);
}

// Rounds `significand * 2**exponent`, which is not 0. If `significand` has at least two bits more
// than the format, its last bit may be a sticky bit.
template <Format form = kFp32>
uint32_t rounded(bool negative, int exponent, uint64_t significand, Rounding rounding,
                 uint32_t& flags) {
    constexpr int dropped = 63 - form.fraction_width;
    constexpr uint64_t half = uint64_t{1} << (dropped - 1), rest_mask = 2 * half - 1;
    int zeros = std::countl_zero(significand);
    significand <<= zeros;
    int field = exponent - zeros + 63 + form.bias();
    bool tiny = false;
    if (field <= 0) {
        // A number is tiny if it stays below the smallest normal number when rounded to the full
        // width of the significand.
        bool ones = significand >> dropped == 2 * form.hidden() - 1;
        bool carries = ones && rounds_up(rounding, negative, true, significand & rest_mask, half);
        tiny = field < 0 || !carries;
        significand = shift_right_jam(significand, 1 - field);
        field = 1;
    }
    uint64_t high = significand >> dropped, rest = significand & rest_mask;
    if (rest != 0) flags |= tiny ? flag::underflow | flag::inexact : flag::inexact;
    high += rounds_up(rounding, negative, high & 1, rest, half);
    // The hidden bit, if set, and a rounding carry add to the exponent.
    uint64_t magnitude = (static_cast<uint64_t>(field - 1) << form.fraction_width) + high;
    if (magnitude >= form.infinity()) return overflowed<form>(negative, rounding, flags);
    return static_cast<uint32_t>(magnitude) | (negative ? form.sign() : 0);
}

}  // namespace spica
