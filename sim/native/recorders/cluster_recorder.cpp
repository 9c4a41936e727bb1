#include "recorders/cluster_recorder.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "harness.hpp"

namespace spica {

ClusterRecorder::ClusterRecorder(std::vector<RecordedSignal> signals, uint64_t base, uint64_t first,
                                 uint64_t end, uint64_t bins, uint64_t intervals)
    : signals_(std::move(signals)),
      base_(base),
      first_(first),
      end_(end),
      bin_limit_(bins),
      interval_limit_(intervals),
      seen_(first),
      tracks_(signals_.size()) {
    for (const RecordedSignal& signal : signals_) {
        slowest_ = std::max<uint64_t>(slowest_, signal.delay);
    }
}

bool ClusterRecorder::step(uint64_t cycle, const uint32_t* outputs, const uint32_t*) {
    uint64_t now = cycle - base_;
    if (now < first_ || now >= end_ + slowest_) return true;
    for (size_t k = 0; k < signals_.size(); k++) {
        const RecordedSignal& signal = signals_[k];
        if (now < first_ + signal.delay || now >= end_ + signal.delay) continue;
        uint32_t value = outputs[signal.word];
        switch (static_cast<SignalKind>(signal.kind)) {
            case SignalKind::kValue: break;
            case SignalKind::kBits: value = std::popcount(value); break;
            case SignalKind::kEquals: value = value == signal.code; break;
        }
        if (value) add(k, now - signal.delay, value);
    }
    seen_ = std::min(now + 1, end_);
    return true;
}

void ClusterRecorder::add(size_t signal, uint64_t cycle, uint32_t value) {
    uint64_t bin = (cycle - first_) / bin_cycles_;
    for (; bin >= bin_limit_; bin /= 2) join_bins();
    size_t place = bin * signals_.size() + signal;
    if (place >= sums_.size()) sums_.resize((bin + 1) * signals_.size());
    sums_[place] += value;

    if (!signals_[signal].has_intervals) return;
    Track& track = tracks_[signal];
    if (!track.found.empty() && cycle < track.found.back().end + track.gap) {
        track.found.back().end = cycle + 1;
        return;
    }
    track.found.push_back({cycle, cycle + 1});
    while (track.found.size() > interval_limit_) join_intervals(track);
}

void ClusterRecorder::join_bins() {
    size_t columns = signals_.size(), rows = sums_.size() / columns;
    for (size_t row = 0; row < rows; row++) {
        for (size_t column = 0; column < columns; column++) {
            uint32_t sum = sums_[row * columns + column];
            uint32_t& joined = sums_[row / 2 * columns + column];
            joined = row % 2 ? joined + sum : sum;
        }
    }
    sums_.resize((rows + 1) / 2 * columns);
    bin_cycles_ *= 2;
}

void ClusterRecorder::join_intervals(Track& track) const {
    track.gap *= 2;
    size_t kept = 0;
    for (const Interval& each : track.found) {
        if (kept && each.start < track.found[kept - 1].end + track.gap) {
            track.found[kept - 1].end = each.end;
        } else {
            track.found[kept++] = each;
        }
    }
    track.found.resize(kept);
}

}  // namespace spica

// C ABI. The harness owns a recorder.
using spica::ClusterRecorder;

extern "C" {

struct ClusterRecorderState {
    uint64_t first, end, bin_cycles, bins;
};

ClusterRecorder* harness_cluster_recorder_add(spica::Harness* harness,
                                              const spica::RecordedSignal* signals, uint64_t count,
                                              uint64_t first, uint64_t end, uint64_t bins,
                                              uint64_t intervals) {
    auto recorder = std::make_unique<ClusterRecorder>(
        std::vector(signals, signals + count), harness->cycle(), first, end, bins, intervals);
    ClusterRecorder* added = recorder.get();
    harness->watch(std::move(recorder));
    return added;
}

void cluster_recorder_state(const ClusterRecorder* recorder, uint64_t signals,
                            ClusterRecorderState* state) {
    *state = {recorder->first(), recorder->end(), recorder->bin_cycles(),
              recorder->sums().size() / signals};
}

void cluster_recorder_sums(const ClusterRecorder* recorder, uint32_t* sums) {
    std::copy(recorder->sums().begin(), recorder->sums().end(), sums);
}

// Returns the number of intervals of a signal, and the minimum gap between them.
uint64_t cluster_recorder_intervals(const ClusterRecorder* recorder, uint64_t signal,
                                    uint64_t* gap) {
    *gap = recorder->gap(signal);
    return recorder->intervals(signal).size();
}

void cluster_recorder_copy(const ClusterRecorder* recorder, uint64_t signal,
                           spica::Interval* intervals) {
    const auto& found = recorder->intervals(signal);
    std::copy(found.begin(), found.end(), intervals);
}

}  // extern "C"
