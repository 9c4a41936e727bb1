// Recorder of a design's activity: sums over bins of cycles, and intervals of cycles.
//
// Both have the finest resolution within their limits: if there are too many, bins are merged in
// pairs, and so are intervals close to each other. A recording covers a run of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "observer.hpp"

namespace spica {

enum class SignalKind : uint32_t {
    kValue,   // the value of the port
    kBits,    // the number of 1 bits
    kEquals,  // 1 if it equals `code`, else 0
};

// Signal that is sampled in every cycle: an output of at most 32 bits.
extern "C" struct RecordedSignal {
    uint32_t word, kind, code;
    uint32_t delay;  // cycles by which the port lags behind the event
    uint32_t has_intervals;
};

// Cycles from `start` to before `end`.
struct Interval {
    uint64_t start, end;
};

class ClusterRecorder : public Observer {
public:
    // Records cycles from `first` to before `end`, counted from cycle `base` on, in at most `bins`
    // bins, and per signal at most `intervals` intervals in which it is not 0. Both limits are at
    // least 2.
    ClusterRecorder(std::vector<RecordedSignal> signals, uint64_t base, uint64_t first,
                    uint64_t end, uint64_t bins, uint64_t intervals);

    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;
    void archive(Archive& archive) override {
        archive(base_, bin_cycles_, seen_, sums_, tracks_);
    }

    uint64_t first() const { return first_; }
    // Cycle after the last sampled one; delayed ports do not cover the last cycles yet.
    uint64_t end() const { return seen_; }
    uint64_t bin_cycles() const { return bin_cycles_; }
    // One row per bin, one column per signal.
    const std::vector<uint32_t>& sums() const { return sums_; }
    const std::vector<Interval>& intervals(size_t signal) const { return tracks_[signal].found; }
    // Intervals fewer cycles apart than this are merged.
    uint64_t gap(size_t signal) const { return tracks_[signal].gap; }

private:
    struct Track {
        std::vector<Interval> found;
        uint64_t gap = 1;

        void archive(Archive& archive) { archive(found, gap); }
    };

    void add(size_t signal, uint64_t cycle, uint32_t value);
    void join_bins();
    void join_intervals(Track& track) const;

    std::vector<RecordedSignal> signals_;
    uint64_t base_, first_, end_, bin_limit_, interval_limit_;
    uint64_t bin_cycles_ = 1, seen_, slowest_ = 0;
    std::vector<uint32_t> sums_;
    std::vector<Track> tracks_;
};

}  // namespace spica
