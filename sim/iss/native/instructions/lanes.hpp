// Operations on all lanes, in chunks of a fixed size that the compiler vectorizes.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#include "instructions/step.hpp"

namespace spica {

struct Chunk {
    alignas(32) uint32_t lane[kChunk];
};

inline Chunk load(const uint32_t* row) {
    Chunk chunk;
    std::memcpy(chunk.lane, row, sizeof chunk.lane);
    return chunk;
}

// Writes the values of active lanes to a row.
inline void merge(uint32_t* row, const uint32_t* active, const Chunk& values) {
    Chunk old = load(row), select = load(active), merged;
    for (uint32_t k = 0; k < kChunk; ++k) {
        merged.lane[k] = (values.lane[k] & select.lane[k]) | (old.lane[k] & ~select.lane[k]);
    }
    std::memcpy(row, merged.lane, sizeof merged.lane);
}

// rd = operation(rs1), for operations that are defined for all bit patterns.
template <typename Operation>
bool map1(Step& step, Operation operation) {
    Warp& warp = step.warp;
    for (uint32_t at = 0; at < warp.stride; at += kChunk) {
        Chunk a = load(warp.row(step.code.a) + at), result;
        for (uint32_t k = 0; k < kChunk; ++k) result.lane[k] = operation(a.lane[k]);
        merge(warp.row(step.code.d) + at, warp.lanes() + at, result);
    }
    return true;
}

// rd = operation(rs1, rs2), for operations that are defined for all bit patterns.
template <typename Operation>
bool map2(Step& step, Operation operation) {
    Warp& warp = step.warp;
    for (uint32_t at = 0; at < warp.stride; at += kChunk) {
        Chunk a = load(warp.row(step.code.a) + at), b = load(warp.row(step.code.b) + at), result;
        for (uint32_t k = 0; k < kChunk; ++k) result.lane[k] = operation(a.lane[k], b.lane[k]);
        merge(warp.row(step.code.d) + at, warp.lanes() + at, result);
    }
    return true;
}

// rd = value, in every lane.
inline bool fill(Step& step, uint32_t value) {
    return map1(step, [=](uint32_t) { return value; });
}

// Calls `action(lane)` for each lane in the mask, lowest first.
template <typename Action>
void for_lanes(uint32_t mask, Action action) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        action(static_cast<uint32_t>(std::countr_zero(rest)));
    }
}

// Mask of the active lanes for which `predicate(rs1, rs2)` holds.
template <typename Predicate>
uint32_t lanes_where(Step& step, Predicate predicate) {
    Warp& warp = step.warp;
    uint32_t lanes = 0;
    for (uint32_t at = 0; at < warp.stride; at += kChunk) {
        Chunk a = load(warp.row(step.code.a) + at), b = load(warp.row(step.code.b) + at);
        uint32_t bits = 0;
        for (uint32_t k = 0; k < kChunk; ++k) {
            bits |= static_cast<uint32_t>(predicate(a.lane[k], b.lane[k])) << k;
        }
        lanes |= bits << at;
    }
    return lanes & warp.mask();
}

inline uint32_t lowest_lane(uint32_t mask) {
    return static_cast<uint32_t>(std::countr_zero(mask));
}

}  // namespace spica
