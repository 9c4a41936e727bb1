// Config of the machine, filled in by Python.
#pragma once
#include <cstdint>

#include "arithmetic/numerics.hpp"

namespace spica {

extern "C" struct Config {
    uint32_t clusters;
    uint32_t cores, warps, threads;     // cores of all clusters, those of a cluster in a row
    uint32_t warp_width, thread_width;  // bits of a warp number and of a thread number
    uint32_t stack_depth;
    uint32_t follows_last_lane;  // a divergent branch follows the last lane instead of faulting
    uint32_t units;  // bits of its optional units in the patterns of instructions
    uint32_t unit_words;  // state that the tensor unit has for each warp
    TensorNumerics numerics;  // of tensor instructions
    uint32_t a_row_bytes, b_row_bytes, is_swizzled;  // operands in shared memory
    uint32_t barriers;
    uint32_t has_core_barriers;  // else every barrier spans all cores
    uint32_t shared_bytes;
    uint32_t has_atomics, has_transaction_barriers;
    uint32_t is_alone;  // without registers of units
    uint32_t awaits_units, matrices;  // warps can wait for units; matrix units of a cluster
    uint32_t line_bytes;  // of an L1D
    uint32_t checks_races, checks_memory;
    uint32_t is_random;
    uint64_t seed;
};

// Cores of each cluster, and the cluster of a core.
inline uint32_t cluster_cores(const Config& config) { return config.cores / config.clusters; }
inline uint32_t cluster_of(const Config& config, uint32_t core) {
    return core / cluster_cores(config);
}

}  // namespace spica
