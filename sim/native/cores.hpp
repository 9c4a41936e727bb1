// The cores of a design: memory behind them, who looks at them, and when their run is over.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core_image.hpp"
#include "core_memory.hpp"
#include "core_monitor.hpp"
#include "core_ports.hpp"
#include "observer.hpp"
#include "ports.hpp"
#include "stop.hpp"

namespace spica {

// Cycles without anything under way after which warps that all wait at barriers wait forever.
constexpr uint64_t kBarrierCycles = 48;

struct CoresState {
    uint64_t cycles, last_progress;  // since `start`
    uint32_t stop, core;             // that of the fault
};

class Cores {
public:
    Cores(const PortTable& ports, Memory& dram, const CoreMemoryParameters& parameters);

    static bool exist(const PortTable& ports) { return ports.output("core0_fetch_valid").exists(); }

    // From reset if `starts`, else where the last run ended.
    void begin(bool starts, uint64_t max_cycles, uint64_t watchdog);
    void step(const uint32_t* outputs, uint32_t* inputs);
    void observe(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }
    void forget_observers() { observers_.clear(); }

    Stop stop() const { return stop_; }
    uint32_t count() const { return static_cast<uint32_t>(cores_.size()); }
    const CorePorts& ports(uint32_t core) const { return cores_[core]->ports; }
    CoresState state() const;
    CoreState core_state(uint32_t core) const;
    std::string violation() const;

    CoreImage image;

private:
    struct Core {
        CorePorts ports;
        CoreMemory memory;
        CoreMonitor monitor;
    };
    bool look(const uint32_t* outputs, const uint32_t* inputs);
    bool move(const uint32_t* outputs, uint32_t* inputs);
    Stop judge(const uint32_t* outputs);

    Field start_;
    std::vector<std::unique_ptr<Core>> cores_;
    std::vector<std::unique_ptr<Observer>> observers_;
    std::vector<uint32_t> outputs_;  // of the last cycle
    size_t output_words_ = 0;
    bool starts_ = false;
    Stop stop_ = Stop::kNone;
    uint64_t now_ = 0, limit_ = 0, watchdog_ = 0, last_progress_ = 0;
};

}  // namespace spica
