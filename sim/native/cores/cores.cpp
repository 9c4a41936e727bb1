#include "cores/cores.hpp"

#include <algorithm>

namespace spica {

Cores::Cores(const PortTable& ports, const Markers& markers) : markers_(markers) {
    for (uint32_t number = 0;; number++) {
        std::string name = "core" + std::to_string(number);
        if (!ports.output(name + "_fetch_valid").exists()) break;
        CorePorts core(ports, name);
        cores_.push_back(std::make_unique<Core>(Core{core, CoreMonitor(core)}));
    }
    size_t words = 0;
    for (const auto& [name, field] : ports.outputs()) {
        words = std::max(words, field.offset + (size_t{field.width} + 31) / 32);
    }
    outputs_.resize(words);
}

void Cores::begin(bool starts, uint64_t max_cycles, uint64_t watchdog) {
    starts_ = starts;
    stop_ = StopReason::kNone;
    watchdog_ = watchdog;
    if (starts) {
        now_ = 0;
        last_movement_ = last_progress_ = 0;
        for (auto& core : cores_) core->monitor.reset();
        markers_.reset(count());
    }
    limit_ = max_cycles > ~now_ ? ~uint64_t{0} : now_ + max_cycles;
}

void Cores::archive(Archive& archive) {
    for (auto& core : cores_) archive(core->monitor);
    archive(markers_, starts_, now_, limit_, watchdog_, outputs_, stop_);
    archive(last_movement_, last_progress_);
    archive.same(observers_.size());
    for (auto& observer : observers_) archive(*observer);
}

bool Cores::step_observers(const uint32_t* outputs, const uint32_t* inputs) {
    bool agrees = true;
    for (auto& observer : observers_) agrees &= observer->step(now_, outputs, inputs);
    return agrees;
}

Motion Cores::monitor(const uint32_t* outputs) {
    Motion all;
    markers_.begin_cycle();
    for (uint32_t number = 0; number < count(); number++) {
        Motion motion = cores_[number]->monitor.step(now_, outputs);
        all.moved |= motion.moved;
        all.progressed |= motion.progressed;
        markers_.follow(number, ports(number), now_, outputs);
    }
    return all;
}

bool Cores::repeats(const uint32_t* outputs) const {
    return std::any_of(cores_.begin(), cores_.end(),
                       [&](auto& core) { return core->monitor.repeats(outputs); });
}

void Cores::record(const Motion& motion) {
    if (motion.moved) last_movement_ = now_;
    if (motion.progressed) last_progress_ = now_;
}

bool Cores::has_fault() const {
    return std::any_of(cores_.begin(), cores_.end(),
                       [](auto& core) { return core->monitor.has_fault(); });
}

bool Cores::is_busy() const {
    return std::any_of(cores_.begin(), cores_.end(),
                       [](auto& core) { return core->monitor.is_busy(); });
}

bool Cores::all_at_barrier(const uint32_t* outputs) const {
    // Without an active warp nothing waits at a barrier, even if a core is still busy.
    bool is_active = std::any_of(cores_.begin(), cores_.end(),
                                 [&](auto& core) { return core->monitor.is_active(outputs); });
    return is_active && std::all_of(cores_.begin(), cores_.end(), [&](auto& core) {
               return core->monitor.all_at_barrier(outputs);
           });
}

StopReason Cores::count_cycle(StopReason stop, const uint32_t* outputs) {
    if (stop != StopReason::kDone) now_++;
    if (stop == StopReason::kNone && now_ >= limit_) stop = StopReason::kLimit;
    if (stop != StopReason::kNone) keep(outputs);
    return stop_ = stop;
}

void Cores::keep(const uint32_t* outputs) {
    outputs_.assign(outputs, outputs + outputs_.size());
}

CoresState Cores::state() const {
    CoresState state{now_, last_progress_, static_cast<uint32_t>(stop_), 0};
    while (state.core + 1 < count() && !cores_[state.core]->monitor.has_fault()) state.core++;
    return state;
}

}  // namespace spica
