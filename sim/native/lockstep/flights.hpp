// In-flight instructions of one warp, from collector to completion, in program order.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "../iss/native/archive.hpp"
#include "../iss/native/retired.hpp"

namespace spica {

// State of an in-flight instruction in the core, and its result in the model.
struct Flight {
    static constexpr uint32_t kThreads = iss::kMaxThreads;
    using Words = std::array<uint32_t, kThreads>;

    uint64_t collected;  // cycle
    uint32_t pc, mask, port;
    bool may_execute;  // the model may execute it after its predecessors
    bool has_pending;  // it was collected before all its operands were written
    bool is_dispatched, is_executed, is_done;
    bool has_values;  // `values` are those of the core
    bool model_faults, core_faults;

    // Of loads and stores: threads still to be requested, and the requests so far.
    uint32_t unrequested, requested, is_store;
    Words addresses, data, strobes;
    // In a cluster: cycle of the first request, and writes of a store in the mirror.
    uint64_t began;
    uint64_t first_write;
    uint32_t writes_made;

    uint32_t result_mask, rd, writes;
    Words values;

    // Results before the last one, of an instruction that writes several registers.
    struct Part {
        uint32_t mask, rd;
        Words values;
    };
    uint32_t parts;
    std::array<Part, iss::kMaxResults - 1> part;

    iss::Retired retired;
    iss::Fault fault;

    bool is_over() const { return is_executed && is_done && !model_faults; }
};

// Growing queue of flights with constant numbers.
class Flights {
public:
    uint64_t begin() const { return begin_; }
    uint64_t end() const { return end_; }
    Flight& operator[](uint64_t number) { return ring_[number & (ring_.size() - 1)]; }
    const Flight& operator[](uint64_t number) const {
        return ring_[number & (ring_.size() - 1)];
    }

    Flight& add() {
        if (end_ - begin_ == ring_.size()) grow();
        return (*this)[end_++];
    }
    void remove_first() { begin_++; }
    void cut(uint64_t end) { end_ = end; }
    void archive(Archive& archive) {
        archive(begin_, end_);
        while (end_ - begin_ > ring_.size()) ring_.resize(2 * ring_.size());
        for (uint64_t k = begin_; k != end_; k++) archive((*this)[k]);
    }

private:
    void grow() {
        std::vector<Flight> larger(2 * ring_.size());
        for (uint64_t k = begin_; k < end_; k++) larger[k & (larger.size() - 1)] = (*this)[k];
        ring_ = std::move(larger);
    }

    std::vector<Flight> ring_ = std::vector<Flight>(16);
    uint64_t begin_ = 0, end_ = 0;
};

}  // namespace spica
