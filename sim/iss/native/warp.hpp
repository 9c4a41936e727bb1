// State of one warp: registers of its threads, active mask, open splits.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "archive.hpp"
#include "decode.hpp"
#include "retired.hpp"

namespace spica {

using iss::kMaxThreads;
inline constexpr uint32_t kChunk = 8;

// Divergent split: lanes of both sides, lanes that run second, and their pc.
struct Divergence {
    uint32_t both, rest, pc;
    bool is_second;
};

extern "C" {

// Instructions that a warp keeps.
inline constexpr uint32_t kHistory = 64;

struct Past {
    uint32_t pc, word, mask;
};

}  // extern "C"

// Register of a unit for which a warp sleeps, as an offset in the window, and the operand.
struct Wait {
    uint32_t offset = 0, n = 0;
};

// Phases of transaction barriers, as in `Memory::phase_of`, for which the lanes of a warp wait.
struct PhaseWait {
    uint32_t lanes = 0;  // mask of those that still wait
    std::array<uint32_t, kMaxThreads> phases{};
};

class Warp {
public:
    Warp(uint32_t cluster, uint32_t core, uint32_t number, uint32_t threads, uint32_t unit_words)
        : cluster(cluster),
          core(core),
          number(number),
          stride((threads + kChunk - 1) / kChunk * kChunk),
          unit_state(unit_words),
          threads_(threads),
          registers_(kRows * stride) {}

    void reset(uint32_t entry, bool is_active) {
        std::fill(registers_.begin(), registers_.end(), 0);
        pc = entry;
        set_mask(is_active ? 1 : 0);
        fflags = frm = mscratch = mepc = 0;
        depth = 0;
        has_product = false;
        std::fill(unit_state.begin(), unit_state.end(), 0);
        retired = 0;
    }
    uint32_t mask() const { return mask_; }
    void set_mask(uint32_t mask) {
        mask_ = mask & all_lanes();
        for (uint32_t k = 0; k < stride; ++k) lanes_[k] = mask_ >> k & 1 ? ~0u : 0;
        last_lane_ = mask_ == 0 ? 0 : 31 - static_cast<uint32_t>(std::countl_zero(mask_));
    }
    uint32_t all_lanes() const { return threads_ == 32 ? ~0u : (1u << threads_) - 1; }
    // Per lane: all ones if active, else 0.
    const uint32_t* lanes() const { return lanes_.data(); }
    // Last active lane, the source of scalar operands.
    uint32_t last_lane() const { return last_lane_; }
    uint32_t* row(uint32_t index) { return registers_.data() + index * stride; }
    uint32_t scalar(uint32_t index) { return row(index)[last_lane_]; }

    // Adds the instruction at `pc`, executed with these lanes, to the history.
    void remember(uint32_t word, uint32_t lanes) {
        history[retired++ % kHistory] = {pc, word, lanes};
    }
    void archive(Archive& archive) {
        archive(pc, fflags, frm, mscratch, mepc, depth, stack, has_product, barrier, wait, awaited, retired,
                history);
        archive(unit_state);
        archive(mask_, last_lane_, lanes_, registers_);
    }

    const uint32_t cluster, core, number;
    const uint32_t stride;  // words between two rows: a multiple of the chunk size
    std::vector<uint32_t> unit_state;  // of the tensor unit for this warp
    uint32_t pc = 0;
    uint32_t fflags = 0, frm = 0, mscratch = 0;
    uint32_t mepc = 0;  // address at which `mret` continues
    uint32_t depth = 0;
    std::array<Divergence, kMaxThreads> stack;
    bool has_product = false;  // a product that it has not awaited
    Wait wait;             // its sleep, if it sleeps
    PhaseWait awaited;     // if it sleeps for a transaction barrier
    uint32_t barrier = 0;  // number of the barrier at which it waits, if it waits
    uint64_t retired = 0;
    std::array<Past, kHistory> history;

private:
    uint32_t threads_;
    uint32_t mask_ = 0, last_lane_ = 0;
    alignas(32) std::array<uint32_t, kMaxThreads> lanes_{};
    std::vector<uint32_t> registers_;
};

}  // namespace spica
