// Cores of an observed cluster that run programs: console, requests, markers, latencies, event
// counts of the units, and the end of the run.
//
// The run ends when no core, no unit and no transfer with DRAM is active. It therefore includes the
// final write-back of the caches.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cores/cache_latency.hpp"
#include "cores/cores.hpp"
#include "cores/load_latency.hpp"
#include "memory/memory.hpp"
#include "../iss/native/regions.hpp"

namespace spica {

// A unit may start another in its last busy cycle, so a single idle cycle does not end a run.
constexpr uint32_t kQuietCycles = 4;

// Constants of the cluster, filled in by Python.
extern "C" struct ClusterCoresParameters {
    uint32_t memory_port;  // index in `dispatched`
    uint32_t slot_bits;    // lower bits of a request's tag; the part number is above them
    uint32_t refused;      // fault cause of an access to memory that was not placed
    uint32_t begin_marker, end_marker;  // instructions
    uint32_t shared_base, shared_bytes;
};

enum CacheLevel : uint32_t { kL1Instructions, kL1Data, kL2, kCacheLevels };

// Activity around the cores in one cycle.
struct Surroundings {
    bool moved;       // something was transferred
    bool progressed;  // DRAM was written, or the host has completed a command
    bool is_outstanding;  // a host access or a DRAM transfer has no response yet
};

class ClusterCores : public Cores {
public:
    ClusterCores(const PortTable& ports, Memory& dram, const ClusterCoresParameters& parameters);

    void begin(bool starts, uint64_t max_cycles, uint64_t watchdog) override;
    StopReason step(const uint32_t* outputs, const Surroundings& surroundings);
    void allow(uint64_t first, uint64_t last) override { regions_.allow(first, last); }
    const std::string& console() const override { return console_; }
    CoreState core_state(uint32_t core) const override;
    void archive(Archive& archive) override;
    const LoadLatency& latency(uint32_t core) const { return traffic_[core].latency; }
    // `level` is a `CacheLevel`, `number` a core or an L2 slice.
    const CacheLatency& cache_latency(uint32_t level, uint32_t number) const {
        return caches_[level][number];
    }
    // First cycle after the last one with a busy core.
    uint64_t cores_end() const { return cores_end_; }
    // Whether the first begin marker of the run completed in the last cycle.
    bool marks_begin() const { return markers_.begins_now(); }

    // Sums of the ports ``events_{counter}``, in order of their names.
    const std::vector<uint64_t>& counted() const { return counted_; }

private:
    // An instruction with accesses still to be requested.
    struct Requester {
        uint32_t warp, pc;
    };
    struct Traffic {
        explicit Traffic(size_t tags = 0) : latency(tags) {}

        LoadLatency latency;
        std::deque<Requester> requesters;
        bool has_requested = false;  // whether the first of `requesters` has been requested
        uint32_t slot = 0, part = 0;
        uint64_t fetches = 0, loads = 0, stores = 0;
        uint32_t pending_fetches = 0, pending_lanes = 0;

        void reset();
        void archive(Archive& archive) {
            archive(requesters, has_requested, slot, part, fetches, loads, stores);
            archive(pending_fetches, pending_lanes, latency);
        }
    };
    struct Event {
        Field port;
        bool moves, is_progress;
    };

    Motion count_events(const uint32_t* outputs);
    void follow(uint32_t core, const uint32_t* outputs);
    void follow_request(uint32_t core, const uint32_t* outputs);
    void follow_answer(uint32_t core, const uint32_t* outputs);
    void follow_load(uint32_t core, const uint32_t* outputs);
    StopReason stop_reason(const uint32_t* outputs, bool is_outstanding);

    const ClusterCoresParameters parameters_;
    Memory& dram_;
    Regions regions_;
    std::vector<Traffic> traffic_;
    std::vector<CacheLatency> caches_[kCacheLevels];
    std::vector<Field> busy_;  // of everything except cores
    std::vector<Event> events_;
    std::vector<uint64_t> counted_;
    std::string console_;
    bool has_begun_ = false;
    uint64_t cores_end_ = 0;
    uint32_t idle_cycles_ = 0;
};

}  // namespace spica
