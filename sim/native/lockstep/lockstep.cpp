#include "lockstep/lockstep.hpp"

#include <algorithm>
#include <bit>

namespace spica {

namespace {
uint32_t mask_of(uint64_t bits) { return static_cast<uint32_t>((uint64_t{1} << bits) - 1); }
}  // namespace

Lockstep::Lockstep(const CorePorts& ports, const LockstepSetup& setup, Mirror* mirror)
    : ports_(ports),
      setup_(setup),
      model_(setup.model),
      mirror_(mirror),
      threads_(ports.threads()),
      lanes_(ports.data.lanes()),
      warps_(ports.warps()) {
    for (uint32_t number = 0; number < warps_.size(); number++) warps_[number].number = number;
}

void Lockstep::archive(Archive& archive) {
    archive(warps_, requests_, refusals_, commands_, bytes_, now_);
    archive(agrees_, has_ended_, difference_, ignored_);
}

bool Lockstep::step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) {
    now_ = now;
    if (!agrees_) return false;
    // Loaded values first, since later instructions use them.
    if (mirror_) take_over(outputs);
    for (const CollectedPorts& collected : ports_.collected) {
        if (collected.valid.get(outputs)) collect(collected, outputs);
    }
    if (ports_.dispatched[setup_.control_port].valid.get(outputs)) dispatch_control(outputs);
    if (ports_.dispatched[setup_.memory_port].valid.get(outputs)) dispatch_memory(outputs);
    // A fault reported here belongs to a request of an earlier cycle, or to a suppressed request.
    if (ports_.memory_fault.valid.get(outputs)) memory_fault(outputs);
    if (ports_.data.valid.get(outputs) && ports_.data.ready.get(inputs)) request(outputs);
    if (ports_.data.answer.get(inputs)) record_refusals(inputs);
    if (mirror_) see_sent(outputs);
    for (size_t bus = 0; bus < ports_.done.size(); bus++) {
        if (ports_.partial[bus].get(outputs)) record_part(ports_.done[bus], outputs);
        if (ports_.done[bus].valid.get(outputs)) retire(ports_.done[bus], outputs);
    }
    if (ports_.fault.valid.get(outputs)) fault(outputs);
    return agrees_;
}

void Lockstep::collect(const CollectedPorts& port, const uint32_t* outputs) {
    if (has_ended_) return;
    Warp& warp = warps_[port.warp.get(outputs)];
    uint32_t pc = port.pc.get(outputs);
    if (warp.faults) {
        const Flight& last = warp.flights[warp.next - 1];
        // Instructions after a faulting load, store or product may still be collected.
        if (last.port != setup_.memory_port && last.port != setup_.tensor_port) {
            return differ_by_fault(warp.number, last, "the model faults, but the core continues",
                                   kNoCause);
        }
    }
    Flight& flight = warp.flights.add();
    flight.collected = now_;
    flight.pc = pc;
    flight.mask = port.mask.get(outputs);
    flight.port = port.port.get(outputs);
    flight.is_dispatched = flight.is_executed = flight.is_done = flight.has_values = false;
    flight.model_faults = flight.core_faults = false;
    bool is_memory = flight.port == setup_.memory_port;
    flight.unrequested = is_memory ? flight.mask : 0;
    flight.requested = flight.writes_made = flight.parts = 0;
    flight.may_execute = !is_memory && flight.port != setup_.control_port;
    flight.has_pending = port.pending.get(outputs) != 0;
    advance(warp);
}

// A control instruction stalls its warp, so it must be the last one collected.
void Lockstep::dispatch_control(const uint32_t* outputs) {
    if (has_ended_) return;
    const PlacePorts& port = ports_.dispatched[setup_.control_port];
    Warp& warp = warps_[port.warp.get(outputs)];
    uint32_t pc = port.pc.get(outputs);
    uint64_t last = warp.flights.end();
    if (last == warp.flights.begin() || warp.flights[last - 1].pc != pc ||
        warp.flights[last - 1].port != setup_.control_port || warp.flights[last - 1].may_execute) {
        return differ(warp.number, pc, "dispatched to control, but not last collected for it");
    }
    warp.flights[last - 1].is_dispatched = warp.flights[last - 1].may_execute = true;
    advance(warp);
}

void Lockstep::dispatch_memory(const uint32_t* outputs) {
    if (has_ended_) return;
    const PlacePorts& port = ports_.dispatched[setup_.memory_port];
    Warp& warp = warps_[port.warp.get(outputs)];
    uint32_t pc = port.pc.get(outputs);
    for (uint64_t number = warp.flights.begin(); number != warp.flights.end(); number++) {
        Flight& flight = warp.flights[number];
        if (flight.port != setup_.memory_port || flight.is_dispatched) continue;
        if (!is_same(warp, flight, "pc of the next load or store dispatched", flight.pc, pc)) {
            return;
        }
        flight.is_dispatched = true;
        requests_.push_back({warp.number, number});
        return;
    }
    differ(warp.number, pc, "dispatched to memory, but not collected for it");
}

// Requests are in order of dispatch, lowest threads first.
void Lockstep::request(const uint32_t* outputs) {
    if (has_ended_) return;
    const DataPorts& port = ports_.data;
    if (requests_.empty()) return differ(0, 0, "a request without a load or store dispatched");
    Warp& warp = warps_[requests_.front().warp];
    Flight& flight = warp.flights[requests_.front().flight];
    uint32_t part = static_cast<uint32_t>(std::countr_zero(flight.unrequested)) / lanes_;
    uint32_t low = part * lanes_, active = flight.unrequested >> low & mask_of(lanes_);
    if (!is_same(warp, flight, "part of the instruction requested", part,
                 port.tag.get(outputs) >> setup_.slot_bits) ||
        !is_same(warp, flight, "lanes requested", active, port.mask.get(outputs))) {
        return;
    }
    flight.is_store = port.is_store.get(outputs);
    if (flight.requested == 0) flight.began = now_;
    for (uint32_t lane = 0; lane < lanes_; lane++) {
        flight.addresses[low + lane] = outputs[port.address.offset + lane];
        flight.data[low + lane] = outputs[port.data.offset + lane];
        flight.strobes[low + lane] = outputs[port.strobes.offset + lane / 8] >> 4 * (lane % 8) & 15;
    }
    flight.requested |= active << low;
    flight.unrequested &= ~(active << low);
    if (flight.unrequested == 0) requests_.pop_front();
    if (flight.is_executed) {
        compare_request(warp, flight, active << low);
    } else {
        flight.may_execute = true;
        advance(warp);
    }
}

// Every error response must be reported as a fault, in the order of the responses.
void Lockstep::record_refusals(const uint32_t* inputs) {
    const DataPorts& port = ports_.data;
    uint32_t refused = port.error.get(inputs) & port.answer_mask.get(inputs);
    if (refused != 0) {
        uint32_t part = port.answer_tag.get(inputs) >> setup_.slot_bits;
        refusals_.push_back(refused << part * lanes_);
    }
}

// Results of an instruction arrive in order; they are compared with the last one.
void Lockstep::record_part(const DonePorts& port, const uint32_t* outputs) {
    Warp& warp = warps_[port.warp.get(outputs)];
    uint32_t pc = port.pc.get(outputs), mask = port.mask.get(outputs);
    Flight* flight = find_done(warp, pc, mask);
    if (flight == nullptr || flight->parts == flight->part.size()) {
        if (!has_ended_) differ(warp.number, pc, "a register was written, but not in flight");
        return;
    }
    Flight::Part& part = flight->part[flight->parts++];
    part.mask = mask;
    part.rd = port.rd.get(outputs);
    std::copy_n(outputs + port.values.offset, threads_, part.values.begin());
}

void Lockstep::keep_values(Flight& flight, const uint32_t* values) {
    flight.has_values = true;
    std::copy_n(values, threads_, flight.values.begin());
}

void Lockstep::retire(const DonePorts& port, const uint32_t* outputs) {
    Warp& warp = warps_[port.warp.get(outputs)];
    uint32_t pc = port.pc.get(outputs), mask = port.mask.get(outputs);
    Flight* flight = find_done(warp, pc, mask);
    if (flight == nullptr) {
        if (!has_ended_) differ(warp.number, pc, "completed, but not in flight");
        return;
    }
    flight->is_done = true;
    flight->result_mask = mask;
    flight->rd = port.rd.get(outputs);
    flight->writes = port.writes.get(outputs);
    keep_values(*flight, outputs + port.values.offset);
    bool is_late = flight->port == setup_.control_port && !flight->may_execute;
    if (!has_ended_ && (is_late || flight->unrequested != 0)) {
        return differ(warp.number, pc, "completed before it was executed");
    }
    end_store(*flight);
    if (flight->is_executed) {
        compare_result(warp, *flight);
        if (flight->retired.flags & iss::Retired::kReadsCounter) {
            import_counter(warp, *flight);
            advance(warp);
        }
    }
    while (warp.flights.begin() != warp.flights.end() &&
           warp.flights[warp.flights.begin()].is_over()) {
        warp.flights.remove_first();
    }
}

void Lockstep::fault(const uint32_t* outputs) {
    if (has_ended_ || !agrees_) return;
    const FaultPorts& port = ports_.fault;
    Warp& warp = warps_[port.warp.get(outputs)];
    uint32_t pc = port.pc.get(outputs), cause = port.cause.get(outputs);
    Flight* flight = find_fault(warp, pc);
    if (flight == nullptr) {
        return differ_by_fault_of_core(warp.number, pc, cause);
    }
    advance_to(warp, *flight);
    if (!agrees_ || !flight->is_executed) return;
    flight->core_faults = true;
    compare_cause(warp, *flight, cause);
    if (!agrees_) return;
    if (!is_same(warp, *flight, "lanes of the fault", flight->fault.lanes,
                 port.lanes.get(outputs))) {
        return;
    }
    if (cause == setup_.misaligned_jump) {
        is_same(warp, *flight, "address of the fault", flight->fault.address,
                port.address.get(outputs));
    }
}

void Lockstep::memory_fault(const uint32_t* outputs) {
    if (has_ended_) return;
    const FaultPorts& port = ports_.memory_fault;
    Warp& warp = warps_[port.warp.get(outputs)];
    uint32_t pc = port.pc.get(outputs), kind = port.cause.get(outputs);
    uint32_t cause = LockstepSetup::kMemoryCause + kind, lanes = port.lanes.get(outputs);
    Flight* flight = find_fault(warp, pc);
    if (flight != nullptr && flight->port == setup_.tensor_port) {
        return operand_fault(warp, *flight, outputs);
    }
    if (kind != setup_.refused) {
        // The instruction is not requested at all; it was the next one to be requested.
        bool is_next = !requests_.empty() && requests_.front().warp == warp.number;
        flight = is_next ? &warp.flights[requests_.front().flight] : nullptr;
        if (flight != nullptr && flight->pc != pc) flight = nullptr;
        if (flight != nullptr) {
            requests_.pop_front();
            flight->unrequested = 0;
        }
    }
    if (flight == nullptr || flight->port != setup_.memory_port) {
        return differ_by_fault_of_core(warp.number, pc, cause);
    }
    advance_to(warp, *flight);
    // The model stops at the first fault of a warp, while memory may continue.
    if (!agrees_ || !flight->is_executed) return;
    flight->core_faults = true;
    if (kind == setup_.refused && is_refused_by_device(*flight, lanes)) return;
    compare_cause(warp, *flight, cause);
    if (!agrees_) return;
    uint32_t expected_kind = setup_.refused;
    uint32_t expected = wrong_lanes(*flight, expected_kind);
    if (!is_same(warp, *flight, "kind of the memory fault", expected_kind, kind)) return;
    if (kind == setup_.refused) {
        if (refusals_.empty() || lanes == 0 || lanes & ~flight->fault.second) {
            return differ(warp.number, pc, "lanes of the fault", flight->fault.second, lanes);
        }
        expected = refusals_.front();
        refusals_.pop_front();
    }
    if (!is_same(warp, *flight, "lanes of the fault", expected, lanes)) return;
    uint32_t lowest = static_cast<uint32_t>(std::countr_zero(lanes));
    is_same(warp, *flight, "address of the fault", flight->retired.access.addresses[lowest],
            port.address.get(outputs));
}

// Fault of a product, whose operands are not in shared memory.
void Lockstep::operand_fault(Warp& warp, Flight& flight, const uint32_t* outputs) {
    const FaultPorts& port = ports_.memory_fault;
    advance_to(warp, flight);
    if (!agrees_ || !flight.is_executed) return;
    flight.core_faults = true;
    compare_cause(warp, flight, LockstepSetup::kMemoryCause + port.cause.get(outputs));
    if (!agrees_) return;
    if (!is_same(warp, flight, "lanes of the fault", flight.fault.lanes,
                 port.lanes.get(outputs))) {
        return;
    }
    is_same(warp, flight, "address of the fault", flight.fault.address,
            port.address.get(outputs));
}

bool Lockstep::finish() {
    for (Warp& warp : warps_) {
        for (uint64_t number = warp.flights.begin(); number != warp.flights.end(); number++) {
            const Flight& flight = warp.flights[number];
            if (has_ended_ && (flight.model_faults || !flight.is_executed)) continue;
            if (flight.model_faults && !flight.core_faults) {
                differ_by_fault(warp.number, flight, "the model faults, but the core does not",
                                kNoCause);
            }
            if (!flight.is_done && !flight.core_faults) {
                differ(warp.number, flight.pc, "collected, but never completed");
            }
        }
    }
    finish_sent(commands_);
    finish_sent(bytes_);
    return agrees_;
}

uint64_t Lockstep::in_flight(uint32_t number, FlightState* states, uint64_t most) const {
    const Flights& flights = warps_[number].flights;
    uint64_t count = 0;
    for (uint64_t k = flights.begin(); k != flights.end() && count < most; k++) {
        const Flight& flight = flights[k];
        if (flight.is_over()) continue;
        states[count++] = {flight.collected, flight.pc,          flight.mask,
                           flight.port,      flight.is_executed, flight.is_done};
    }
    return count;
}

}  // namespace spica
