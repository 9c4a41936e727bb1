#include "recorders/cluster_recorder.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "harness.hpp"

namespace spica {

ClusterRecorder::ClusterRecorder(std::vector<RecordedSignal> signals, uint64_t base,
                                 const RecordingLimits& limits)
    : ActivityRecorder(signals.size(), base, limits), signals_(std::move(signals)) {
    for (const RecordedSignal& signal : signals_) {
        slowest_ = std::max<uint64_t>(slowest_, signal.delay);
    }
}

bool ClusterRecorder::step(uint64_t cycle, const uint32_t* outputs, const uint32_t*) {
    uint64_t now = since_base(cycle);
    if (now < first() || is_over(now, slowest_)) return true;
    for (size_t k = 0; k < signals_.size(); k++) {
        const RecordedSignal& signal = signals_[k];
        if (!covers(now, signal.delay)) continue;
        uint32_t value = outputs[signal.word];
        switch (static_cast<SignalKind>(signal.kind)) {
            case SignalKind::kValue: break;
            case SignalKind::kBits: value = std::popcount(value); break;
            case SignalKind::kEquals: value = value == signal.code; break;
        }
        if (value) add(k, now - signal.delay, value, signal.has_intervals);
    }
    seen(now + 1);
    return true;
}

}  // namespace spica

// C ABI. The harness owns a recorder.
extern "C" spica::ActivityRecorder* harness_cluster_recorder_add(
    spica::Harness* harness, const spica::RecordedSignal* signals, uint64_t count,
    const spica::RecordingLimits* limits) {
    auto recorder = std::make_unique<spica::ClusterRecorder>(
        std::vector(signals, signals + count), harness->cycle(), *limits);
    spica::ActivityRecorder* added = recorder.get();
    harness->watch(std::move(recorder));
    return added;
}
