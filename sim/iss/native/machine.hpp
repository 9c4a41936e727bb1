// Machine of the instruction-set model: cores with warps, memory, barriers, scheduling.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "barriers.hpp"
#include "memory.hpp"
#include "retired.hpp"
#include "sent_words.hpp"
#include "warp.hpp"

namespace spica {

using iss::Access;
using iss::Fault;
using iss::Retired;

// Host callbacks for loads and stores of unit registers; they return 0 to end the run.
extern "C" struct Devices {
    int (*read)(uint32_t offset, uint32_t* value) = nullptr;
    int (*write)(uint32_t offset, uint32_t value) = nullptr;
    int (*cisc)(uint32_t word) = nullptr;
    // State of a warp that sleeps until the register at `offset` reaches `n`.
    int (*wait)(uint32_t offset, uint32_t n, uint32_t* sleep) = nullptr;
};

// State of a sleeping warp: its condition does not hold yet, holds, or cannot hold before a unit
// gets new work.
extern "C" enum class Sleep : uint32_t {
    Pending,
    Over,
    Stuck,
};

// Program of a cluster: its cores start at `entry`, if it starts at all.
struct Launch {
    uint32_t entry, arguments, starts;
};

struct Counts {
    std::array<uint64_t, kOps> operations{};
    uint64_t thread_instructions = 0, divergent_splits = 0;
};

// Stacks of threads: `bytes` for each, below `top` and one after the other; 0 bytes for no limit.
struct StackLimit {
    uint32_t top = 0, bytes = 0;
};

class Races;
class MemoryCheck;

class Machine {
public:
    using Stepped = iss::Stepped;

    explicit Machine(const Config& config);
    ~Machine();

    void reset(const Launch* programs);
    // Runs up to `limit` instructions; returns `Limit` if the program has not ended.
    StopReason run(uint64_t limit);
    // Executes one instruction of a warp, without the checks.
    Stepped step(uint32_t core, uint32_t warp, Retired& retired);

    uint32_t cluster_of(uint32_t core) const { return spica::cluster_of(config, core); }
    Warp& warp(uint32_t core, uint32_t number) { return *warps_[core * config.warps + number]; }
    uint64_t instructions() const;
    bool is_done() const;
    // Units of a cluster have new work: its warps that sleep are looked at again.
    void wake(uint32_t cluster);
    // A phase of a transaction barrier has completed: warps wake that sleep for nothing else.
    void complete_phase(uint32_t phase);
    // Drops the lowest awaited lanes whose phases have completed; returns whether any is left.
    bool awaits_phase(Warp& warp);
    // Archives everything except the devices, which belong to the host.
    void archive(Archive& archive);

    const Config config;
    Memory memory;
    std::vector<Core> cores;
    Barriers barriers;
    // Checks of accesses, nullptr unless they are on; never archived.
    const std::unique_ptr<Races> races;
    const std::unique_ptr<MemoryCheck> memory_check;
    std::vector<Devices> devices;   // of each cluster
    std::vector<Launch> launches;  // of each cluster
    Counts counts;
    Fault fault{};
    StackLimit stacks;
    SentWords sent;
    std::string console;
    std::vector<uint8_t> saved;  // bytes of the last `iss_save`

private:
    bool can_run() const;
    Warp* next_in_turn();
    Warp* next_random();
    Warp* next() { return config.is_random ? next_random() : next_in_turn(); }
    Decoded* fetch(Warp& warp);
    bool fetch_fault(Warp& warp, Reason reason, uint32_t word);
    // Executes an instruction; false after a fault. Compiled twice, so that the checks cost nothing
    // unless one is on.
    template <bool kChecks>
    bool execute_one(Warp& warp);
    uint64_t random();
    // Looks at a warp that may sleep; returns whether it executes. False with `fails` after a fault.
    bool is_awake(Warp& warp, bool& fails);

    std::vector<std::unique_ptr<Warp>> warps_;
    uint32_t turn_core_ = 0, turn_warp_ = 0;
    uint64_t random_state_ = 0;
};

}  // namespace spica
