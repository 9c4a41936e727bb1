// Memory behind the ports of one core: responses from a `CoreImage` with latency, in any order.
//
// A request takes effect when it is accepted; with latency 1 the response is in the next cycle.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cores/core_image.hpp"
#include "cores/core_ports.hpp"

namespace spica {

// Random numbers by Steele's and Vigna's splitmix64; draws none for a probability or range of 0.
class Chance {
public:
    explicit Chance(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15u;
        z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9u;
        z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EBu;
        return z ^ z >> 31;
    }
    bool happens(double probability) {
        return probability > 0 && static_cast<double>(next() >> 11) < probability * 0x1p53;
    }
    uint64_t below(uint64_t count) { return count > 1 ? next() % count : 0; }
    void archive(Archive& archive) { archive(state_); }

private:
    uint64_t state_;
};

// Outstanding responses, in the order of their requests.
class PendingResponses {
public:
    PendingResponses(const CoreMemoryParameters& parameters, uint64_t seed)
        : chance(seed), parameters_(parameters), seed_(seed) {}

    bool willing() { return !chance.happens(parameters_.stall); }
    bool has(uint32_t tag) const;
    void add(uint32_t tag, uint64_t now);
    // Index of the response for cycle `next`; -1 if none.
    int choose(uint64_t next);
    uint32_t tag(int place) const { return entries_[static_cast<size_t>(place)].tag; }
    void remove(int place) { entries_.erase(entries_.begin() + place); }
    void reset() {
        entries_.clear();
        chance = Chance(seed_);
    }
    uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
    void archive(Archive& archive) { archive(chance, entries_); }

    Chance chance;

private:
    struct Entry {
        uint32_t tag;
        uint64_t due;

        void archive(Archive& archive) { archive(tag, due); }
    };
    const CoreMemoryParameters parameters_;
    const uint64_t seed_;
    std::vector<Entry> entries_;
};

class CoreMemory {
public:
    CoreMemory(const CorePorts& ports, CoreImage& image, const CoreMemoryParameters& parameters,
               uint32_t core);

    // Returns whether anything was accepted or answered.
    bool step(uint64_t now, const uint32_t* outputs, uint32_t* inputs);
    // Drops all outstanding responses and restarts the random sequence.
    void reset();

    uint32_t pending_fetches() const { return fetches_.size(); }
    uint32_t pending_requests() const { return requests_.size(); }
    const std::string& violation() const { return violation_; }
    void archive(Archive& archive) {
        archive(fetches_, requests_, words_, answers_, violation_, fetches, loads, stores);
    }

    uint64_t fetches = 0, loads = 0, stores = 0;  // accepted

private:
    static constexpr uint32_t kLanes = 32;

    struct Words {
        uint32_t low, high, error;
    };
    struct Answer {
        uint32_t mask, error;
        std::array<uint32_t, kLanes> words;
    };
    void accept_fetch(uint64_t now, const uint32_t* outputs);
    void accept_request(uint64_t now, const uint32_t* outputs);
    bool perform(uint64_t now, const uint32_t* outputs, uint32_t lane, uint32_t strobes,
                 uint32_t& result);
    bool answer_fetch(uint64_t next, uint32_t* inputs);
    bool answer_request(uint64_t next, uint32_t* inputs);
    uint32_t part(uint32_t mask);

    const FetchPorts fetch_;
    const DataPorts data_;
    CoreImage& image_;
    const double split_;
    const uint32_t core_;
    PendingResponses fetches_, requests_;
    std::vector<Words> words_;     // by tag
    std::vector<Answer> answers_;  // by tag
    std::string violation_;
};

}  // namespace spica
