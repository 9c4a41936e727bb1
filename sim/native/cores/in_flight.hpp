// Instructions of a core from issue to completion: where they are, and the unit that they occupy.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "../iss/native/archive.hpp"
#include "cores/core_ports.hpp"

namespace spica {

class InFlight {
public:
    static constexpr uint32_t kPorts = 8;  // numbers of a `Port`, which has 3 bits

    explicit InFlight(const CorePorts& ports) : ports_(ports), warps_(ports.warps()) {}

    void step(const uint32_t* outputs) {
        for (const CollectedPorts& collected : ports_.collected) {
            if (!collected.valid.get(outputs)) continue;
            uint32_t port = collected.port.get(outputs);
            warps_[collected.warp.get(outputs)].push_back(
                {next_++, collected.pc.get(outputs), port, false});
            collected_[port]++;
        }
        for (uint32_t port = 0; port < ports_.dispatched.size(); port++) {
            const PlacePorts& dispatched = ports_.dispatched[port];
            if (!dispatched.valid.get(outputs)) continue;
            for (Instruction& one : warps_[dispatched.warp.get(outputs)]) {
                if (one.is_dispatched || one.port != port) continue;
                one.is_dispatched = true;
                collected_[port]--;
                executing_[port]++;
                break;
            }
        }
        for (const DonePorts& done : ports_.done) {
            if (!done.valid.get(outputs)) continue;
            auto& warp = warps_[done.warp.get(outputs)];
            uint32_t pc = done.pc.get(outputs);
            auto instruction = std::find_if(warp.begin(), warp.end(), [&](const Instruction& one) {
                return one.is_dispatched && one.pc == pc;
            });
            if (instruction == warp.end()) continue;
            executing_[instruction->port]--;
            warp.erase(instruction);
        }
    }

    // Whether the unit of a port has an instruction that is not complete.
    bool executes(uint32_t port) const { return executing_[port] != 0; }
    // Port of most instructions in collectors, the first of equals; `kPorts` if all are empty.
    uint32_t fullest() const {
        auto most = std::max_element(collected_.begin(), collected_.end());
        return *most ? static_cast<uint32_t>(most - collected_.begin()) : kPorts;
    }
    // Port of the oldest instruction of these warps, a mask; `kPorts` if they have none.
    uint32_t oldest(uint32_t warps) const {
        const Instruction* first = nullptr;
        for (; warps != 0; warps &= warps - 1) {
            const auto& warp = warps_[static_cast<uint32_t>(std::countr_zero(warps))];
            if (!warp.empty() && (first == nullptr || warp.front().number < first->number)) {
                first = &warp.front();
            }
        }
        return first == nullptr ? kPorts : first->port;
    }

    void reset() {
        collected_ = executing_ = {};
        for (auto& warp : warps_) warp.clear();
    }
    void archive(Archive& archive) { archive(next_, collected_, executing_, warps_); }

private:
    struct Instruction {
        uint64_t number;
        uint32_t pc, port;
        bool is_dispatched;
    };
    struct Warp : std::vector<Instruction> {
        void archive(Archive& archive) { archive(static_cast<std::vector<Instruction>&>(*this)); }
    };

    const CorePorts ports_;
    uint64_t next_ = 0;
    std::array<uint32_t, kPorts> collected_{}, executing_{};  // by port
    std::vector<Warp> warps_;                                 // in the order of issue
};

}  // namespace spica
