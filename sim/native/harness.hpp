// What surrounds the design in simulation: DRAM behind its AXI masters, a host, a watchdog; or,
// for cores alone, the memory at their ports and who looks at them.
//
// Both engines use it the same way, once per clock cycle: `step` takes the design's outputs as
// they are before the clock edge and gives its inputs for after it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "axi_port.hpp"
#include "cores.hpp"
#include "dram.hpp"
#include "host.hpp"
#include "memory.hpp"
#include "observer.hpp"
#include "ports.hpp"
#include "stop.hpp"

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
    void step(const uint32_t* outputs, uint32_t* inputs);

    // From then on the design is cores alone, and their memory is simple.
    void add_cores(const CoreMemoryParameters& parameters);
    // From the next cycle on, and at every further run.
    void observe(std::unique_ptr<Observer> observer) { cores->observe(std::move(observer)); }
    void begin_cores(bool starts, uint64_t max_cycles, uint64_t watchdog);

    bool stopped() const { return stop_ != Stop::kNone; }
    uint64_t cycle() const { return cycle_; }
    HarnessState state() const;
    std::string violation() const;

    Memory memory;
    std::vector<FaultRange> faults;
    Host host;
    std::vector<std::unique_ptr<AxiPort>> masters;
    std::unique_ptr<Cores> cores;

private:
    bool idle(const uint32_t* outputs) const;

    const PortTable ports_;
    std::vector<Field> busy_;
    Stop stop_ = Stop::kDone;
    uint64_t cycle_ = 0, start_ = 0, limit_ = 0, watchdog_ = 0, last_progress_ = 0;
    uint32_t idle_cycles_ = 0;
    bool stop_on_error_ = true;
};

}  // namespace spica
