// Record of one step of the machine. It includes no header of the machine, so that code which is
// not linked with the machine can use it.
#pragma once
#include <array>
#include <cstdint>

namespace spica {

// Of the generated table.
extern "C" enum class Reason : uint32_t;

namespace iss {

extern "C" {

inline constexpr uint32_t kMaxThreads = 32;
// Most registers that an instruction writes and that a record shows.
inline constexpr uint32_t kMaxResults = 32;
// Rows of a warp's registers: the integer file, the float file, and one for dropped results.
inline constexpr uint32_t kFloatRow = 32, kDroppedRow = 64, kRows = 65;

enum class Stepped : int { Retired, CannotRun, Fault };

struct Fault {
    Reason reason;
    uint32_t core, warp, pc, word, lanes, has_address, address;
    uint32_t first, second;  // of a load or store, `second` is the mask of all faulting lanes
};

// Access of a load or store; after a fault only the addresses are valid. For a store, `before`
// holds the previous memory word around each address, 0 if unmapped. An atomic access is a load of
// its result.
struct Access {
    uint32_t size = 0, is_store = 0;
    std::array<uint32_t, kMaxThreads> addresses{}, data{}, before{};
};

// Per-lane arrays are unchanged if there is no access or no destination register.
struct Retired {
    // Bits of `flags`: reads a performance counter; ends all warps of its core.
    static constexpr uint32_t kReadsCounter = 1, kEndsCore = 2;

    uint32_t core, warp, pc, word, mask, row, flags;  // `row` as in `Decoded`
    // Registers written, consecutive ones that end at `row`.
    uint32_t results;
    std::array<uint32_t, kMaxThreads> values;  // of `row`
    Access access;
    // Values of the other registers, lowest first.
    std::array<std::array<uint32_t, kMaxThreads>, kMaxResults - 1> earlier;
};

}  // extern "C"

}  // namespace iss
}  // namespace spica
