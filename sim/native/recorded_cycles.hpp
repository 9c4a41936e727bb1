// Cycles that a waveform shows: windows in ascending order.
#pragma once
#include <cstdint>
#include <vector>

namespace spica {

class RecordedCycles {
public:
    // `bounds` are the first cycle of each of `count` windows and the cycle after its last.
    void assign(const uint64_t* bounds, uint64_t count) {
        bounds_.assign(bounds, bounds + 2 * count);
        next_ = 0;
    }

    // Returns whether a cycle belongs to a window; cycles must be passed in ascending order.
    bool contains(uint64_t cycle) {
        while (next_ < bounds_.size() && cycle >= bounds_[next_ + 1]) next_ += 2;
        return next_ < bounds_.size() && cycle >= bounds_[next_];
    }

private:
    std::vector<uint64_t> bounds_;
    size_t next_ = 0;
};

}  // namespace spica
