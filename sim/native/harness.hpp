// Simulation harness around the design: DRAM behind its AXI masters, host and watchdog; or, for
// cores alone, the memory at their ports. It also holds the observers of cores.
//
// Both engines call `step` once per clock cycle: it takes the design's outputs before the clock
// edge and sets its inputs for after it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory/axi_port.hpp"
#include "cores/cluster_cores.hpp"
#include "memory/dma_writes.hpp"
#include "memory/dram.hpp"
#include "memory/host.hpp"
#include "cores/lone_cores.hpp"
#include "memory/memory.hpp"
#include "memory/mirror.hpp"
#include "observer.hpp"
#include "ports.hpp"
#include "stop_reason.hpp"

namespace spica {

extern "C" struct HarnessState {
    uint32_t stop, current_command, last_read, errors;
    uint64_t cycle, start, first_command, last_response, last_progress;
    uint64_t reads;
};

class Harness {
public:
    Harness(const char* ports, const DramParameters& parameters, uint32_t access_cycles);

    void begin(const Host::Command* commands, size_t count, uint64_t max_cycles,
               uint64_t watchdog, bool stop_on_error);
    // Continues a list that stopped at its limit, up to cycle `max_cycles` of the list.
    void resume(uint64_t max_cycles);
    void step(const uint32_t* outputs, uint32_t* inputs);

    // Declares the design as cores alone, with the simple memory.
    void add_cores(const CoreMemoryParameters& parameters);
    // Declares the design as an observed cluster, which can run programs.
    void add_cluster(const ClusterCoresParameters& parameters);
    // Sets the host commands for the start of programs; the first one starts the cores.
    void prepare(const Host::Command* commands, size_t count);
    // Resets host and AXI ports to their initial state, to match a reset design.
    void renew();
    // Adds an observer of the cores, from the next cycle on.
    void observe(std::unique_ptr<Observer> observer) { cores->observe(std::move(observer)); }
    // Adds the mirror of the model's memory as an observer, before the locksteps of the cores.
    void mirror(const MirrorSetup& setup);
    void remove_observers();
    void begin_cores(bool starts, uint64_t max_cycles, uint64_t watchdog);
    // Adds a passive observer of any design, called in every cycle from the next on.
    void watch(std::unique_ptr<Observer> watcher) { watchers_.push_back(std::move(watcher)); }

    // Both harnesses must be constructed alike, with the same observers and watchers.
    void archive(Archive& archive);

    bool stopped() const { return stop_ != StopReason::kNone; }
    uint64_t cycle() const { return cycle_; }
    HarnessState state() const;
    // Statistics of a channel at the completion of the program's first begin marker.
    const ChannelStatistics& marked(uint32_t channel) const { return marked_[channel]; }
    std::string violation() const;

    Memory memory;
    std::vector<FaultRange> faults;
    Host host;
    std::vector<std::unique_ptr<AxiPort>> masters;
    std::unique_ptr<Cores> cores;
    LoneCores* lone = nullptr;        // `cores`, if they are alone
    ClusterCores* cluster = nullptr;  // `cores`, if they are in a cluster
    Mirror* mirrored = nullptr;       // of a cluster in lockstep

private:
    bool idle(const uint32_t* outputs) const;
    bool masters_idle() const;
    StopReason stop_reason(const uint32_t* outputs, bool moved, bool progressed);
    void watch_dma(const uint32_t* outputs);

    const PortTable ports_;
    const DramParameters parameters_;
    const uint32_t access_cycles_;
    std::vector<Host::Command> beginning_;
    bool runs_program_ = false;
    std::vector<Field> busy_;
    std::vector<DmaWrites> dma_;  // only for an observed cluster
    uint64_t dma_response_ = 0;
    std::vector<ChannelStatistics> marked_;
    std::vector<std::unique_ptr<Observer>> watchers_;
    StopReason stop_ = StopReason::kDone;
    uint64_t cycle_ = 0, start_ = 0, limit_ = 0, watchdog_ = 0, last_progress_ = 0;
    uint32_t idle_cycles_ = 0;
    bool stop_on_error_ = true;
};

}  // namespace spica
