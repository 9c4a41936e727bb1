// Model side of a lockstep: order of execution, and comparison of results.
#include <algorithm>
#include <bit>
#include <cstdio>

#include "lockstep/lockstep.hpp"

namespace spica {

// Executes all instructions of a warp that the model may execute now.
void Lockstep::advance(Warp& warp) {
    while (warp.next != warp.flights.end() && !warp.faults && !warp.awaits_counter) {
        Flight& flight = warp.flights[warp.next];
        if (!flight.may_execute || (mirror_ && awaits_load(warp, flight))) return;
        if (!execute(warp, flight)) return;
    }
}

// Executes up to a faulting flight, even if earlier flights wait for memory.
void Lockstep::advance_to(Warp& warp, Flight& flight) {
    warp.awaits_counter = false;
    while (!flight.is_executed && !warp.faults && warp.next != warp.flights.end()) {
        if (!execute(warp, warp.flights[warp.next])) return;
        warp.awaits_counter = false;
    }
}

bool Lockstep::execute(Warp& warp, Flight& flight) {
    int stepped = model_.step(model_.machine, setup_.core, warp.number, &flight.retired);
    if (stepped == static_cast<int>(iss::Stepped::CannotRun)) {
        differ(warp.number, flight.pc, "the model's warp has ended or waits at a barrier");
        return false;
    }
    flight.is_executed = true;
    warp.next++;
    if (stepped == static_cast<int>(iss::Stepped::Fault)) {
        flight.model_faults = warp.faults = true;
        flight.fault = model_.fault(model_.machine);
        uint32_t reason = static_cast<uint32_t>(flight.fault.reason);
        if (reason < LockstepSetup::kReasons && (setup_.causes[reason] >> LockstepSetup::kRace & 1)) {
            differ_by_fault(warp.number, flight, "only the model reports a fault", kNoCause);
            return false;
        }
    }
    if (mirror_ && agrees_ && !flight.model_faults) {
        follow_store(warp, flight);
        if (flight.has_values) take_over(warp, flight, flight.values.data());
    }
    compare_place(warp, flight);
    if (agrees_ && flight.requested != 0) compare_request(warp, flight, flight.requested);
    if (agrees_ && flight.is_done) compare_result(warp, flight);
    if (!agrees_ || flight.model_faults) return agrees_;
    if (flight.retired.flags & iss::Retired::kEndsCore) end_core();
    if (flight.retired.flags & iss::Retired::kReadsCounter) {
        if (flight.is_done) {
            import_counter(warp, flight);
        } else {
            warp.awaits_counter = true;
        }
    }
    return true;
}

void Lockstep::import_counter(Warp& warp, const Flight& flight) {
    warp.awaits_counter = false;
    if (flight.retired.row == iss::kDroppedRow) return;
    model_.write_register(model_.machine, setup_.core, warp.number, flight.retired.row,
                          flight.retired.mask, flight.values.data());
}

// Removes the flights that the model has not executed and never will; the core may execute them.
void Lockstep::end_core() {
    has_ended_ = true;
    requests_.clear();
    for (Warp& warp : warps_) warp.flights.cut(warp.next);
}

// Oldest flight at this pc that is not done; one with this mask is preferred.
Flight* Lockstep::find_done(Warp& warp, uint32_t pc, uint32_t mask) {
    Flight* oldest = nullptr;
    for (uint64_t number = warp.flights.begin(); number != warp.flights.end(); number++) {
        Flight& flight = warp.flights[number];
        if (flight.is_done || flight.pc != pc) continue;
        if (flight.mask == mask) return &flight;
        if (oldest == nullptr) oldest = &flight;
    }
    return oldest;
}

// Oldest flight at this pc that can still fault; one that faults in the model is preferred.
Flight* Lockstep::find_fault(Warp& warp, uint32_t pc) {
    Flight* oldest = nullptr;
    for (uint64_t number = warp.flights.begin(); number != warp.flights.end(); number++) {
        Flight& flight = warp.flights[number];
        if (flight.pc != pc) continue;
        if (flight.model_faults) return &flight;
        if (oldest == nullptr && !flight.is_over()) oldest = &flight;
    }
    return oldest;
}

// Threads whose addresses cannot be requested, as the core reports them. Sets `kind` to the reason;
// `kind` is unchanged if there are none.
uint32_t Lockstep::wrong_lanes(const Flight& flight, uint32_t& kind) const {
    const iss::Access& access = flight.retired.access;
    uint32_t misaligned = 0, outside = 0;
    for (uint32_t lane = 0; lane < threads_; lane++) {
        if (!(flight.retired.mask >> lane & 1)) continue;
        uint32_t address = access.addresses[lane];
        if (address & (access.size - 1)) {
            misaligned |= 1u << lane;
        } else if (address < setup_.first_address) {
            outside |= 1u << lane;
        }
    }
    uint32_t wrong = misaligned | outside;
    if (wrong == 0) return 0;
    bool is_misaligned = misaligned & (wrong & -wrong);
    kind = is_misaligned ? setup_.misaligned : setup_.unaddressable;
    return is_misaligned ? misaligned : outside;
}

void Lockstep::compare_place(const Warp& warp, const Flight& flight) {
    const iss::Retired& retired = flight.retired;
    if (!is_same(warp, flight, "pc", retired.pc, flight.pc)) return;
    if (!is_same(warp, flight, "mask", retired.mask, flight.mask)) return;
    bool is_memory = flight.port == setup_.memory_port;
    if (is_memory != (retired.access.size != 0)) {
        differ(warp.number, flight.pc,
               is_memory ? "sent to memory, but neither load nor store"
                         : "a load or store that is not sent to memory");
    }
}

void Lockstep::compare_request(const Warp& warp, const Flight& flight, uint32_t lanes) {
    const iss::Access& access = flight.retired.access;
    uint32_t kind = setup_.refused;
    if (flight.model_faults && wrong_lanes(flight, kind) != 0) {
        return differ_by_fault(warp.number, flight, "requested, but the model faults", kNoCause);
    }
    if (!is_same(warp, flight, "request is a store", access.is_store, flight.is_store)) return;
    Flight::Words strobes, data, stored;
    uint32_t wrong_address = 0, wrong_strobes = 0, wrong_data = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
        uint32_t address = access.addresses[lane], shift = 8 * (address & 3);
        uint32_t bytes = access.size == 4 ? ~0u : (1u << 8 * access.size) - 1;
        strobes[lane] = ((1u << access.size) - 1) << (address & 3);
        data[lane] = access.data[lane] & bytes;
        stored[lane] = flight.data[lane] >> shift & bytes;
        wrong_address |= uint32_t{address != flight.addresses[lane]} << lane;
        wrong_strobes |= uint32_t{strobes[lane] != flight.strobes[lane]} << lane;
        wrong_data |= uint32_t{data[lane] != stored[lane]} << lane;
    }
    if (wrong_address != 0) {
        differ(warp.number, flight.pc, "address", wrong_address, access.addresses.data(),
               flight.addresses.data());
    } else if (access.is_store && wrong_strobes != 0) {
        differ(warp.number, flight.pc, "bytes stored", wrong_strobes, strobes.data(),
               flight.strobes.data());
    } else if (access.is_store && wrong_data != 0) {
        differ(warp.number, flight.pc, "data stored", wrong_data, data.data(), stored.data());
    }
}

void Lockstep::compare_result(const Warp& warp, const Flight& flight) {
    const iss::Retired& retired = flight.retired;
    if (flight.model_faults) {
        // Faulting branches and control instructions also complete, with a result that writes
        // nothing.
        if (flight.port != setup_.integer_port && flight.port != setup_.control_port) {
            differ_by_fault(warp.number, flight, "the model faults, but the core does not",
                            kNoCause);
        }
        return;
    }
    if (!compare_parts(warp, flight)) return;
    bool writes = retired.row != iss::kDroppedRow;
    if (!is_same(warp, flight, "mask of the result", retired.mask, flight.result_mask) ||
        !is_same(warp, flight, "result is written", writes, flight.writes)) {
        return;
    }
    if (!writes || !is_same(warp, flight, "destination", retired.row, flight.rd)) return;
    if (retired.flags & iss::Retired::kReadsCounter) return;
    uint32_t wrong = 0;
    for (uint32_t lane = 0; lane < threads_; lane++) {
        wrong |= uint32_t{retired.values[lane] != flight.values[lane]} << lane;
    }
    wrong &= retired.mask;
    if (wrong != 0) {
        differ(warp.number, flight.pc, "result", wrong, retired.values.data(),
               flight.values.data());
        explain_stale(flight, wrong);
    }
}

// Compares the results before the last one; returns whether they are equal.
bool Lockstep::compare_parts(const Warp& warp, const Flight& flight) {
    const iss::Retired& retired = flight.retired;
    if (!is_same(warp, flight, "registers written", retired.results, flight.parts + 1)) {
        return false;
    }
    for (uint32_t k = 0; k < flight.parts; k++) {
        const Flight::Part& part = flight.part[k];
        if (!is_same(warp, flight, "mask of the result", retired.mask, part.mask) ||
            !is_same(warp, flight, "destination", retired.row - flight.parts + k, part.rd)) {
            return false;
        }
        uint32_t wrong = 0;
        for (uint32_t lane = 0; lane < threads_; lane++) {
            wrong |= uint32_t{retired.earlier[k][lane] != part.values[lane]} << lane;
        }
        wrong &= retired.mask;
        if (wrong == 0) continue;
        char what[sizeof Difference::what];
        std::snprintf(what, sizeof what, "result %u of %u", k + 1, flight.parts + 1);
        differ(warp.number, flight.pc, what, wrong, retired.earlier[k].data(),
               part.values.data());
        return false;
    }
    return true;
}

void Lockstep::compare_cause(const Warp& warp, const Flight& flight, uint32_t cause) {
    if (!flight.model_faults) {
        return differ_by_fault_of_core(warp.number, flight.pc, cause);
    }
    uint32_t reason = static_cast<uint32_t>(flight.fault.reason);
    uint32_t kind = setup_.refused, lanes = 0;
    if (cause >= LockstepSetup::kMemoryCause && flight.port == setup_.memory_port) {
        lanes = wrong_lanes(flight, kind);
    }
    // The model reports the reason of the lowest lane. The core first reports lanes that it does
    // not request.
    if (lanes != 0 && !(flight.fault.lanes >> std::countr_zero(lanes) & 1)) return;
    if (reason >= LockstepSetup::kReasons || !(setup_.causes[reason] >> cause & 1)) {
        differ_by_fault(warp.number, flight, "cause of the fault", cause);
    }
}

void Lockstep::record(uint32_t warp, uint32_t pc, const char* what, Form form) {
    agrees_ = false;
    difference_ = {};
    difference_.cycle = now_;
    difference_.core = setup_.core;
    difference_.warp = warp;
    difference_.pc = pc;
    difference_.form = static_cast<uint32_t>(form);
    std::snprintf(difference_.what, sizeof difference_.what, "%s", what);
}

void Lockstep::differ(uint32_t warp, uint32_t pc, const char* what) {
    if (agrees_) record(warp, pc, what, Form::kWords);
}

void Lockstep::differ(uint32_t warp, uint32_t pc, const char* what, uint32_t expected,
                      uint32_t got) {
    if (!agrees_) return;
    record(warp, pc, what, Form::kNumbers);
    difference_.expected[0] = expected;
    difference_.got[0] = got;
}

void Lockstep::differ(uint32_t warp, uint32_t pc, const char* what, uint32_t lanes,
                      const uint32_t* expected, const uint32_t* got) {
    if (!agrees_) return;
    record(warp, pc, what, Form::kLanes);
    difference_.lanes = lanes;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
        difference_.expected[lane] = expected[lane];
        difference_.got[lane] = got[lane];
    }
}

void Lockstep::differ_by_fault(uint32_t warp, const Flight& flight, const char* what,
                               uint32_t cause) {
    if (!agrees_) return;
    record(warp, flight.pc, what, Form::kFault);
    difference_.fault = flight.fault;
    difference_.got[0] = cause;
}

void Lockstep::differ_by_fault_of_core(uint32_t warp, uint32_t pc, uint32_t cause) {
    if (!agrees_) return;
    record(warp, pc, "the core faults, but the model does not", Form::kFault);
    difference_.got[0] = cause;
}

}  // namespace spica
