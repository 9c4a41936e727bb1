// Monitor of a core: counts and state from its observation ports.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "../iss/native/archive.hpp"
#include "cores/core_ports.hpp"
#include "cores/in_flight.hpp"
#include "cores/repetition.hpp"

namespace spica {

// State of one core for Python. Cycles count from the cycle in which `start` was high.
extern "C" struct CoreState {
    static constexpr uint32_t kReasons = 16;  // values of a `StallReason`, which has 4 bits
    static constexpr uint32_t kPorts = 8;     // values of a `Port`, which has 3 bits

    uint64_t cycles;        // busy cycles with known issue slots
    uint64_t instructions;  // completed
    uint64_t collected, last_collected, last_done;
    uint64_t fetches, loads, stores;  // accepted by memory
    uint64_t slots[kReasons];         // by `StallReason`; their sum is cycles × issue width
    // By `Port`: cycles in which its unit has an instruction, and those of `slots` lost to it, by
    // `StallReason`.
    uint64_t unit_cycles[kPorts], lost[kPorts][kReasons];
    uint32_t pending_fetches, pending_requests;
    uint32_t busy, active, at_barrier;
    int32_t exit_code;
    uint32_t fault;  // 0 none, 1 control, 2 memory
    uint32_t fault_warp, fault_pc, fault_cause, fault_lanes, fault_address;
    // By warp: pc of the last collected instruction, instructions in flight, `StallReason`, and
    // port of the last collected instruction.
    uint32_t pc[32], under_way[32], reason[32], port[32];
};

static_assert(CoreState::kPorts == InFlight::kPorts);

// Movement of one cycle: whether anything happened, and whether anything made progress.
struct Motion {
    bool moved = false, progressed = false;
};

class CoreMonitor {
public:
    explicit CoreMonitor(const CorePorts& ports)
        : ports_(ports), in_flight_(ports), reasons_(ports.warps()) {
        reset();
    }

    // Returns whether any instruction was collected or completed, and whether one that completed
    // was progress of its warp.
    Motion step(uint64_t now, const uint32_t* outputs) {
        Motion motion;
        if (was_busy_) count_slots(outputs);
        was_busy_ = ports_.is_busy(outputs);
        in_flight_.step(outputs);
        for (uint32_t warp = 0; warp < reasons_.size(); warp++) {
            reasons_[warp] = static_cast<uint8_t>(ports_.reason(outputs, warp));
        }
        for (const CollectedPorts& collected : ports_.collected) {
            if (!collected.valid.get(outputs)) continue;
            uint32_t warp = collected.warp.get(outputs);
            state_.collected++;
            state_.last_collected = now;
            state_.pc[warp] = collected.pc.get(outputs);
            state_.port[warp] = collected.port.get(outputs);
            state_.under_way[warp]++;
            motion.moved = true;
        }
        for (size_t bus = 0; bus < ports_.done.size(); bus++) {
            const DonePorts& done = ports_.done[bus];
            bool completes = done.valid.get(outputs);
            if (!completes && !ports_.partial[bus].get(outputs)) continue;
            uint32_t warp = done.warp.get(outputs);
            Repetition& repetition = repetitions_[warp];
            if (done.writes.get(outputs)) repetition.write(done, outputs);
            if (!completes) continue;
            state_.instructions++;
            state_.last_done = now;
            state_.under_way[warp]--;
            motion.moved = true;
            motion.progressed |=
                repetition.complete(done.pc.get(outputs), done.mask.get(outputs));
        }
        if (ports_.fault.valid.get(outputs)) {
            take_fault(1, ports_.fault, outputs);
        } else if (ports_.memory_fault.valid.get(outputs)) {
            take_fault(2, ports_.memory_fault, outputs);
        }
        return motion;
    }

    // Records a request to memory that is not allowed: a fault that the core itself does not raise.
    void refuse(uint32_t warp, uint32_t pc, uint32_t cause, uint32_t lanes, uint32_t address) {
        if (has_fault()) return;
        state_.fault = 2;
        state_.fault_warp = warp;
        state_.fault_pc = pc;
        state_.fault_cause = cause;
        state_.fault_lanes = lanes;
        state_.fault_address = address;
    }

    void archive(Archive& archive) { archive(state_, was_busy_, in_flight_, reasons_, repetitions_); }

    // Whether any active warp repeats itself: it may poll, and cause traffic that is no progress.
    bool repeats(const uint32_t* outputs) const {
        for (uint32_t rest = ports_.active.get(outputs); rest != 0; rest &= rest - 1) {
            if (repetitions_[static_cast<uint32_t>(std::countr_zero(rest))].repeats()) return true;
        }
        return false;
    }

    bool is_busy() const { return was_busy_; }
    bool has_fault() const { return state_.fault != 0; }
    bool is_active(const uint32_t* outputs) const { return ports_.active.get(outputs) != 0; }
    bool all_at_barrier(const uint32_t* outputs) const {
        return ports_.active.get(outputs) == ports_.at_barrier.get(outputs);
    }
    void reset() {
        state_ = {};
        was_busy_ = false;
        in_flight_.reset();
        std::fill(reasons_.begin(), reasons_.end(), uint8_t{0});
        repetitions_.assign(ports_.warps(), Repetition(ports_.threads()));
    }
    CoreState state(const uint32_t* outputs) const {
        CoreState state = state_;
        state.busy = was_busy_;
        state.active = ports_.active.get(outputs);
        state.at_barrier = ports_.at_barrier.get(outputs);
        state.exit_code = ports_.exit_code.get(outputs);
        for (uint32_t warp = 0; warp < ports_.warps(); warp++) {
            state.reason[warp] = ports_.reason(outputs, warp);
        }
        return state;
    }

private:
    // Counts the previous cycle, to which the ports of issue slots refer.
    void count_slots(const uint32_t* outputs) {
        state_.cycles++;
        for (uint32_t port = 0; port < CoreState::kPorts; port++) {
            state_.unit_cycles[port] += in_flight_.executes(port);
        }
        for (Field slot : ports_.slots) {
            uint32_t reason = slot.get(outputs);
            state_.slots[reason]++;
            uint32_t port = unit_behind(reason);
            if (port != CoreState::kPorts) state_.lost[port][reason]++;
        }
    }
    // Returns the port to which an empty slot of the previous cycle is charged: full collectors to
    // the one that has most of them, a wait for registers or for earlier instructions to the
    // oldest instruction of the warps that wait; `kPorts` for other reasons.
    uint32_t unit_behind(uint32_t reason) const {
        if (reason == kCollectorsFull) return in_flight_.fullest();
        if (reason < kScoreboard || reason > kDrain) return CoreState::kPorts;
        uint32_t warps = 0;
        for (uint32_t warp = 0; warp < reasons_.size(); warp++) {
            warps |= static_cast<uint32_t>(reasons_[warp] == reason) << warp;
        }
        return in_flight_.oldest(warps);
    }
    void take_fault(uint32_t kind, const FaultPorts& fault, const uint32_t* outputs) {
        state_.fault = kind;
        state_.fault_warp = fault.warp.get(outputs);
        state_.fault_pc = fault.pc.get(outputs);
        state_.fault_cause = fault.cause.get(outputs);
        state_.fault_lanes = fault.lanes.get(outputs);
        state_.fault_address = fault.address.get(outputs);
    }

    const CorePorts ports_;
    CoreState state_;
    bool was_busy_ = false;
    InFlight in_flight_;
    std::vector<uint8_t> reasons_;         // by warp: `StallReason` of the previous cycle
    std::vector<Repetition> repetitions_;  // by warp
};

}  // namespace spica
