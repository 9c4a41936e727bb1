// Writes of a cluster's DMA on one AXI master: beats with their addresses, and write responses.
//
// Data beats are in address order, possibly before their addresses. Responses of one id are in the
// order of its bursts.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "../iss/native/archive.hpp"
#include "ports.hpp"

namespace spica {

class DmaWrites {
public:
    DmaWrites() = default;
    // `name` is the prefix of the master's ports on an observed cluster.
    DmaWrites(const PortTable& ports, const std::string& name) {
        auto out = [&](const char* port) { return ports.output(name + "_" + port); };
        awvalid_ = out("awvalid"), awready_ = out("awready"), awaddr_ = out("awaddr");
        awid_ = out("awid"), awlen_ = out("awlen");
        wvalid_ = out("wvalid"), wready_ = out("wready");
        wdata_ = out("wdata"), wstrb_ = out("wstrb");
        bvalid_ = out("bvalid"), bready_ = out("bready"), bid_ = out("bid"), bresp_ = out("bresp");
    }

    bool exists() const { return awvalid_.exists() && wvalid_.exists() && bvalid_.exists(); }
    // Whether a write response is accepted in this cycle.
    bool is_answered(const uint32_t* outputs) const {
        return bvalid_.get(outputs) && bready_.get(outputs);
    }

    // One cycle. `take(address, bytes, strobes, size)` is called for each beat with its address and
    // returns the numbers of its writes. `answer(numbers, is_refused)` is called for the response
    // of a burst, with the numbers of all its beats.
    template <typename Take, typename Answer>
    void step(const uint32_t* outputs, Take take, Answer answer) {
        if (awvalid_.get(outputs) && awready_.get(outputs)) {
            bursts_.push_back(
                {awaddr_.get(outputs), awid_.get(outputs), awlen_.get(outputs) + 1, 0, {}});
        }
        if (wvalid_.get(outputs) && wready_.get(outputs)) {
            Beat& beat = beats_.emplace_back();
            std::copy_n(outputs + wdata_.offset, words(wdata_), beat.data);
            std::copy_n(outputs + wstrb_.offset, words(wstrb_), beat.strobes);
        }
        pair(take);
        if (!is_answered(outputs)) return;
        uint32_t id = bid_.get(outputs);
        auto burst = std::find_if(bursts_.begin(), bursts_.end(),
                                  [&](const Burst& burst) { return burst.id == id; });
        if (burst == bursts_.end()) return;
        answer(burst->numbers, (bresp_.get(outputs) & 2) != 0);
        bursts_.erase(burst);
    }

    void archive(Archive& archive) { archive(bursts_, beats_); }

private:
    struct Burst {
        uint32_t address, id, beats, written;
        std::vector<uint64_t> numbers;

        void archive(Archive& archive) { archive(address, id, beats, written, numbers); }
    };
    struct Beat {
        uint32_t data[32], strobes[4];
    };

    static size_t words(Field field) { return (field.width + 31) / 32; }

    template <typename Take>
    void pair(Take take) {
        uint32_t size = wdata_.width / 8;
        for (Burst& burst : bursts_) {
            for (; burst.written < burst.beats && !beats_.empty(); beats_.pop_front()) {
                const Beat& beat = beats_.front();
                uint32_t address = burst.address / size * size + burst.written++ * size;
                auto made = take(address, reinterpret_cast<const uint8_t*>(beat.data),
                                 beat.strobes, size);
                burst.numbers.insert(burst.numbers.end(), made.begin(), made.end());
            }
            if (burst.written < burst.beats) return;
        }
    }

    Field awvalid_, awready_, awaddr_, awid_, awlen_;
    Field wvalid_, wready_, wdata_, wstrb_;
    Field bvalid_, bready_, bid_, bresp_;
    std::deque<Burst> bursts_;  // without response yet
    std::deque<Beat> beats_;    // without address yet
};

}  // namespace spica
