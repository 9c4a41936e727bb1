// Load latency of a core: cycles from the accepted request to its last response, by the place of
// the words.
//
// Below `kFine` cycles the histogram has a bin per cycle count, above a bin per power of two.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "../iss/native/archive.hpp"

namespace spica {

// Histogram for Python, of one core and one place, or of one cache.
extern "C" struct LoadCounts {
    static constexpr uint32_t kFine = 512, kBins = kFine + 32;

    uint64_t loads, least, most;
    uint64_t bins[kBins];

    void add(uint64_t cycles) {
        constexpr uint32_t kFirst = std::bit_width(kFine);  // first power of two
        uint64_t bin = cycles;
        if (cycles >= kFine) bin = kFine + std::bit_width(cycles) - kFirst;
        bins[std::min<uint64_t>(bin, kBins - 1)]++;
        if (loads == 0 || cycles < least) least = cycles;
        if (cycles > most) most = cycles;
        loads++;
    }
};

class LoadLatency {
public:
    enum Place : uint32_t { kDram, kShared, kPlaces };

    // `tags` is the number of request tags of a core.
    explicit LoadLatency(size_t tags = 0) : under_way_(tags) {}

    void reset() {
        counts_ = {};
        for (Request& request : under_way_) request = {};
    }
    // Begins a request, with its lanes by place; one with lanes in both counts in both.
    void request(uint64_t now, uint32_t tag, uint32_t dram, uint32_t shared) {
        under_way_[tag] = {now, {dram, shared}};
    }
    void answer(uint64_t now, uint32_t tag, uint32_t lanes) {
        Request& request = under_way_[tag];
        for (uint32_t place = 0; place < kPlaces; place++) {
            uint32_t& pending = request.pending[place];
            if ((pending & lanes) == 0) continue;
            pending &= ~lanes;
            if (pending == 0) counts_[place].add(now - request.began);
        }
    }
    const LoadCounts& counts(uint32_t place) const { return counts_[place]; }
    void archive(Archive& archive) { archive(under_way_, counts_); }

private:
    struct Request {
        uint64_t began;
        uint32_t pending[kPlaces];
    };

    std::vector<Request> under_way_;  // by tag
    std::array<LoadCounts, kPlaces> counts_{};
};

}  // namespace spica
