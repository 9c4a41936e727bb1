// Instructions on the float registers of a whole warp, all threads of which must be active.
#pragma once
#include "instructions/lanes.hpp"

namespace spica {

inline constexpr uint32_t kFloats = 32;

// Writes computed values to the float registers of a warp.
inline void take(Warp& warp, const uint32_t* values) {
    for (uint32_t number = 0; number < kFloats; ++number) {
        for (uint32_t at = 0; at < warp.stride; at += kChunk) {
            merge(warp.row(kFloatRow + number) + at, warp.lanes() + at,
                  load(values + number * warp.stride + at));
        }
    }
}

// Raises a fault unless all threads of the warp are active: matrices are spread over all of them.
inline bool require_all_threads(Step& step) {
    const Warp& warp = step.warp;
    if (warp.mask() == warp.all_lanes()) return true;
    return step.fault(Reason::InactiveThreads, warp.mask(), __builtin_popcount(warp.all_lanes()));
}

}  // namespace spica
