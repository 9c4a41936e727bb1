// Detection of races: conflicting accesses of two agents without an order between them.
//
// The order is happens-before, kept by vector clocks as in FastTrack (Flanagan and Freund, PLDI
// 2009): program order, barriers, starts and ends of warps, commands of units and the waits for
// them, stores and loads of flags, and atomic accesses with an ordering; the words of atomic accesses
// are not checked themselves. Stores to DRAM need fences in addition: one of the storing
// warp before other cores or units can read them, and one of the loading core if it may hold an old
// copy of the line in its L1D.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "config.hpp"
#include "decode.hpp"
#include "races/clocks.hpp"
#include "races/shadow.hpp"
#include "races/updates.hpp"
#include "warp.hpp"

namespace spica {

class Machine;
struct Addresses;
struct Step;
struct TileOperand;

extern "C" {

// Why two accesses have no order. `Command`: the warp has not waited for its own access before it
// starts a unit, `Path`: before it accesses the word at its other address. `Update`: lanes of a warp
// update one word at once.
enum class Lack : uint32_t { None, Order, Fence, Copy, Command, Update, Path };

// The earlier access of a race, and agent, time, kind and bytes of the later one. Agents from the
// number of warps on are streams.
struct RaceReport {
    uint32_t agent, time, pc, is_store, address, lack;
    uint32_t later, later_time, with_store, size;
};

// Rows that a work of a unit reads or writes.
struct UnitRegion {
    uint32_t start, pitch, rows, width, is_store;
};

struct UnitWork {
    uint32_t stream, time;
};

}  // extern "C"

class Races {
public:
    explicit Races(const Config& config);
    void reset();
    // A sleeping warp looks at the units again.
    void resume(const Warp& warp) { current_ = agent_of(warp); }
    // A phase of a transaction barrier completes: its arrivals happen before what follows a wait.
    void complete(uint32_t phase);
    // A warp has observed that the phases of its last wait or test have completed.
    void acquire(const Warp& warp);

    // Before an instruction: completes accesses that it waits for, then checks and records its own.
    // Returns false after a race, with the fault of the step.
    bool enter(Step& step);
    // After an instruction: the order that it makes. Returns false after a race of a command.
    bool leave(Step& step);

    // A unit's work, started by the current instruction, that ends after the works `after`.
    void start(uint32_t stream, const UnitRegion* regions, uint32_t count, const UnitWork* after,
               uint32_t afters);
    void end(uint32_t stream);
    // The current instruction reads that the ended works of a stream are complete.
    void poll(uint32_t stream);
    // Accesses to these bytes make an order and never race.
    void add_flags(uint32_t first, uint32_t last) { flag_ranges_.push_back({first, last}); }
    // Code that clears variables before the program uses them: its stores are their first contents.
    void exempt(uint32_t first, uint32_t last) { clearing_ = {first, last}; }
    const RaceReport& report() const { return report_; }
    // Warp that started a work.
    uint32_t starter(uint32_t stream, uint32_t time) const;

private:
    // Accessing side of a check: `own` is exempt from it, kNobody if none is.
    struct Accessor {
        uint32_t agent, time, pc, own;
        std::optional<uint32_t> core;  // of a warp
        bool is_store;
        Path path = Path::Any;
    };
    struct Copy {
        uint64_t fence = 0;
        std::shared_ptr<const Clock> fenced;
    };
    struct Work {
        uint32_t starter;
        Knowledge known;
    };
    struct Stream {
        std::vector<Work> works;
        uint32_t ended = 0;
        Knowledge known;  // at the end of the last one
    };
    struct CoreState {
        uint64_t fence = 1;  // number of fences, from 1 on
        Clock fenced;        // stores that any copy has that was made since the last fence
        std::unordered_map<uint32_t, Copy> copies;
        uint32_t waiting = 0;
    };
    struct Range {
        uint32_t first, last;
    };

    static constexpr uint32_t kNobody = ~0u;

    uint32_t agent_of(const Warp& warp) const { return warp.core * config_.warps + warp.number; }
    uint32_t core_of(uint32_t agent) const {
        return agent < warps_.size() ? agent / config_.warps : kNobody;
    }
    void drain(uint32_t agent, bool is_fence);
    void synchronise(Step& step);
    void arrive(Step& step);
    Accessor accessor_of(const Step& step, bool is_store) const;
    bool touch_bytes(Step& step, const Accessor& accessor, uint32_t address, uint32_t size,
                     uint32_t lane);
    bool access(Step& step, uint32_t size, bool is_store);
    bool touch(Step& step, const Accessor& accessor, uint32_t address, uint32_t size,
               uint32_t lane);
    bool keeps_updates(Step& step, const Addresses& addresses, uint32_t size);
    void record_load(Step& step, const Addresses& addresses);
    bool touch_flag(uint32_t agent, uint32_t address, bool is_store);
    bool touch_operand(Step& step, const TileOperand& tile);
    bool is_flag(uint32_t address) const;
    bool check(const Accessor& accessor, uint32_t address, uint8_t bytes);
    Lack lack(const Accessor& accessor, const Entry& entry, uint32_t address,
              const Knowledge& known);
    const Clock* copied(uint32_t agent, uint32_t address);
    void join_arrived(Step& step);

    const Config& config_;
    std::vector<Knowledge> warps_;
    std::vector<std::shared_ptr<const Clock>> snapshots_;  // of `fenced` of the warps
    std::vector<CoreState> cores_;
    std::vector<Stream> streams_;
    std::vector<Range> flag_ranges_;
    Range clearing_{1, 0};
    std::unordered_map<uint32_t, Knowledge> flags_;
    // Of transaction barriers by their placed addresses: the past of the arrivals, and of those of
    // phases that have completed.
    std::unordered_map<uint32_t, Knowledge> arrived_, completed_;
    // Barriers of the last wait or test of each warp.
    std::vector<std::vector<uint32_t>> observed_;
    Shadow shadow_;
    std::vector<Updates> updates_;  // of the warps
    uint32_t condition_ = 0;        // loads on which the current `vx_split` depends
    const bool has_copies_;  // whether a core may hold a copy that another agent makes old
    uint32_t current_ = 0, current_pc_ = 0;
    bool has_raced_ = false;  // a work that the current instruction started
    RaceReport report_{};
};

}  // namespace spica
