#include "recorders/activity_recorder.hpp"

#include <algorithm>

namespace spica {

ActivityRecorder::ActivityRecorder(size_t series, uint64_t base, const RecordingLimits& limits)
    : base_(base), limits_(limits), seen_(limits.first), tracks_(series) {}

void ActivityRecorder::add(size_t series, uint64_t cycle, uint32_t value, bool has_intervals) {
    uint64_t bin = (cycle - limits_.first) / bin_cycles_;
    for (; bin >= limits_.bins; bin /= 2) join_bins();
    size_t place = bin * tracks_.size() + series;
    if (place >= sums_.size()) sums_.resize((bin + 1) * tracks_.size());
    sums_[place] += value;

    if (!has_intervals) return;
    Track& track = tracks_[series];
    if (!track.intervals.empty() && cycle < track.intervals.back().end + track.gap) {
        track.intervals.back().end = cycle + 1;
        return;
    }
    track.intervals.push_back({cycle, cycle + 1});
    while (track.intervals.size() > limits_.intervals) join_intervals(track);
}

void ActivityRecorder::join_bins() {
    size_t columns = tracks_.size(), rows = sums_.size() / columns;
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

void ActivityRecorder::join_intervals(Track& track) const {
    track.gap *= 2;
    size_t count = 0;
    for (const Interval& interval : track.intervals) {
        if (count && interval.start < track.intervals[count - 1].end + track.gap) {
            track.intervals[count - 1].end = interval.end;
        } else {
            track.intervals[count++] = interval;
        }
    }
    track.intervals.resize(count);
}

}  // namespace spica

// C ABI. The harness owns a recorder.
using spica::ActivityRecorder;

extern "C" {

struct ActivityState {
    uint64_t first, end, bin_cycles, bins;
};

ActivityState activity_state(const ActivityRecorder* recorder) {
    return {recorder->first(), recorder->end(), recorder->bin_cycles(),
            recorder->sums().size() / recorder->series()};
}

void activity_sums(const ActivityRecorder* recorder, uint32_t* sums) {
    std::copy(recorder->sums().begin(), recorder->sums().end(), sums);
}

// Returns the number of intervals of a series, and the minimum gap between them.
uint64_t activity_intervals(const ActivityRecorder* recorder, uint64_t series, uint64_t* gap) {
    *gap = recorder->gap(series);
    return recorder->intervals(series).size();
}

void activity_copy(const ActivityRecorder* recorder, uint64_t series, spica::Interval* intervals) {
    const auto& recorded = recorder->intervals(series);
    std::copy(recorded.begin(), recorded.end(), intervals);
}

}  // extern "C"
