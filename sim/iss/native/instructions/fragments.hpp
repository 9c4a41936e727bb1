// Tensor instructions on the fragments of a whole warp, all threads of which must be active.
#pragma once
#include "instructions/lanes.hpp"
#include "arithmetic/tensor.hpp"

namespace spica {

inline constexpr uint32_t kFloats = 32, kFirstAccumulator = 16;

// Writes a computed fragment to the float registers of a warp.
inline void take(Warp& warp, const uint32_t* values) {
    for (uint32_t number = 0; number < kFloats; ++number) {
        for (uint32_t at = 0; at < warp.stride; at += kChunk) {
            merge(warp.row(kFloatRow + number) + at, warp.lanes() + at,
                  load(values + number * warp.stride + at));
        }
    }
}

// Raises a fault unless all threads of the warp are active: fragments are spread over all of them.
inline bool require_all_threads(Step& step) {
    const Warp& warp = step.warp;
    if (warp.mask() == warp.all_lanes()) return true;
    return step.fault(Reason::InactiveThreads, warp.mask(), __builtin_popcount(warp.all_lanes()));
}

inline bool multiply_fragments(Step& step) {
    Warp& warp = step.warp;
    uint32_t set = step.code.destination, registers = FragmentMap{warp.stride}.registers();
    uint32_t last = (kFloats - kFirstAccumulator) / registers - 1;
    if (set > last) return step.fault(Reason::Accumulator, warp.mask(), set, last);
    if (!require_all_threads(step)) return false;
    uint32_t values[kFloats * kMaxThreads];
    std::memcpy(values, warp.row(kFloatRow), sizeof *values * kFloats * warp.stride);
    hmma(step.machine.config.numerics, values, warp.stride, kFirstAccumulator + registers * set);
    take(warp, values);
    return true;
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
    const Config& config = step.machine.config;
    const uint32_t row_bytes[] = {config.a_row_bytes, config.b_row_bytes};
    TileOperand tiles[2];
    uint8_t operands[2][kTileOperandBytes];
    for (uint32_t k = 0; k < 2; ++k) {
        uint32_t address = warp.scalar(k == 0 ? step.code.a : step.code.b);
        const TileOperand& tile = tiles[k] = {address, row_bytes[k], config.is_swizzled};
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
