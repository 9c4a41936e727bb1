// Detection of warps that repeat themselves: loops that change no register, as polling does.
//
// The state of a warp is its registers, with the place and mask of the instruction that completes.
// A warp that returns to an earlier state repeats itself until something else changes memory or
// a register of a unit: it makes no progress. A loop that counts returns to no state, nor does
// one that reads a clock. Brent's algorithm compares with one saved state, which is renewed after
// 1, 2, 4 … instructions, so a loop of n instructions is found within 4 n, up to `kLongest`.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "../iss/native/archive.hpp"
#include "cores/core_ports.hpp"

namespace spica {

class Repetition {
public:
    explicit Repetition(uint32_t threads = 0) : threads_(threads) { reset(); }

    void reset() {
        registers_.assign(kRegisters * threads_, 0);
        hash_ = saved_ = steps_ = period_ = 0;
        limit_ = 1;
    }

    // Takes the values of a result that writes a register.
    void write(const DonePorts& done, const uint32_t* outputs) {
        uint32_t first = done.rd.get(outputs) * threads_;
        for (uint32_t rest = done.mask.get(outputs); rest != 0; rest &= rest - 1) {
            uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
            uint32_t& value = registers_[first + lane];
            hash_ ^= mixed(uint64_t{first + lane} << 32 | value);
            value = outputs[done.values.offset + lane];
            hash_ ^= mixed(uint64_t{first + lane} << 32 | value);
        }
    }

    // Takes the completion of an instruction; returns whether it is progress.
    bool complete(uint32_t pc, uint32_t mask) {
        uint64_t state = mixed(hash_ ^ mixed(uint64_t{mask} << 32 | pc));
        steps_++;
        if (state == saved_) {
            period_ = steps_;
            steps_ = 0;
        } else if (repeats() ? steps_ > 2 * period_ + kSlack : steps_ >= limit_) {
            limit_ = repeats() ? 1 : limit_ < kLongest ? 2 * limit_ : kLongest;
            saved_ = state;
            steps_ = period_ = 0;
        }
        return !repeats();
    }

    bool repeats() const { return period_ != 0; }
    void archive(Archive& archive) {
        archive(registers_, hash_, saved_, steps_, period_, limit_);
    }

private:
    static constexpr uint32_t kRegisters = 64;       // integer and floating point
    static constexpr uint64_t kLongest = 1 << 16;    // instructions of a loop
    static constexpr uint64_t kSlack = 64;           // results of some iterations change places

    // Finaliser of splitmix64.
    static uint64_t mixed(uint64_t value) {
        value = (value + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
        value = (value ^ value >> 27) * 0x94d049bb133111eb;
        return value ^ value >> 31;
    }

    uint32_t threads_;
    std::vector<uint32_t> registers_;  // by register and lane
    uint64_t hash_ = 0, saved_ = 0;
    uint64_t steps_ = 0;   // instructions since the saved state
    uint64_t period_ = 0;  // instructions from the saved state to itself; 0 if none are known
    uint64_t limit_ = 1;   // instructions after which the saved state is renewed
};

}  // namespace spica
