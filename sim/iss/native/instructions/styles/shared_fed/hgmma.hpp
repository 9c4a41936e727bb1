// Product of operands in shared memory with an accumulator in the registers of a warp.
#pragma once
#include <cstring>

#include "arithmetic/tensor.hpp"
#include "instructions/shared_operands.hpp"
#include "instructions/whole_warp.hpp"

namespace spica {

// Quarters of C are `kSideTiles` x `kSideTiles` tiles.
constexpr unsigned kSideTiles = 2, kSide = kSideTiles * kTile;

// Number of a dense matrix in memory.
inline uint32_t number_at(const TensorNumerics& numerics, const uint8_t* matrix, unsigned index) {
    unsigned bytes = numerics.number_width / 8;
    uint32_t container = 0;
    std::memcpy(&container, matrix + index * bytes, bytes);
    return container >> (numerics.number_width - numerics.magnitude_width - 1);
}

// Place of a number of C in the 32 registers of a warp of eight threads: registers 2 r and 2 r + 1
// hold row r, lane l its columns 2 l and 2 l + 1.
inline uint32_t& tile_place(uint32_t* f, unsigned row, unsigned column) {
    return f[kTile * (2 * row + column % 2) + column / 2];
}

// Product of 1024 bytes of A and of B, dense matrices of 16 rows and of 16 columns; `f` is the 32
// registers of a warp of eight threads. Each quarter of C adds two products of eight words of a row.
inline void hgmma(const TensorNumerics& numerics, const uint8_t* a, const uint8_t* b, uint32_t* f) {
    const unsigned depth = kTile * 32 / numerics.number_width, whole = 2 * depth;
    for (unsigned quarter = 0; quarter < kSideTiles * kSideTiles; ++quarter) {
        unsigned top = quarter / kSideTiles * kTile, left = quarter % kSideTiles * kTile;
        Tile c;
        for (unsigned k = 0; k < kTile * kTile; ++k) {
            c[k / kTile][k % kTile] = tile_place(f, top + k / kTile, left + k % kTile);
        }
        for (unsigned first = 0; first < whole; first += depth) {
            Fragments operands;
            operands.depth = depth;
            for (unsigned line = 0; line < kTile; ++line) {
                for (unsigned k = 0; k < depth; ++k) {
                    unsigned at_a = (top + line) * whole + first + k;
                    unsigned at_b = (first + k) * kSide + left + line;
                    operands.rows[line][k] = number_at(numerics, a, at_a);
                    operands.columns[line][k] = number_at(numerics, b, at_b);
                }
            }
            add_product(numerics, operands, c);
        }
        for (unsigned k = 0; k < kTile * kTile; ++k) {
            tile_place(f, top + k / kTile, left + k % kTile) = c[k / kTile][k % kTile];
        }
    }
}

// Ends the use of the warp's operands; a fault if one of them was written meanwhile.
inline bool release_operands(Step& step) {
    Warp& warp = step.warp;
    Memory& memory = step.machine.memory;
    for (const Operand& operand : memory.operands()) {
        bool is_own = operand.core == warp.core && operand.warp == warp.number;
        if (!is_own || operand.written == 0) continue;
        return step.fault_at(Reason::OperandChanged, warp.mask(), operand.written, operand.pc);
    }
    memory.release_operands(warp.core, warp.number);
    return true;
}

// The product takes effect at once. Its operands must not change until the warp waits for it or
// starts its next product, as the unit reads them meanwhile.
inline bool multiply_tiles(Step& step) {
    if (!require_all_threads(step)) return false;
    Warp& warp = step.warp;
    Memory& memory = step.machine.memory;
    const auto tiles = shared_operands(step);
    uint8_t operands[2][kTileOperandBytes];
    for (uint32_t k = 0; k < 2; ++k) {
        const TileOperand& tile = tiles[k];
        const uint32_t address = tile.address;
        const uint8_t* bytes = step.shared(tile.first(), tile.span());
        uint32_t lane = 1u << warp.last_lane();
        if (bytes == nullptr) {
            return step.fault_at(Reason::OperandOutside, lane, address, tile.span());
        }
        if (address % READ_BYTES != 0) {
            return step.fault_at(Reason::OperandMisaligned, lane, address, READ_BYTES);
        }
        if (tile.is_split()) {
            return step.fault_at(Reason::OperandSplit, lane, address, tile.row_bytes,
                                 SWIZZLE_ROW_BYTES);
        }
        for (uint32_t byte = 0; byte < kTileOperandBytes; byte += SWIZZLE_UNIT_BYTES) {
            std::memcpy(operands[k] + byte, bytes + (tile.place(byte) - tile.first()),
                        SWIZZLE_UNIT_BYTES);
        }
    }
    if (!release_operands(step)) return false;
    uint32_t values[kFloats * kTile];
    std::memcpy(values, warp.row(kFloatRow), sizeof values);
    hgmma(step.machine.config.numerics, operands[0], operands[1], values);
    take(warp, values);
    for (const TileOperand& tile : tiles) {
        const TileOperand placed{step.placed(tile.address), tile.row_bytes, tile.is_swizzled};
        memory.hold({warp.core, warp.number, warp.pc, 0, placed});
    }
    warp.has_product = true;
    return true;
}

inline bool wait_for_products(Step& step) {
    if (!require_all_threads(step)) return false;
    Warp& warp = step.warp;
    if (!warp.has_product) return step.fault(Reason::NoProduct, warp.mask());
    if (!release_operands(step)) return false;
    warp.has_product = false;
    return true;
}

}  // namespace spica
