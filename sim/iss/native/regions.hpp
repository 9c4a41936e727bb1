// Regions of DRAM that programs may access: all of it, or placed regions only.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "archive.hpp"

namespace spica {

class Regions {
public:
    // Allows accesses of programs to these bytes; without any call, all are allowed.
    void allow(uint64_t first, uint64_t last) {
        regions_.push_back({first, last});
        std::sort(regions_.begin(), regions_.end(),
                  [](const Region& a, const Region& b) { return a.first < b.first; });
        std::vector<Region> merged;
        for (const Region& region : regions_) {
            if (!merged.empty() && region.first <= merged.back().last + 1) {
                merged.back().last = std::max(merged.back().last, region.last);
            } else {
                merged.push_back(region);
            }
        }
        regions_ = merged;
        recent_ = 0;
    }
    bool may_touch(uint64_t first, uint64_t size) {
        if (regions_.empty()) return true;
        uint64_t last = first + size - 1;
        if (first >= regions_[recent_].first && last <= regions_[recent_].last) return true;
        auto after = std::upper_bound(
            regions_.begin(), regions_.end(), first,
            [](uint64_t address, const Region& region) { return address < region.first; });
        if (after == regions_.begin() || last > (after - 1)->last) return false;
        recent_ = static_cast<size_t>(after - regions_.begin()) - 1;
        return true;
    }
    void archive(Archive& archive) { archive(regions_, recent_); }

private:
    struct Region {
        uint64_t first, last;
    };
    std::vector<Region> regions_;
    size_t recent_ = 0;
};

}  // namespace spica
