// The machine's sizes and choices, as the Python side hands them over.
#pragma once
#include <cstdint>

namespace spica {

enum class Tensor : uint32_t { None, Hmma, Hgmma };

struct Config {
    uint32_t cores, warps, threads;
    uint32_t warp_width, thread_width;  // bits of their numbers
    uint32_t stack_depth;
    uint32_t follows_last_lane;  // what a divergent branch does instead of a fault
    Tensor tensor;
    uint32_t barriers;
    uint32_t has_core_barriers;  // else every barrier is one of the cluster
    uint32_t shared_bytes;
    uint32_t is_random;
    uint64_t seed;
};

}  // namespace spica
