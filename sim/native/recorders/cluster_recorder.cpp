#include "recorders/cluster_recorder.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "harness.hpp"

namespace spica {

ClusterRecorder::ClusterRecorder(std::vector<RecordedSignal> signals,
                                 std::map<uint32_t, InFlight> cores, uint64_t base,
                                 const RecordingLimits& limits)
    : ActivityRecorder(signals.size(), base, limits),
      signals_(std::move(signals)),
      cores_(std::move(cores)) {
    for (const RecordedSignal& signal : signals_) {
        slowest_ = std::max<uint64_t>(slowest_, signal.delay);
    }
}

bool ClusterRecorder::step(uint64_t cycle, const uint32_t* outputs, const uint32_t*) {
    uint64_t now = since_base(cycle);
    for (auto& [number, core] : cores_) core.step(outputs);
    if (now < first() || is_over(now, slowest_)) return true;
    for (size_t k = 0; k < signals_.size(); k++) {
        const RecordedSignal& signal = signals_[k];
        if (!covers(now, signal.delay)) continue;
        uint32_t value = value_of(signal, outputs);
        if (value) add(k, now - signal.delay, value, signal.has_intervals);
    }
    seen(now + 1);
    return true;
}

uint32_t ClusterRecorder::value_of(const RecordedSignal& signal, const uint32_t* outputs) const {
    uint32_t value = outputs[signal.word];
    switch (static_cast<SignalKind>(signal.kind)) {
        case SignalKind::kValue: break;
        case SignalKind::kBits: return static_cast<uint32_t>(std::popcount(value));
        case SignalKind::kEquals: return value == signal.code;
        case SignalKind::kUnit:
            return cores_.at(signal.code / InFlight::kPorts)
                .executes(signal.code % InFlight::kPorts);
    }
    return value;
}

void ClusterRecorder::archive(Archive& archive) {
    ActivityRecorder::archive(archive);
    for (auto& [number, core] : cores_) archive(core);
}

}  // namespace spica

// C ABI. The harness owns a recorder.
extern "C" spica::ActivityRecorder* harness_cluster_recorder_add(
    spica::Harness* harness, const spica::RecordedSignal* signals, uint64_t count,
    const spica::RecordingLimits* limits) {
    std::map<uint32_t, spica::InFlight> cores;
    for (uint64_t k = 0; k < count; k++) {
        if (static_cast<spica::SignalKind>(signals[k].kind) != spica::SignalKind::kUnit) continue;
        uint32_t core = signals[k].code / spica::InFlight::kPorts;
        cores.try_emplace(core, harness->cores->ports(core));
    }
    auto recorder = std::make_unique<spica::ClusterRecorder>(
        std::vector(signals, signals + count), std::move(cores), harness->cycle(), *limits);
    spica::ActivityRecorder* added = recorder.get();
    harness->watch(std::move(recorder));
    return added;
}
