// Lockstep of a core with the instruction-set model: compares every effect of every instruction.
//
// The model executes the instructions of a warp in the order in which the core collects them. A
// load or store executes when memory accepts its first request, a control instruction when it is
// dispatched, so that both sides have the same order of memory accesses and control. All others
// execute as soon as their predecessors have. If the core completes an instruction before the model
// executes it, its result is stored and compared then.
//
// Values of performance counters are copied from the core. Registers are 0 in the model before the
// first write, but undefined in a core. A request of several cycles is executed in its first cycle,
// so cores that race for the same words may cause a difference.
//
// In a cluster, a request takes effect later than it is accepted, and units write memory too: a
// `Mirror` updates the model's memory. A load that races with a write of others may return memory
// before or after it; the loaded value is copied to the model, as are values of unit registers.
// Command words and printed bytes are compared; the model's units are inactive.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "../iss/native/retired.hpp"
#include "cores/core_ports.hpp"
#include "lockstep/flights.hpp"
#include "memory/mirror.hpp"
#include "observer.hpp"

namespace spica {

extern "C" {

// Functions of the model, which is in a separate library.
struct IssCalls {
    void* machine;
    int (*step)(void* machine, uint32_t core, uint32_t warp, iss::Retired* retired);
    void (*write_register)(void* machine, uint32_t core, uint32_t warp, uint32_t row,
                           uint32_t lanes, const uint32_t* values);
    iss::Fault (*fault)(void* machine);
};

// Constants of the core, filled in by Python. `causes` holds for each `Reason` of the model the
// causes that the core may report: bits of `FaultCause`, from `kMemoryCause` on of `MemoryFault`;
// `kRace` marks races, which the core cannot report.
struct LockstepSetup {
    static constexpr uint32_t kReasons = 64, kMemoryCause = 16, kRace = 31;

    IssCalls model;
    uint32_t core;
    uint32_t slot_bits;  // lower bits of a request's tag; the part number is above them
    uint32_t integer_port, memory_port, control_port, tensor_port;
    uint32_t misaligned_jump;  // cause with an address
    uint32_t misaligned, unaddressable, refused;
    uint32_t first_address;  // lowest address of memory
    uint32_t ignores_races;  // a load that missed an unfenced store is no difference
    uint32_t causes[kReasons];
};

struct Difference {
    uint64_t cycle;
    uint32_t core, warp, pc;
    uint32_t form;   // `Form`
    uint32_t lanes;  // for `kLanes`
    uint32_t expected[iss::kMaxThreads], got[iss::kMaxThreads];
    iss::Fault fault;  // for `kFault`; `lanes` is 0 if the model has no fault
    char what[80];
    // For a load: whether the core loaded the bytes from before a write that had taken effect by
    // cycle `written`; `writer` is a core, or `kNobody` for the DMA. Of the store of a core also
    // warp and pc; `address` is that of the load.
    uint32_t is_stale, writer, writer_warp, writer_pc, address;
    uint64_t written;
};

struct FlightState {
    uint64_t collected;
    uint32_t pc, mask, port, is_executed, is_done;
};

// Data of a difference besides its text: none, two numbers, numbers per lane, or a fault of the
// model and a cause of the core.
enum class Form : uint32_t { kWords, kNumbers, kLanes, kFault };

// Cause if the core has no fault.
constexpr uint32_t kNoCause = ~0u;

}  // extern "C"

class Lockstep : public Observer {
public:
    // `mirror` is the mirror of the cluster; nullptr for cores alone.
    Lockstep(const CorePorts& ports, const LockstepSetup& setup, Mirror* mirror);

    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;
    void archive(Archive& archive) override;
    // Ends the comparison; false if anything is missing.
    bool finish();

    bool agrees() const { return agrees_; }
    const Difference& difference() const { return difference_; }
    // Loads that missed a store because a fence is missing, if these are ignored.
    uint64_t ignored() const { return ignored_; }
    uint64_t in_flight(uint32_t warp, FlightState* states, uint64_t most) const;

private:
    struct Warp {
        uint32_t number;
        Flights flights;
        uint64_t next = 0;  // first flight that the model has not executed
        bool faults = false;  // the warp has faulted in the model
        bool awaits_counter = false;

        void archive(Archive& archive) { archive(flights, next, faults, awaits_counter); }
    };
    struct Place {
        uint32_t warp;
        uint64_t flight;

        void archive(Archive& archive) { archive(warp, flight); }
    };
    struct Word {
        uint32_t warp, pc, word;
    };
    // Words sent by the model and by the core that are not compared yet.
    struct Sent {
        const char *what, *missing, *surplus;
        std::deque<Word> expected;
        std::deque<uint32_t> seen;

        void archive(Archive& archive) { archive(expected, seen); }
    };

    void collect(const CollectedPorts& port, const uint32_t* outputs);
    void dispatch_control(const uint32_t* outputs);
    void dispatch_memory(const uint32_t* outputs);
    void request(const uint32_t* outputs);
    void record_refusals(const uint32_t* inputs);
    void record_part(const DonePorts& port, const uint32_t* outputs);
    bool compare_parts(const Warp& warp, const Flight& flight);
    void retire(const DonePorts& port, const uint32_t* outputs);
    void fault(const uint32_t* outputs);
    void memory_fault(const uint32_t* outputs);
    void operand_fault(Warp& warp, Flight& flight, const uint32_t* outputs);

    void take_over(const uint32_t* outputs);
    void take_over(const Warp& warp, Flight& flight, const uint32_t* values);
    bool awaits_load(const Warp& warp, const Flight& flight) const;
    void keep_values(Flight& flight, const uint32_t* values);
    void follow_store(const Warp& warp, Flight& flight);
    void end_store(const Flight& flight);
    void explain_stale(const Flight& flight, uint32_t wrong);
    Missed missed(const Flight& flight, uint32_t lane, uint32_t got) const;
    bool is_refused_by_device(const Flight& flight, uint32_t lanes) const;
    void see_sent(const uint32_t* outputs);
    void compare_sent(Sent& sent);
    void finish_sent(Sent& sent);

    void advance(Warp& warp);
    void advance_to(Warp& warp, Flight& flight);
    bool execute(Warp& warp, Flight& flight);
    void import_counter(Warp& warp, const Flight& flight);
    void end_core();
    Flight* find_done(Warp& warp, uint32_t pc, uint32_t mask);
    Flight* find_fault(Warp& warp, uint32_t pc);
    uint32_t wrong_lanes(const Flight& flight, uint32_t& kind) const;

    void compare_place(const Warp& warp, const Flight& flight);
    void compare_request(const Warp& warp, const Flight& flight, uint32_t lanes);
    void compare_result(const Warp& warp, const Flight& flight);
    void compare_cause(const Warp& warp, const Flight& flight, uint32_t cause);

    void differ(uint32_t warp, uint32_t pc, const char* what);
    void differ(uint32_t warp, uint32_t pc, const char* what, uint32_t expected, uint32_t got);
    void differ(uint32_t warp, uint32_t pc, const char* what, uint32_t lanes,
                const uint32_t* expected, const uint32_t* got);
    void differ_by_fault(uint32_t warp, const Flight& flight, const char* what, uint32_t cause);
    void differ_by_fault_of_core(uint32_t warp, uint32_t pc, uint32_t cause);
    void record(uint32_t warp, uint32_t pc, const char* what, Form form);
    bool is_same(const Warp& warp, const Flight& flight, const char* what, uint32_t expected,
                 uint32_t got) {
        if (expected != got) differ(warp.number, flight.pc, what, expected, got);
        return expected == got;
    }

    const CorePorts ports_;
    const LockstepSetup setup_;
    const IssCalls model_;
    Mirror* const mirror_;
    const uint32_t threads_, lanes_;
    std::vector<Warp> warps_;
    std::deque<Place> requests_;      // loads and stores in order of dispatch
    std::deque<uint32_t> refusals_;   // threads with an error response, not yet reported
    Sent commands_{"command word", "a command word that the core never sends",
                   "a command word that the model does not send", {}, {}};
    Sent bytes_{"byte printed", "a byte that the core never prints",
                "a byte printed that the model does not print", {}, {}};
    uint64_t now_ = 0;
    uint64_t ignored_ = 0;
    bool agrees_ = true, has_ended_ = false;
    Difference difference_{};
};

}  // namespace spica
