// Config of the machine, filled in by Python.
#pragma once
#include <cstdint>

#include "arithmetic/numerics.hpp"

namespace spica {

extern "C" enum class Tensor : uint32_t { None, Hmma, Hgmma };

extern "C" struct Config {
    uint32_t cores, warps, threads;
    uint32_t warp_width, thread_width;  // bits of a warp number and of a thread number
    uint32_t stack_depth;
    uint32_t follows_last_lane;  // a divergent branch follows the last lane instead of faulting
    Tensor tensor;
    TensorNumerics numerics;  // of tensor instructions
    uint32_t a_row_bytes, b_row_bytes, is_swizzled;  // operands of hgmma in shared memory
    uint32_t barriers;
    uint32_t has_core_barriers;  // else every barrier spans all cores
    uint32_t shared_bytes;
    uint32_t is_alone;  // without registers of units
    uint32_t line_bytes;  // of an L1D
    uint32_t checks_races, checks_memory;
    uint32_t is_random;
    uint64_t seed;
};

}  // namespace spica
