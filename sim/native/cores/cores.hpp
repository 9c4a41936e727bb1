// Base of simulated cores: observers, monitors, and the end of a run.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cores/core_monitor.hpp"
#include "cores/core_ports.hpp"
#include "cores/markers.hpp"
#include "observer.hpp"
#include "ports.hpp"
#include "stop_reason.hpp"

namespace spica {

// Quiet cycles after which warps that all wait at barriers are in a deadlock.
constexpr uint64_t kBarrierCycles = 48;

extern "C" struct CoresState {
    uint64_t cycles, last_progress;  // since the start of the run
    uint32_t stop, core;             // `core` is that of the fault
};

class Cores {
public:
    Cores(const PortTable& ports, const Markers& markers);
    virtual ~Cores() = default;

    // Begins a run, from reset if `starts`, else from the end of the previous run.
    virtual void begin(bool starts, uint64_t max_cycles, uint64_t watchdog);
    // Allows accesses of programs to these bytes of DRAM; without any call, all are allowed.
    virtual void allow(uint64_t first, uint64_t last) = 0;
    virtual const std::string& console() const = 0;  // console output
    virtual CoreState core_state(uint32_t core) const {
        return cores_[core]->monitor.state(outputs_.data());
    }
    // Markers that a core has completed.
    const CoreMarks& marks(uint32_t core) const { return markers_.of(core); }
    CoresState state() const;

    // Both runs must have the same observers in the same order.
    virtual void archive(Archive& archive);

    // Stores the outputs of the last cycle if the run stopped for another reason than the cores.
    void keep(const uint32_t* outputs);

    void observe(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }
    void remove_observers() { observers_.clear(); }

    uint32_t count() const { return static_cast<uint32_t>(cores_.size()); }
    const CorePorts& ports(uint32_t core) const { return cores_[core]->ports; }

protected:
    struct Core {
        CorePorts ports;
        CoreMonitor monitor;
    };

    // Calls all observers; returns whether none found a difference.
    bool step_observers(const uint32_t* outputs, const uint32_t* inputs);
    // Updates all monitors and markers; returns the movement of all cores.
    Motion monitor(const uint32_t* outputs);
    // Whether any active warp repeats itself.
    bool repeats(const uint32_t* outputs) const;
    // Records the movement of this cycle.
    void record(const Motion& motion);
    // Cycles without any movement, and cycles without progress: polling moves, but is no progress.
    uint64_t still() const { return now_ - last_movement_; }
    uint64_t stalled() const { return now_ - last_progress_; }
    bool has_fault() const;
    bool is_busy() const;
    bool all_at_barrier(const uint32_t* outputs) const;
    // Counts this cycle unless the run is done; stores the outputs at a stop or at the limit.
    StopReason count_cycle(StopReason stop, const uint32_t* outputs);

    std::vector<std::unique_ptr<Core>> cores_;
    Markers markers_;
    bool starts_ = false;
    uint64_t now_ = 0, limit_ = 0, watchdog_ = 0;
    uint64_t last_movement_ = 0, last_progress_ = 0;

private:
    std::vector<std::unique_ptr<Observer>> observers_;
    std::vector<uint32_t> outputs_;  // outputs of the last cycle
    StopReason stop_ = StopReason::kNone;
};

}  // namespace spica
