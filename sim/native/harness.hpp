// What surrounds the design in simulation: DRAM behind its AXI masters, a host, a watchdog; or,
// for cores alone, the memory at their ports. Who looks at cores looks here.
//
// Both engines use it the same way, once per clock cycle: `step` takes the design's outputs as
// they are before the clock edge and gives its inputs for after it.
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
    // The list, where its limit stopped it, may go on up to this cycle of it.
    void go_on(uint64_t max_cycles);
    void step(const uint32_t* outputs, uint32_t* inputs);

    // From then on the design is cores alone, and their memory is simple.
    void add_cores(const CoreMemoryParameters& parameters);
    // From then on it is an observed cluster, where programs may run too.
    void add_cluster(const ClusterCoresParameters& parameters);
    // What the host does when programs begin; the first of it starts the cores.
    void prepare(const Host::Command* commands, size_t count);
    // Host and AXI ports are as in the beginning, as the design is after a reset.
    void renew();
    // From the next cycle on, and at every further run.
    void observe(std::unique_ptr<Observer> observer) { cores->observe(std::move(observer)); }
    // The same, as what keeps the model's memory; before the locksteps of its cores.
    void mirror(const MirrorSetup& setup);
    void forget_observers();
    void begin_cores(bool starts, uint64_t max_cycles, uint64_t watchdog);
    // Shows every cycle from the next on to somebody who only looks, whatever the design is.
    void watch(std::unique_ptr<Observer> watcher) { watchers_.push_back(std::move(watcher)); }

    // Of a harness made in the same way, with the same observers and watchers.
    void archive(Archive& archive);

    bool stopped() const { return stop_ != Stop::kNone; }
    uint64_t cycle() const { return cycle_; }
    HarnessState state() const;
    // What a channel had done when the program's first marker of a beginning was done.
    const ChannelStatistics& marked(uint32_t channel) const { return marked_[channel]; }
    std::string violation() const;

    Memory memory;
    std::vector<FaultRange> faults;
    Host host;
    std::vector<std::unique_ptr<AxiPort>> masters;
    std::unique_ptr<Cores> cores;
    LoneCores* lone = nullptr;        // the same, if they are alone
    ClusterCores* cluster = nullptr;  // if they are in a cluster
    Mirror* mirrored = nullptr;       // in lockstep there

private:
    bool idle(const uint32_t* outputs) const;
    bool masters_idle() const;
    Stop judge(const uint32_t* outputs, bool moved);
    void watch_dma(const uint32_t* outputs);

    const PortTable ports_;
    const DramParameters parameters_;
    const uint32_t access_cycles_;
    std::vector<Host::Command> beginning_;
    bool runs_program_ = false;
    std::vector<Field> busy_;
    std::vector<DmaWrites> dma_;  // as an observed cluster shows them
    uint64_t dma_response_ = 0;
    std::vector<ChannelStatistics> marked_;
    std::vector<std::unique_ptr<Observer>> watchers_;
    Stop stop_ = Stop::kDone;
    uint64_t cycle_ = 0, start_ = 0, limit_ = 0, watchdog_ = 0, last_progress_ = 0;
    uint32_t idle_cycles_ = 0;
    bool stop_on_error_ = true;
};

}  // namespace spica
