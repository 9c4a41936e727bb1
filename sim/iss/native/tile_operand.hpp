// Place of an operand of a product in shared memory.
#pragma once
#include <cstdint>

#include "table.hpp"

namespace spica {

inline constexpr uint32_t kTileOperandBytes = 1024;

// Address at which a byte of a row of 128 bytes is stored; its own inverse.
inline uint32_t swizzled(uint32_t address) {
    constexpr uint32_t units = SWIZZLE_ROW_BYTES / SWIZZLE_UNIT_BYTES;
    return address ^ address / SWIZZLE_ROW_BYTES % units * SWIZZLE_UNIT_BYTES;
}

// Rows of `row_bytes` from `address` on: without a gap, or 128 bytes apart and swizzled.
struct TileOperand {
    uint32_t address, row_bytes, is_swizzled;

    uint32_t first() const {
        return is_swizzled ? address / SWIZZLE_ROW_BYTES * SWIZZLE_ROW_BYTES : address;
    }
    // Bytes within which it lies, from `first` on.
    uint32_t span() const {
        return is_swizzled ? kTileOperandBytes / row_bytes * SWIZZLE_ROW_BYTES : kTileOperandBytes;
    }
    bool is_split() const {
        return is_swizzled && address % SWIZZLE_ROW_BYTES + row_bytes > SWIZZLE_ROW_BYTES;
    }
    // Address of one of its bytes, counted row by row.
    uint32_t place(uint32_t byte) const {
        if (!is_swizzled) return address + byte;
        return swizzled(address + byte / row_bytes * SWIZZLE_ROW_BYTES + byte % row_bytes);
    }
    bool has(uint32_t at) const {
        if (at - first() >= span()) return false;
        return !is_swizzled || (swizzled(at) - address) % SWIZZLE_ROW_BYTES < row_bytes;
    }
};

}  // namespace spica
