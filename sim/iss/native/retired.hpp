// What the machine tells who steps it. It includes nothing of the machine, so that others can
// call a machine they are not linked with.
#pragma once
#include <array>
#include <cstdint>

namespace spica {

enum class Reason : uint32_t;  // of the generated table

namespace iss {

inline constexpr uint32_t kMaxThreads = 32;
// Rows of a warp's registers: the integer file, the float file, and one for what x0 drops.
inline constexpr uint32_t kFloatRow = 32, kDroppedRow = 64, kRows = 65;

enum class Stepped : int { Retired, CannotRun, Fault };

struct Fault {
    Reason reason;
    uint32_t core, warp, pc, word, lanes, has_address, address;
    uint32_t first, second;  // of a load or store `second` has the lanes wrong for any reason
};

// What a load or store does; of a fault, the addresses alone. `before` has for a store the word of
// memory around each address as it was, 0 where there is none.
struct Access {
    uint32_t size = 0, is_store = 0;
    std::array<uint32_t, kMaxThreads> addresses{}, data{}, before{};
};

// Without an access, or a register that is written, the numbers of lanes stay as they were.
struct Retired {
    // Of `flags`: it reads a performance counter; it ends all warps of its core.
    static constexpr uint32_t kReadsCounter = 1, kEndsCore = 2;

    uint32_t core, warp, pc, word, mask, row, flags;  // `row` as in `Decoded`
    std::array<uint32_t, kMaxThreads> values;
    Access access;
};

}  // namespace iss
}  // namespace spica
