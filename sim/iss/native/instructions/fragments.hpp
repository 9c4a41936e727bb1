// Tensor instructions on the fragments of a whole warp; only active lanes write results.
#pragma once
#include "instructions/lanes.hpp"
#include "arithmetic/tensor.hpp"

namespace spica {

inline constexpr uint32_t kFloats = 32, kFirstAccumulator = 16;
inline constexpr uint32_t kTileOperandBytes = 1024;

// Writes a computed fragment to the float registers of a warp.
inline void take(Warp& warp, const uint32_t* values) {
    for (uint32_t each = 0; each < kFloats; ++each) {
        for (uint32_t at = 0; at < warp.stride; at += kChunk) {
            merge(warp.row(kFloatRow + each) + at, warp.lanes() + at,
                  load(values + each * warp.stride + at));
        }
    }
}

inline bool multiply_fragments(Step& step) {
    Warp& warp = step.warp;
    uint32_t set = step.code.destination, registers = FragmentMap{warp.stride}.registers();
    uint32_t last = (kFloats - kFirstAccumulator) / registers - 1;
    if (set > last) return step.fault(Reason::Accumulator, warp.mask(), set, last);
    uint32_t values[kFloats * kMaxThreads];
    std::memcpy(values, warp.row(kFloatRow), sizeof *values * kFloats * warp.stride);
    hmma(step.machine.config.numerics, values, warp.stride, kFirstAccumulator + registers * set);
    take(warp, values);
    return true;
}

inline bool finish_tile(Step& step) {
    PendingTile& tile = step.warp.tile;
    if (tile.is_pending) take(step.warp, tile.c.data());
    tile.is_pending = false;
    return true;
}

inline bool start_tile(Step& step) {
    Warp& warp = step.warp;
    const uint8_t* operands[2];
    for (uint32_t k = 0; k < 2; ++k) {
        uint32_t address = warp.scalar(k == 0 ? step.code.a : step.code.b);
        operands[k] = step.machine.memory.shared(address, kTileOperandBytes);
        uint32_t lane = 1u << warp.last_lane();
        if (operands[k] == nullptr) {
            return step.fault_at(Reason::OperandOutside, lane, address, kTileOperandBytes);
        }
        if (address & 3) return step.fault_at(Reason::OperandMisaligned, lane, address);
    }
    finish_tile(step);
    std::memcpy(warp.tile.c.data(), warp.row(kFloatRow), sizeof warp.tile.c);
    hgmma(operands[0], operands[1], warp.tile.c.data());
    warp.tile.is_pending = true;
    return true;
}

}  // namespace spica
