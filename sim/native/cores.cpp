#include "cores.hpp"

#include <algorithm>

namespace spica {

Cores::Cores(const PortTable& ports, Memory& dram, const CoreMemoryParameters& parameters)
    : image(dram, parameters), start_(ports.input("start")) {
    for (uint32_t number = 0;; number++) {
        std::string name = "core" + std::to_string(number);
        if (!ports.output(name + "_fetch_valid").exists()) break;
        CorePorts core(ports, name);
        cores_.push_back(std::make_unique<Core>(
            Core{core, CoreMemory(core, image, parameters, number), CoreMonitor(core)}));
    }
    for (const auto& [name, field] : ports.outputs()) {
        output_words_ = std::max(output_words_, field.offset + (size_t{field.width} + 31) / 32);
    }
    outputs_.resize(output_words_);
}

void Cores::begin(bool starts, uint64_t max_cycles, uint64_t watchdog) {
    starts_ = starts;
    stop_ = Stop::kNone;
    watchdog_ = watchdog;
    if (starts) {
        now_ = 0;
        image.console.clear();
        for (auto& core : cores_) {
            core->memory.reset();
            core->monitor.reset();
        }
    }
    last_progress_ = now_;
    limit_ = max_cycles > ~now_ ? ~uint64_t{0} : now_ + max_cycles;
}

void Cores::step(const uint32_t* outputs, uint32_t* inputs) {
    // Inputs are for the next cycle, which is number 0.
    if (starts_) {
        starts_ = false;
        start_.set(inputs, 1);
        return;
    }
    bool agrees = look(outputs, inputs);
    if (move(outputs, inputs)) last_progress_ = now_;
    start_.set(inputs, 0);
    Stop stop = agrees ? judge(outputs) : Stop::kMismatch;
    if (stop != Stop::kDone) now_++;
    if (stop == Stop::kNone && now_ >= limit_) stop = Stop::kLimit;
    if (stop != Stop::kNone) outputs_.assign(outputs, outputs + output_words_);
    stop_ = stop;
}

bool Cores::look(const uint32_t* outputs, const uint32_t* inputs) {
    bool agrees = true;
    for (auto& each : observers_) agrees &= each->step(now_, outputs, inputs);
    return agrees;
}

bool Cores::move(const uint32_t* outputs, uint32_t* inputs) {
    bool moved = false;
    for (auto& core : cores_) {
        moved |= core->monitor.step(now_, outputs);
        moved |= core->memory.step(now_, outputs, inputs);
    }
    return moved;
}

Stop Cores::judge(const uint32_t* outputs) {
    bool is_busy = false, is_owed = false, all_wait = true;
    for (auto& core : cores_) {
        if (!core->memory.violation().empty()) return Stop::kViolation;
        if (core->monitor.has_fault()) return Stop::kFault;
        is_busy |= core->monitor.is_busy();
        is_owed |= core->memory.owed_fetches() != 0 || core->memory.owed_requests() != 0;
        all_wait &= core->monitor.all_at_barrier(outputs);
    }
    if (!is_busy && !is_owed) return Stop::kDone;
    uint64_t quiet = now_ - last_progress_;
    if (quiet >= kBarrierCycles && all_wait && !is_owed) return Stop::kDeadlock;
    return quiet >= watchdog_ ? Stop::kHang : Stop::kNone;
}

CoresState Cores::state() const {
    CoresState state{now_, last_progress_, static_cast<uint32_t>(stop_), 0};
    while (state.core + 1 < count() && !cores_[state.core]->monitor.has_fault()) state.core++;
    return state;
}

CoreState Cores::core_state(uint32_t number) const {
    const Core& core = *cores_[number];
    CoreState state = core.monitor.state(outputs_.data());
    state.owed_fetches = core.memory.owed_fetches();
    state.owed_requests = core.memory.owed_requests();
    state.fetches = core.memory.fetches;
    state.loads = core.memory.loads;
    state.stores = core.memory.stores;
    return state;
}

std::string Cores::violation() const {
    for (const auto& core : cores_) {
        if (!core->memory.violation().empty()) return core->memory.violation();
    }
    return {};
}

}  // namespace spica
