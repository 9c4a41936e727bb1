// Cores under simulation: who looks at them, what they have done, and when their run is over.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cores/core_monitor.hpp"
#include "cores/core_ports.hpp"
#include "observer.hpp"
#include "ports.hpp"
#include "stop_reason.hpp"

namespace spica {

// Cycles without anything under way after which warps that all wait at barriers wait forever.
constexpr uint64_t kBarrierCycles = 48;

struct CoresState {
    uint64_t cycles, last_progress;  // since the run began
    uint32_t stop, core;             // that of the fault
};

class Cores {
public:
    explicit Cores(const PortTable& ports);
    virtual ~Cores() = default;

    // From reset if `starts`, else where the last run ended.
    virtual void begin(bool starts, uint64_t max_cycles, uint64_t watchdog);
    // Programs may touch these bytes of DRAM, and from the first time on only such.
    virtual void allow(uint64_t first, uint64_t last) = 0;
    virtual const std::string& console() const = 0;  // all that was printed
    virtual CoreState core_state(uint32_t core) const {
        return cores_[core]->monitor.state(outputs_.data());
    }
    CoresState state() const;

    // Observers are those of a run like this one, in their order.
    virtual void archive(Archive& archive);

    // As the cores were left, where something else than they stopped the run.
    void keep(const uint32_t* outputs);

    void observe(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }
    void forget_observers() { observers_.clear(); }

    uint32_t count() const { return static_cast<uint32_t>(cores_.size()); }
    const CorePorts& ports(uint32_t core) const { return cores_[core]->ports; }

protected:
    struct Core {
        CorePorts ports;
        CoreMonitor monitor;
    };

    // Whether all who look agree.
    bool look(const uint32_t* outputs, const uint32_t* inputs);
    // Whether any instruction was collected or done.
    bool monitor(const uint32_t* outputs);
    bool has_fault() const;
    bool is_busy() const;
    bool all_at_barrier(const uint32_t* outputs) const;
    // Counts this cycle, unless all is over; at a stop, and at the limit, outputs are kept.
    Stop count_cycle(Stop stop, const uint32_t* outputs);

    std::vector<std::unique_ptr<Core>> cores_;
    bool starts_ = false;
    uint64_t now_ = 0, limit_ = 0, watchdog_ = 0, last_progress_ = 0;

private:
    std::vector<std::unique_ptr<Observer>> observers_;
    std::vector<uint32_t> outputs_;  // of the last cycle
    Stop stop_ = Stop::kNone;
};

}  // namespace spica
