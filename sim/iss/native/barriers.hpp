// Barriers of warps and of cores: arrivals, release, illegal arrivals.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "archive.hpp"
#include "config.hpp"
#include "table.hpp"

namespace spica {

// Reason for an illegal arrival, with the numbers of its message.
struct Refusal {
    Reason reason;
    uint32_t first, second;
};

// State of one core that barriers and other warps change too.
struct Core {
    uint32_t active = 0, waiting = 0;  // masks of warps; those that wait at barriers
    // Warps that sleep until a unit has made progress, and those whose unit has no work left.
    uint32_t sleeping = 0, stuck = 0;
    uint32_t awaiting = 0;  // warps that sleep until a phase of a transaction barrier completes
    uint64_t instructions = 0;
    int32_t exit_code = 0;

    uint32_t runnable() const { return active & ~(waiting | stuck | awaiting); }
};

class Barriers {
public:
    static constexpr uint32_t kOfCores = 1u << 31;  // bit of a barrier number: barrier of cores

    Barriers(const Config& config, std::vector<Core>& cores)
        : config_(config), cores_(cores) {
        reset();
    }
    void reset() {
        of_warps_.assign(config_.cores * config_.barriers, {});
        of_cores_.assign(config_.clusters * config_.barriers, {});
    }
    bool is_of_cores(uint32_t id) const { return config_.has_core_barriers && id & kOfCores; }

    // Makes a warp wait, and releases the barrier on the last arrival; false with a refusal.
    bool arrive(uint32_t core, uint32_t warp, uint32_t id, uint32_t count, Refusal& refusal) {
        bool of_cores = is_of_cores(id);
        uint32_t index = of_cores ? id & ~kOfCores : id;
        uint32_t most = of_cores ? cluster_cores(config_) : config_.warps;
        if (index >= config_.barriers) {
            refusal = {Reason::BarrierNumber, id, config_.barriers};
            return false;
        }
        if (count == 0 || count > most) {
            refusal = {Reason::BarrierCount, count, most};
            return false;
        }
        Barrier& barrier = of_cores ? cores_at(core, index) : warps_at(core, index);
        if (barrier.arrived != 0 && barrier.count != count) {
            refusal = {Reason::BarrierDisagrees, count, barrier.count};
            return false;
        }
        uint32_t arrival = 1u << (of_cores ? core : warp);
        if (barrier.arrived & arrival || barrier.is_full()) {
            refusal = {Reason::BarrierFull, id, of_cores ? 1 : count};
            return false;
        }
        barrier.count = count;
        barrier.arrived |= arrival;
        cores_[core].waiting |= 1u << warp;
        if (of_cores) barrier.waiting.push_back({core, warp});
        open(core, index, barrier, of_cores);
        return true;
    }
    // Arrivals as a mask, and the count, of the barrier at which a warp waits.
    uint32_t arrived(uint32_t core, uint32_t id) { return at(core, id).arrived; }
    uint32_t expected(uint32_t core, uint32_t id) { return at(core, id).count; }
    // Mask of the cores of a core's cluster whose warps have all arrived.
    uint32_t complete_cores(uint32_t core, uint32_t index) {
        uint32_t full = 0, first = first_of(core);
        for (uint32_t other = first; other < first + cluster_cores(config_); ++other) {
            if (warps_at(other, index).is_full()) full |= 1u << other;
        }
        return full;
    }
    void archive(Archive& archive) { archive(of_warps_, of_cores_); }

private:
    struct Place {
        uint32_t core, warp;
    };
    struct Barrier {
        uint32_t arrived = 0, count = 0;
        std::vector<Place> waiting;  // of a barrier of cores: one warp of each core

        bool is_full() const {
            return arrived != 0 && std::popcount(arrived) == static_cast<int>(count);
        }
        void archive(Archive& archive) { archive(arrived, count, waiting); }
    };

    Barrier& warps_at(uint32_t core, uint32_t index) {
        return of_warps_[core * config_.barriers + index];
    }
    Barrier& cores_at(uint32_t core, uint32_t index) {
        return of_cores_[cluster_of(config_, core) * config_.barriers + index];
    }
    Barrier& at(uint32_t core, uint32_t id) {
        return is_of_cores(id) ? cores_at(core, id & ~kOfCores) : warps_at(core, id);
    }
    // First core of the cluster of a core.
    uint32_t first_of(uint32_t core) const {
        return cluster_of(config_, core) * cluster_cores(config_);
    }
    void open(uint32_t core, uint32_t index, Barrier& barrier, bool of_cores) {
        if (!barrier.is_full()) return;
        if (of_cores) {
            for (const Place& place : barrier.waiting) {
                cores_[place.core].waiting &= ~(1u << place.warp);
            }
            barrier.arrived = 0;
            barrier.waiting.clear();
            return;
        }
        if (config_.has_core_barriers) {
            release(core, index);
            return;
        }
        uint32_t count = cluster_cores(config_), first = first_of(core);
        if (std::popcount(complete_cores(core, index)) != static_cast<int>(count)) return;
        for (uint32_t other = first; other < first + count; ++other) release(other, index);
    }
    void release(uint32_t core, uint32_t index) {
        Barrier& barrier = warps_at(core, index);
        cores_[core].waiting &= ~barrier.arrived;
        barrier.arrived = 0;
    }

    const Config& config_;
    std::vector<Core>& cores_;
    std::vector<Barrier> of_warps_, of_cores_;
};

}  // namespace spica
