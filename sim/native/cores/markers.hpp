// Markers of the measured region of a program, found among its completed instructions.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cores/core_ports.hpp"
#include "memory/memory.hpp"
#include "observer.hpp"

namespace spica {

// Completed markers of a core in this run; a cycle of all ones means none.
extern "C" struct CoreMarks {
    uint64_t first_begin, last_end;
    uint64_t begins, ends;  // number of markers
};

class Markers {
public:
    // `begin` and `end` are instructions of programs in `dram`.
    Markers(const Memory& dram, uint32_t begin, uint32_t end)
        : dram_(dram), begin_(begin), end_(end) {}

    void reset(uint32_t cores) {
        marks_.assign(cores, {kNever, kNever, 0, 0});
        begins_now_ = false;
    }
    void begin_cycle() { begins_now_ = false; }
    // Takes the instructions of a core that complete in this cycle.
    void follow(uint32_t core, const CorePorts& ports, uint64_t now, const uint32_t* outputs) {
        CoreMarks& marks = marks_[core];
        for (const DonePorts& done : ports.done) {
            if (!done.valid.get(outputs)) continue;
            uint32_t pc = done.pc.get(outputs);
            if (!dram_.contains(pc, 4)) continue;
            uint32_t word = dram_.word(pc);
            if (word == begin_) {
                begins_now_ |= std::all_of(marks_.begin(), marks_.end(),
                                           [](const CoreMarks& one) { return one.begins == 0; });
                if (marks.begins++ == 0) marks.first_begin = now;
            } else if (word == end_) {
                marks.ends++;
                marks.last_end = now;
            }
        }
    }

    const CoreMarks& of(uint32_t core) const { return marks_[core]; }
    // Whether the first begin marker of the run completes in this cycle.
    bool begins_now() const { return begins_now_; }
    void archive(Archive& archive) { archive(marks_, begins_now_); }

private:
    static constexpr uint64_t kNever = ~uint64_t{0};

    const Memory& dram_;
    const uint32_t begin_, end_;
    std::vector<CoreMarks> marks_;
    bool begins_now_ = false;
};

}  // namespace spica
