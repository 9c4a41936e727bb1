#include "cores/lone_cores.hpp"

namespace spica {

LoneCores::LoneCores(const PortTable& ports, Memory& dram, const CoreMemoryParameters& parameters)
    : Cores(ports, {dram, parameters.begin_marker, parameters.end_marker}),
      image(dram, parameters),
      start_(ports.input("start")) {
    for (uint32_t number = 0; number < count(); number++) {
        memories_.push_back(
            std::make_unique<CoreMemory>(cores_[number]->ports, image, parameters, number));
    }
}

void LoneCores::begin(bool starts, uint64_t max_cycles, uint64_t watchdog) {
    Cores::begin(starts, max_cycles, watchdog);
    if (!starts) return;
    image.console.clear();
    for (auto& memory : memories_) memory->reset();
}

void LoneCores::archive(Archive& archive) {
    Cores::archive(archive);
    archive(image);
    for (auto& memory : memories_) archive(*memory);
}

StopReason LoneCores::step(const uint32_t* outputs, uint32_t* inputs) {
    // The inputs set here are for the next cycle, which is cycle 0.
    if (starts_) {
        starts_ = false;
        start_.set(inputs, 1);
        return StopReason::kNone;
    }
    bool agrees = step_observers(outputs, inputs);
    record(move(outputs, inputs));
    start_.set(inputs, 0);
    return count_cycle(agrees ? stop_reason(outputs) : StopReason::kMismatch, outputs);
}

Motion LoneCores::move(const uint32_t* outputs, uint32_t* inputs) {
    Motion motion = monitor(outputs);
    bool transfers = false;
    for (auto& memory : memories_) transfers |= memory->step(now_, outputs, inputs);
    motion.moved |= transfers;
    motion.progressed |= transfers && !repeats(outputs);
    return motion;
}

StopReason LoneCores::stop_reason(const uint32_t* outputs) {
    bool is_pending = false;
    for (auto& memory : memories_) {
        if (!memory->violation().empty()) return StopReason::kViolation;
        is_pending |= memory->pending_fetches() != 0 || memory->pending_requests() != 0;
    }
    if (has_fault()) return StopReason::kFault;
    if (!is_busy() && !is_pending) return StopReason::kDone;
    if (still() >= kBarrierCycles && all_at_barrier(outputs) && !is_pending) {
        return StopReason::kDeadlock;
    }
    return stalled() >= watchdog_ ? StopReason::kHang : StopReason::kNone;
}

CoreState LoneCores::core_state(uint32_t number) const {
    CoreState state = Cores::core_state(number);
    const CoreMemory& memory = *memories_[number];
    state.pending_fetches = memory.pending_fetches();
    state.pending_requests = memory.pending_requests();
    state.fetches = memory.fetches;
    state.loads = memory.loads;
    state.stores = memory.stores;
    return state;
}

std::string LoneCores::violation() const {
    for (const auto& memory : memories_) {
        if (!memory->violation().empty()) return memory->violation();
    }
    return {};
}

}  // namespace spica
