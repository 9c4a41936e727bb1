#include "recorders/core_recorder.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "harness.hpp"

namespace spica {

namespace {
constexpr uint32_t kUnknown = ~0u;
constexpr uint64_t kNothing = ~uint64_t{0};
}  // namespace

Recorder::Recorder(const CorePorts& ports, uint32_t core, uint64_t first, uint64_t end,
                   uint64_t limit)
    : ports_(ports),
      core_(core),
      warp_width_(ports.fault.warp.width),
      first_(first),
      end_(end),
      limit_(limit),
      seen_(first),
      slots_seen_(first),
      requested_(size_t{1} << ports.fetch.tag.width, Pair{kNoWarp, 0}),
      offers_(ports.offered.size(), kNothing),
      reasons_(ports.warps(), kUnknown),
      slot_reasons_(ports.slots.size(), kUnknown),
      active_(kUnknown),
      at_barrier_(kUnknown) {}

void Recorder::archive(Archive& archive) {
    archive(now_, seen_, slots_seen_, is_cut_, requested_, offers_, reasons_, slot_reasons_);
    archive(active_, at_barrier_, records_, values_);
}

bool Recorder::step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) {
    // The outcome of the issue slots is visible one cycle later.
    if (now < first_ || now > end_ || is_cut_) return true;
    size_t count = records_.size(), kept_values = values_.size();
    now_ = now;
    if (now > first_) slots(outputs);
    if (now < end_) {
        front(outputs, inputs);
        instructions(outputs);
        memory(outputs, inputs);
        states(outputs);
        faults(outputs);
    }
    if (records_.size() > limit_) {
        is_cut_ = true;
        records_.resize(count);
        values_.resize(kept_values);
        return true;
    }
    seen_ = std::min(now + 1, end_);
    slots_seen_ = now;
    return true;
}

void Recorder::add(RecordKind kind, uint32_t warp, uint32_t place, uint32_t pc, uint32_t mask,
                   uint32_t extra, uint64_t ago) {
    records_.push_back({now_ - ago, kind, static_cast<uint8_t>(core_), static_cast<uint8_t>(warp),
                        static_cast<uint8_t>(place), pc, mask, extra});
}

bool Recorder::changes(uint32_t& state, uint32_t value) const {
    bool is_new = state != value;
    state = value;
    return is_new;
}

void Recorder::front(const uint32_t* outputs, const uint32_t* inputs) {
    const FetchPorts& fetch = ports_.fetch;
    if (fetch.answer.get(inputs)) {
        const Pair& pair = requested_[fetch.answer_tag.get(inputs)];
        const uint32_t* words = inputs + fetch.answer_data.offset;
        add(RecordKind::kFetched, pair.warp, fetch.error.get(inputs), pair.address, words[0],
            words[1]);
    }
    if (fetch.valid.get(outputs) && fetch.ready.get(inputs)) {
        uint32_t tag = fetch.tag.get(outputs), address = fetch.address.get(outputs);
        uint32_t warp = tag & ((1u << warp_width_) - 1);
        requested_[tag] = {warp, address};
        add(RecordKind::kFetch, warp, 0, address, 0, tag);
    }
}

void Recorder::instructions(const uint32_t* outputs) {
    for (size_t slot = 0; slot < ports_.collected.size(); slot++) {
        const CollectedPorts& port = ports_.collected[slot];
        if (!port.valid.get(outputs)) continue;
        uint32_t collector = std::countr_zero(port.collector.get(outputs));
        add(RecordKind::kCollected, port.warp.get(outputs), slot, port.pc.get(outputs),
            port.mask.get(outputs),
            port.port.get(outputs) | port.pending.get(outputs) << 8 | collector << 16);
    }
    for (size_t number = 0; number < ports_.dispatched.size(); number++) {
        const PlacePorts& port = ports_.dispatched[number];
        if (!port.valid.get(outputs)) continue;
        add(RecordKind::kDispatched, port.warp.get(outputs), number, port.pc.get(outputs), 0, 0);
    }
    for (size_t number = 0; number < ports_.offered.size(); number++) {
        const PlacePorts& port = ports_.offered[number];
        if (!port.valid.get(outputs)) {
            offers_[number] = kNothing;
            continue;
        }
        uint32_t warp = port.warp.get(outputs), pc = port.pc.get(outputs);
        uint64_t who = uint64_t{warp} << 32 | pc;
        if (offers_[number] == who) continue;
        offers_[number] = who;
        add(RecordKind::kOffered, warp, number, pc, 0, 0);
    }
    for (size_t bus = 0; bus < ports_.done.size(); bus++) {
        const DonePorts& port = ports_.done[bus];
        if (!port.valid.get(outputs)) continue;
        uint32_t warp = port.warp.get(outputs), pc = port.pc.get(outputs);
        add(RecordKind::kDone, warp, bus, pc, port.mask.get(outputs),
            port.rd.get(outputs) | port.writes.get(outputs) << 8 | port.flags.get(outputs) << 16);
        const uint32_t* words = outputs + port.values.offset;
        values_.insert(values_.end(), words, words + ports_.threads());
        // The next offer is a new one, even of the same instruction in a later iteration.
        std::replace(offers_.begin(), offers_.end(), uint64_t{warp} << 32 | pc, kNothing);
    }
}

void Recorder::memory(const uint32_t* outputs, const uint32_t* inputs) {
    const DataPorts& data = ports_.data;
    if (data.answer.get(inputs)) {
        add(RecordKind::kResponse, kNoWarp, data.error.get(inputs) != 0, 0,
            data.answer_mask.get(inputs), data.answer_tag.get(inputs));
    }
    if (data.valid.get(outputs) && data.ready.get(inputs)) {
        uint32_t mask = data.mask.get(outputs);
        uint32_t lane = mask ? std::countr_zero(mask) : 0;
        add(RecordKind::kRequest, kNoWarp, 0, outputs[data.address.offset + lane], mask,
            data.tag.get(outputs) | data.is_store.get(outputs) << 31);
    }
}

void Recorder::states(const uint32_t* outputs) {
    for (uint32_t warp = 0; warp < reasons_.size(); warp++) {
        uint32_t reason = ports_.reason(outputs, warp);
        if (changes(reasons_[warp], reason)) add(RecordKind::kWarp, warp, 0, 0, 0, reason);
    }
    uint32_t active = ports_.active.get(outputs), waiting = ports_.at_barrier.get(outputs);
    if (changes(active_, active)) add(RecordKind::kActive, kNoWarp, 0, 0, active, 0);
    if (changes(at_barrier_, waiting)) add(RecordKind::kBarrier, kNoWarp, 0, 0, waiting, 0);
}

void Recorder::slots(const uint32_t* outputs) {
    for (uint32_t slot = 0; slot < slot_reasons_.size(); slot++) {
        uint32_t reason = ports_.slots[slot].get(outputs);
        if (changes(slot_reasons_[slot], reason)) {
            add(RecordKind::kSlot, kNoWarp, slot, 0, 0, reason, 1);
        }
    }
}

void Recorder::faults(const uint32_t* outputs) {
    for (const FaultPorts* fault : {&ports_.fault, &ports_.memory_fault}) {
        if (!fault->valid.get(outputs)) continue;
        uint32_t kind = fault == &ports_.memory_fault ? kMemoryCause : 0;
        add(RecordKind::kFault, fault->warp.get(outputs), fault->cause.get(outputs) | kind,
            fault->pc.get(outputs), fault->lanes.get(outputs), fault->address.get(outputs));
    }
}

}  // namespace spica

// C ABI. The cores own a recorder until their next start.
using spica::Recorder;

extern "C" {

struct RecorderState {
    uint64_t records, values, first, end, slots_end;
    uint32_t is_cut;
};

Recorder* harness_recorder_add(spica::Harness* harness, uint32_t core, uint64_t first,
                               uint64_t end, uint64_t limit) {
    auto recorder =
        std::make_unique<Recorder>(harness->cores->ports(core), core, first, end, limit);
    Recorder* added = recorder.get();
    harness->observe(std::move(recorder));
    return added;
}

RecorderState recorder_state(const Recorder* recorder) {
    return {recorder->records().size(), recorder->values().size(), recorder->first(),
            recorder->end(), recorder->slots_end(), recorder->is_cut()};
}

void recorder_copy(const Recorder* recorder, spica::Record* records, uint32_t* values) {
    std::copy(recorder->records().begin(), recorder->records().end(), records);
    std::copy(recorder->values().begin(), recorder->values().end(), values);
}

}  // extern "C"
