// Additional parts of the lockstep for a core in a cluster.
#include <bit>

#include "lockstep/lockstep.hpp"

namespace spica {

void Lockstep::take_over(const uint32_t* outputs) {
    for (const DonePorts& port : ports_.done) {
        if (!port.valid.get(outputs)) continue;
        Warp& warp = warps_[port.warp.get(outputs)];
        Flight* flight = find_done(warp, port.pc.get(outputs), port.mask.get(outputs));
        if (flight == nullptr) continue;
        // The model may execute it in this cycle, with instructions that use the value.
        keep_values(*flight, outputs + port.values.offset);
        if (!flight->is_executed) continue;
        take_over(warp, *flight, outputs + port.values.offset);
        if (!has_ended_) advance(warp);
    }
}

// Whether an instruction may use a value that the core has not loaded yet: it was collected while
// the value was on its way to a writeback bus.
bool Lockstep::awaits_load(const Warp& warp, const Flight& flight) const {
    if (!flight.has_pending) return false;
    for (uint64_t number = warp.flights.begin(); number != warp.next; number++) {
        const Flight& earlier = warp.flights[number];
        const iss::Access& access = earlier.retired.access;
        if (!earlier.has_values && access.size != 0 && !access.is_store) return true;
    }
    return false;
}

// Copies loaded values that the model cannot predict: unit registers and racing writes.
void Lockstep::take_over(const Warp& warp, Flight& flight, const uint32_t* values) {
    iss::Retired& retired = flight.retired;
    const iss::Access& access = retired.access;
    if (access.size == 0 || access.is_store || flight.model_faults) return;
    if (retired.row == iss::kDroppedRow) return;
    uint32_t replaced = 0;
    bool is_ignored = false;
    for (uint32_t rest = retired.mask; rest != 0; rest &= rest - 1) {
        uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
        uint32_t expected = retired.values[lane], got = values[lane];
        if (expected == got) continue;
        bool is_known = !mirror_->is_device(access.addresses[lane]);
        uint32_t bits = 8 * access.size;
        bool is_signed = access.size < 4 && !(retired.word >> 14 & 1);
        uint32_t low = access.size < 4 ? got & ((1u << bits) - 1) : got;
        uint32_t filled = is_signed && low >> (bits - 1) & 1 ? low | ~0u << bits : low;
        if (is_known) {
            if (filled != got) continue;
            bool is_racing = mirror_->explains(setup_.core, flight.began, now_,
                                               access.addresses[lane], access.size, expected, got);
            bool is_stale = !is_racing && setup_.ignores_races && missed(flight, lane, got).is_found;
            if (!is_racing && !is_stale) continue;
            is_ignored |= is_stale;
        }
        retired.values[lane] = got;
        replaced |= 1u << lane;
    }
    if (replaced == 0) return;
    ignored_ += is_ignored;
    model_.write_register(model_.machine, setup_.core, warp.number, retired.row, replaced,
                          retired.values.data());
}

// Records the effects of the instruction that the model has just executed: stores, command words.
void Lockstep::follow_store(const Warp& warp, Flight& flight) {
    if (Mirror::has_commands()) {
        for (uint32_t word : Mirror::take_commands()) {
            commands_.expected.push_back({warp.number, flight.pc, word});
        }
        compare_sent(commands_);
    }
    const iss::Access& access = flight.retired.access;
    if (access.size == 0 || !access.is_store) return;
    uint32_t stored = 0;
    for (uint32_t rest = flight.retired.mask; rest != 0; rest &= rest - 1) {
        uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
        uint32_t address = access.addresses[lane];
        if (mirror_->is_console(address)) {
            bytes_.expected.push_back({warp.number, flight.pc, access.data[lane] & 0xFF});
        } else if (!mirror_->is_device(address)) {
            stored |= 1u << lane;
        }
    }
    compare_sent(bytes_);
    flight.first_write = mirror_->begin_store(flight.retired, flight.began, stored);
    flight.writes_made = static_cast<uint32_t>(std::popcount(stored));
    if (flight.is_done) end_store(flight);
}

void Lockstep::end_store(const Flight& flight) {
    if (flight.writes_made != 0) mirror_->end_store(flight.first_write, flight.writes_made, now_);
}

// Determines whether the value in the lowest wrong lane of a load is stale: older than a completed
// write.
void Lockstep::explain_stale(const Flight& flight, uint32_t wrong) {
    const iss::Access& access = flight.retired.access;
    if (mirror_ == nullptr || access.size == 0 || access.is_store) return;
    uint32_t lane = static_cast<uint32_t>(std::countr_zero(wrong));
    Missed store = missed(flight, lane, flight.values[lane]);
    if (!store.is_found) return;
    difference_.is_stale = true;
    difference_.writer = store.writer;
    difference_.writer_warp = store.warp;
    difference_.writer_pc = store.pc;
    difference_.written = store.cycle;
    difference_.address = access.addresses[lane];
}

// Store of others that was complete before a load began whose lane returned the bytes before it.
Missed Lockstep::missed(const Flight& flight, uint32_t lane, uint32_t got) const {
    const iss::Access& access = flight.retired.access;
    return mirror_->missed(setup_.core, flight.began, access.addresses[lane], access.size,
                           flight.retired.values[lane], got);
}

// Whether all faulting lanes access unit registers; the model has no errors of units.
bool Lockstep::is_refused_by_device(const Flight& flight, uint32_t lanes) const {
    if (mirror_ == nullptr || flight.model_faults || lanes == 0) return false;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (!mirror_->is_device(flight.addresses[static_cast<size_t>(std::countr_zero(rest))])) {
            return false;
        }
    }
    return true;
}

void Lockstep::see_sent(const uint32_t* outputs) {
    if (has_ended_) return;
    if (ports_.command.moves(outputs)) {
        commands_.seen.push_back(ports_.command.word.get(outputs));
        compare_sent(commands_);
    }
    if (ports_.console.moves(outputs)) {
        bytes_.seen.push_back(ports_.console.word.get(outputs));
        compare_sent(bytes_);
    }
}

void Lockstep::compare_sent(Sent& sent) {
    while (agrees_ && !sent.expected.empty() && !sent.seen.empty()) {
        const Word word = sent.expected.front();
        uint32_t seen = sent.seen.front();
        sent.expected.pop_front();
        sent.seen.pop_front();
        if (word.word != seen) differ(word.warp, word.pc, sent.what, word.word, seen);
    }
}

void Lockstep::finish_sent(Sent& sent) {
    if (!agrees_ || has_ended_) return;
    if (!sent.expected.empty()) {
        differ(sent.expected.front().warp, sent.expected.front().pc, sent.missing);
    } else if (!sent.seen.empty()) {
        differ(0, 0, sent.surplus);
    }
}

}  // namespace spica
