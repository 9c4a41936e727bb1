// Updates that lanes of a warp lose: several lanes load a word in one instruction and store what
// they computed from it in another, so the word has the update of one lane only.
//
// Each register has the loads on which its value depends, of the last 32 of a warp by which
// several lanes loaded one word. A selection by `vx_split` makes what is stored inside depend on its
// condition.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "decode.hpp"
#include "warp.hpp"

namespace spica {

class Updates {
public:
    // Load of one word by several lanes.
    struct Load {
        uint32_t pc = 0, lanes = 0;
        std::array<uint32_t, kMaxThreads> words{};
    };

    // Whether any register depends on such a load.
    bool any() const { return rows_ != 0; }
    uint32_t of(uint32_t row) const { return row < kDroppedRow ? of_[row] : 0; }
    const Load& load(uint32_t number) const { return loads_[number]; }

    // The result of an instruction depends on the loads of its operands.
    void pass(const Decoded& code) {
        if (rows_ != 0) set(code.d, operands(code));
    }
    uint32_t operands(const Decoded& code) const {
        return (code.reads & 1 ? of(code.a) : 0) | (code.reads & 2 ? of(code.b) : 0) |
               (code.reads & 4 ? of(code.c) : 0);
    }
    void clear(uint32_t row) {
        if (rows_ != 0) set(row, 0);
    }
    // Adds a load to `row`; the caller fills in the result.
    Load& begin(uint32_t row) {
        uint32_t bit = 1u << next_;
        for (uint64_t rest = rows_; rest != 0; rest &= rest - 1) {
            uint32_t load = static_cast<uint32_t>(std::countr_zero(rest));
            set(load, of_[load] & ~bit);
        }
        for (Split& split : splits_) split.loads &= ~bit;
        set(row, bit);
        Load& load = loads_[next_];
        next_ = (next_ + 1) % kLoads;
        return load;
    }
    // Open splits, each with the loads of its condition and the depth of the divergence stack in it.
    void open(uint32_t depth, uint32_t loads) { splits_.push_back({depth, loads}); }
    // A join ends the last split, or the first of its two sides if the divergence stack keeps it.
    void join(uint32_t depth, bool diverged) {
        if (!splits_.empty() && (!diverged || depth < splits_.back().depth)) splits_.pop_back();
    }
    // Loads that decide which lanes are active.
    uint32_t conditions() const {
        uint32_t all = 0;
        for (const Split& split : splits_) all |= split.loads;
        return all;
    }

private:
    static constexpr uint32_t kLoads = 32;
    struct Split {
        uint32_t depth, loads;
    };

    void set(uint32_t row, uint32_t loads) {
        if (row >= kDroppedRow) return;
        of_[row] = loads;
        uint64_t bit = uint64_t{1} << row;
        rows_ = loads != 0 ? rows_ | bit : rows_ & ~bit;
    }

    uint64_t rows_ = 0;
    std::array<uint32_t, kDroppedRow> of_{};
    std::array<Load, kLoads> loads_;
    std::vector<Split> splits_;
    uint32_t next_ = 0;
};

}  // namespace spica
