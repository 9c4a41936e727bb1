// Recorder of activity: sums over bins of cycles, and intervals of cycles.
//
// Both have the finest resolution within their limits: if there are too many, bins are merged in
// pairs, and so are intervals close to each other. A recording covers a run of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "observer.hpp"

namespace spica {

// Cycles from `start` to before `end`.
struct Interval {
    uint64_t start, end;
};

// Cycles and limits of a recording: cycles from `first` to before `end`, counted from the cycle of
// its creation, in at most `bins` bins, and per series at most `intervals` intervals in which it is
// not 0. Both limits are at least 2.
extern "C" struct RecordingLimits {
    uint64_t first, end, bins, intervals;
};

class ActivityRecorder : public Observer {
public:
    ActivityRecorder(size_t series, uint64_t base, const RecordingLimits& limits);

    void archive(Archive& archive) override {
        archive(base_, bin_cycles_, seen_, sums_, tracks_);
    }

    uint64_t first() const { return limits_.first; }
    // Cycle after the last sampled one.
    uint64_t end() const { return seen_; }
    uint64_t bin_cycles() const { return bin_cycles_; }
    size_t series() const { return tracks_.size(); }
    // One row per bin, one column per series.
    const std::vector<uint32_t>& sums() const { return sums_; }
    const std::vector<Interval>& intervals(size_t series) const {
        return tracks_[series].intervals;
    }
    // Intervals fewer cycles apart than this are merged.
    uint64_t gap(size_t series) const { return tracks_[series].gap; }

protected:
    // Returns a cycle of the run, counted from the creation.
    uint64_t since_base(uint64_t cycle) const { return cycle - base_; }
    // Whether an event that is seen `delay` cycles late is recorded; whether none is any more.
    bool covers(uint64_t cycle, uint64_t delay = 0) const {
        return cycle >= limits_.first + delay && !is_over(cycle, delay);
    }
    bool is_over(uint64_t cycle, uint64_t delay) const { return cycle >= limits_.end + delay; }
    void add(size_t series, uint64_t cycle, uint32_t value, bool has_intervals);
    // The cycle before `cycle` is the last one sampled.
    void seen(uint64_t cycle) { seen_ = cycle < limits_.end ? cycle : limits_.end; }

private:
    struct Track {
        std::vector<Interval> intervals;
        uint64_t gap = 1;

        void archive(Archive& archive) { archive(intervals, gap); }
    };

    void join_bins();
    void join_intervals(Track& track) const;

    uint64_t base_;
    const RecordingLimits limits_;
    uint64_t bin_cycles_ = 1, seen_;
    std::vector<uint32_t> sums_;
    std::vector<Track> tracks_;
};

}  // namespace spica
