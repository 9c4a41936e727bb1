// Vector clocks: the accesses of each agent that happen before another agent.
//
// An agent is a warp or a stream, the work of one kind of a unit. The time of a warp is the number
// of its instructions that wait for its accesses; that of a stream is the number of its works.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace spica {

class Clock {
public:
    uint32_t operator[](uint32_t agent) const {
        return agent < times_.size() ? times_[agent] : 0;
    }
    void advance(uint32_t agent, uint32_t time) {
        if (agent >= times_.size()) times_.resize(agent + 1);
        times_[agent] = std::max(times_[agent], time);
    }
    void join(const Clock& other) {
        if (other.times_.size() > times_.size()) times_.resize(other.times_.size());
        for (size_t agent = 0; agent < other.times_.size(); ++agent) {
            times_[agent] = std::max(times_[agent], other.times_[agent]);
        }
    }

private:
    std::vector<uint32_t> times_;
};

// Accesses that are complete, and those of them whose stores to DRAM the L2 has, as a fence ensures.
struct Knowledge {
    Clock complete, fenced;

    void join(const Knowledge& other) {
        complete.join(other.complete);
        fenced.join(other.fenced);
    }
    void advance(uint32_t agent, uint32_t time) {
        complete.advance(agent, time);
        fenced.advance(agent, time);
    }
};

}  // namespace spica
