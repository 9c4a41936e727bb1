// Read latency of a cache: cycles from the accepted request to its response.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cores/core_ports.hpp"
#include "cores/load_latency.hpp"

namespace spica {

// Ports of accepted reads and of responses; reads of one id are answered in order.
struct CacheReadPorts {
    Field valid, ready, id, answered, answered_id;

    explicit CacheReadPorts(const FetchPorts& ports)
        : valid(ports.valid),
          ready(ports.ready),
          id(ports.tag),
          answered(ports.answer),
          answered_id(ports.answer_tag) {}
    CacheReadPorts(const PortTable& ports, const std::string& name)
        : valid(ports.output(name + "_valid")),
          ready(ports.output(name + "_ready")),
          id(ports.output(name + "_id")),
          answered(ports.output(name + "_answered")),
          answered_id(ports.output(name + "_answered_id")) {}
};

class CacheLatency {
public:
    explicit CacheLatency(const CacheReadPorts& ports)
        : ports_(ports), under_way_(static_cast<size_t>(1) << ports.id.width) {}

    void reset() {
        counts_ = {};
        for (Begun& read : under_way_) read.cycles.clear();
    }
    void step(uint64_t now, const uint32_t* outputs) {
        // Responses first: a response frees its id for a request of the same cycle.
        if (ports_.answered.get(outputs)) {
            std::deque<uint64_t>& cycles = under_way_[ports_.answered_id.get(outputs)].cycles;
            if (!cycles.empty()) {  // else the request was before the run
                counts_.add(now - cycles.front());
                cycles.pop_front();
            }
        }
        if (ports_.valid.get(outputs) && ports_.ready.get(outputs)) {
            under_way_[ports_.id.get(outputs)].cycles.push_back(now);
        }
    }
    const LoadCounts& counts() const { return counts_; }
    void archive(Archive& archive) { archive(under_way_, counts_); }

private:
    // Cycles in which the outstanding reads of one id were accepted.
    struct Begun {
        std::deque<uint64_t> cycles;

        void archive(Archive& archive) { archive(cycles); }
    };

    CacheReadPorts ports_;
    std::vector<Begun> under_way_;  // by id
    LoadCounts counts_{};
};

}  // namespace spica
