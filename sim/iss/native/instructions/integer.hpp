// Integer division and upper halves of products.
#pragma once
#include <cstdint>

namespace spica {

inline int32_t as_signed(uint32_t a) { return static_cast<int32_t>(a); }

// Division without traps, as RISC-V defines it: division by 0 returns all ones and the dividend as
// remainder; overflow returns the dividend.
inline uint32_t divide_signed(uint32_t a, uint32_t b) {
    if (b == 0) return ~0u;
    if (a == 0x8000'0000u && b == ~0u) return a;
    return static_cast<uint32_t>(as_signed(a) / as_signed(b));
}

inline uint32_t remainder_signed(uint32_t a, uint32_t b) {
    if (b == 0) return a;
    if (a == 0x8000'0000u && b == ~0u) return 0;
    return static_cast<uint32_t>(as_signed(a) % as_signed(b));
}

inline uint32_t divide_unsigned(uint32_t a, uint32_t b) { return b == 0 ? ~0u : a / b; }

inline uint32_t remainder_unsigned(uint32_t a, uint32_t b) { return b == 0 ? a : a % b; }

inline uint32_t high_signed(uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(int64_t{as_signed(a)} * as_signed(b) >> 32);
}

inline uint32_t high_mixed(uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(int64_t{as_signed(a)} * int64_t{b} >> 32);
}

inline uint32_t high_unsigned(uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(uint64_t{a} * b >> 32);
}

}  // namespace spica
