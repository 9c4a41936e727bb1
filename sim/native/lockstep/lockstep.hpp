// A core beside the instruction-set model: everything that one does the other has to do.
//
// The model executes the instructions of a warp in the order in which the core collects them:
// loads and stores when memory accepts their first request and control when it takes them, so
// that both meet memory and each other in the same order, anything else as soon as what is before
// it has been executed. Where an instruction is done before the model has come to it, its result
// is kept and compared then.
//
// Counters that programs read are taken over from the core. Registers hold 0 in the model before
// they are written, and anything in a core. A request of several cycles is executed in the first
// of them: cores that race for the same words may see a difference.
//
// In a cluster a request takes effect later than it is accepted, and units write memory too: a
// `Mirror` keeps the model's. A load that raced with a write of others may find memory before or
// after it, and what it found is taken over, as is what registers of units tell. What is sent to
// units and printed is compared, and the model's units do nothing.
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

// The model, which is in a library of its own.
struct IssCalls {
    void* machine;
    int (*step)(void* machine, uint32_t core, uint32_t warp, iss::Retired* retired);
    void (*write_register)(void* machine, uint32_t core, uint32_t warp, uint32_t row,
                           uint32_t lanes, const uint32_t* values);
    void (*fault)(void* machine, iss::Fault* fault);
};

// What Python knows of the core. `causes` has for each `Reason` of the model the causes by which
// the core may report it: bits of `FaultCause`, from `kMemoryCause` on those of `MemoryFault`.
struct LockstepSetup {
    static constexpr uint32_t kReasons = 64, kMemoryCause = 16;

    IssCalls model;
    uint32_t core;
    uint32_t slot_bits;  // of a request's tag, below the number of the request
    uint32_t integer_port, memory_port, control_port;
    uint32_t misaligned_jump;  // a cause with an address
    uint32_t misaligned, unaddressable, refused;
    uint32_t first_address;  // of all memory
    uint32_t causes[kReasons];
};

struct Difference {
    uint64_t cycle;
    uint32_t core, warp, pc;
    uint32_t form;   // `Form`
    uint32_t lanes;  // of `kLanes`
    uint32_t expected[iss::kMaxThreads], got[iss::kMaxThreads];
    iss::Fault fault;  // of `kFault`; without lanes the model has none
    char what[80];
    // Of a load: whether the core found what was there before a write, which had taken effect by
    // cycle `written`; `writer` is a core, or `Mirror::kNobody` for the DMA.
    uint32_t is_stale, writer;
    uint64_t written;
};

struct FlightState {
    uint64_t collected;
    uint32_t pc, mask, port, is_executed, is_done;
};

}  // extern "C"

// What a difference has beside its words: nothing, two numbers, numbers of lanes, a fault of the
// model and a cause of the core.
enum class Form : uint32_t { kWords, kNumbers, kLanes, kFault };

// Where there is no cause, since the core has no fault.
constexpr uint32_t kNoCause = ~0u;

class Lockstep : public Observer {
public:
    // `mirror` is that of the cluster; none of cores alone.
    Lockstep(const CorePorts& ports, const LockstepSetup& setup, Mirror* mirror);

    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;
    void archive(Archive& archive) override;
    // Nothing more will come; false if something should have.
    bool finish();

    bool agrees() const { return agrees_; }
    const Difference& difference() const { return difference_; }
    uint64_t in_flight(uint32_t warp, FlightState* states, uint64_t most) const;

private:
    struct Warp {
        uint32_t number;
        Flights flights;
        uint64_t next = 0;  // the first that the model has not executed
        bool faults = false;  // in the model
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
    // Words that the model sends, and those that the core does, as far as they are not compared.
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
    void note_refusals(const uint32_t* inputs);
    void retire(const DonePorts& port, const uint32_t* outputs);
    void fault(const uint32_t* outputs);
    void memory_fault(const uint32_t* outputs);

    void take_over(const uint32_t* outputs);
    void take_over(const Warp& warp, Flight& flight, const uint32_t* values);
    void follow_store(const Warp& warp, Flight& flight);
    void end_store(const Flight& flight);
    void explain_stale(const Flight& flight, uint32_t wrong);
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
    std::deque<Place> requests_;      // loads and stores in the order of their dispatch
    std::deque<uint32_t> refusals_;   // threads that memory refused, to be reported
    Sent commands_{"command word", "a command word that the core never sends",
                   "a command word that the model does not send", {}, {}};
    Sent bytes_{"byte printed", "a byte that the core never prints",
                "a byte printed that the model does not print", {}, {}};
    uint64_t now_ = 0;
    bool agrees_ = true, has_ended_ = false;
    Difference difference_{};
};

}  // namespace spica
