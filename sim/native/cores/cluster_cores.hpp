// The cores of an observed cluster while programs run on them: what they print, ask for and mark,
// how long their loads take, what the units count, and when the run is over.
//
// That is when no core is busy, nor a unit, nor what lies before DRAM: until a cluster has written
// back what its caches hold, the run goes on.
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
#include "memory/regions.hpp"

namespace spica {

// What Python knows of the cluster.
extern "C" struct ClusterCoresParameters {
    uint32_t memory_port;  // of `dispatched`
    uint32_t slot_bits;    // of a request's tag, below the number of the request
    uint32_t refused;      // the cause of a fault in memory that was not placed
    uint32_t begin_marker, end_marker;  // instructions
    uint32_t shared_base, shared_bytes;
};

// Markers that a core has done in the run; a cycle that has not been is all ones.
extern "C" struct CoreMarks {
    uint64_t first_begin, last_end;
    uint64_t begins, ends;  // how many
};

enum CacheLevel : uint32_t { kL1Instructions, kL1Data, kL2, kCacheLevels };

// What a cycle is like around the cores.
struct Surroundings {
    bool moved;  // something was transferred
    bool owes;   // a host's access or a transfer with DRAM is under way
};

class ClusterCores : public Cores {
public:
    ClusterCores(const PortTable& ports, Memory& dram, const ClusterCoresParameters& parameters);

    void begin(bool starts, uint64_t max_cycles, uint64_t watchdog) override;
    Stop step(const uint32_t* outputs, const Surroundings& surroundings);
    void allow(uint64_t first, uint64_t last) override { regions_.allow(first, last); }
    const std::string& console() const override { return console_; }
    CoreState core_state(uint32_t core) const override;
    void archive(Archive& archive) override;
    const CoreMarks& marks(uint32_t core) const { return marks_[core]; }
    const LoadLatency& latency(uint32_t core) const { return traffic_[core].latency; }
    // By `CacheLevel`, of a core or of a slice.
    const CacheLatency& cache_latency(uint32_t level, uint32_t number) const {
        return caches_[level][number];
    }
    // The cycle from which on no core was busy; of a run that goes on, the next.
    uint64_t cores_end() const { return cores_end_; }
    // Whether a core did the first marker of a beginning in the cycle that was looked at last.
    bool marks_begin() const { return marks_begin_; }

    // Sums of the ports ``events_{counter}``, in the order of their names.
    const std::vector<uint64_t>& counted() const { return counted_; }

private:
    static constexpr uint64_t kNever = ~uint64_t{0};

    // An instruction whose accesses are being requested.
    struct Asking {
        uint32_t warp, pc;
    };
    struct Traffic {
        explicit Traffic(size_t tags = 0) : latency(tags) {}

        LoadLatency latency;
        std::deque<Asking> asking;
        bool has_asked = false;  // the first of `asking`
        uint32_t slot = 0, part = 0;
        uint64_t fetches = 0, loads = 0, stores = 0;
        uint32_t owed_fetches = 0, owed_lanes = 0;

        void reset();
        void archive(Archive& archive) {
            archive(asking, has_asked, slot, part, fetches, loads, stores);
            archive(owed_fetches, owed_lanes, latency);
        }
    };
    struct Event {
        Field port;
        bool is_progress;
    };

    bool count_events(const uint32_t* outputs);
    void follow(uint32_t core, const uint32_t* outputs);
    void follow_request(uint32_t core, const uint32_t* outputs);
    void follow_answer(uint32_t core, const uint32_t* outputs);
    void follow_load(uint32_t core, const uint32_t* outputs);
    void find_markers(uint32_t core, const uint32_t* outputs);
    Stop judge(const uint32_t* outputs, bool owes);

    const ClusterCoresParameters parameters_;
    Memory& dram_;
    Regions regions_;
    std::vector<Traffic> traffic_;
    std::vector<CacheLatency> caches_[kCacheLevels];
    std::vector<Field> busy_;  // of what is no core
    std::vector<Event> events_;
    std::vector<uint64_t> counted_;
    std::string console_;
    std::vector<CoreMarks> marks_;
    bool has_begun_ = false, marks_begin_ = false;
    uint64_t cores_end_ = 0;
    uint32_t idle_cycles_ = 0;
};

}  // namespace spica
