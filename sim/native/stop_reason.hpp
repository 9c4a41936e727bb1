// Stop reasons of a run.
#pragma once
#include <cstdint>

namespace spica {

extern "C" enum class StopReason : uint32_t {
    kNone,
    kDone,
    kHostError,
    kViolation,
    kHang,
    kLimit,
    kFault,
    kMismatch,
    kDeadlock,
};

}  // namespace spica
