// Votes of the active lanes of a warp, and shuffles between them.
#pragma once
#include "instructions/control.hpp"
#include "instructions/integer.hpp"

namespace spica {

// Active lanes, and those of them with bit 0 of rs1 set.
struct Ballot {
    uint32_t active, set;
};

// rd = result(ballot), in every lane.
template <typename Result>
bool vote(Step& step, Result result) {
    return fill(step, result(Ballot{step.warp.mask(), lanes_true(step)}));
}

// A lane of a shuffle with its operands, and the first and the last lane of its segment.
struct Segment {
    int32_t lane, b, mask, first, last;
};

// The lane to read, and whether it is within bounds.
struct Choice {
    int32_t lane;
    bool is_within;
};
using Shuffle = Choice (*)(const Segment&);

inline Choice shuffle_up(const Segment& s) { return {s.lane - s.b, s.lane - s.b >= s.first}; }
inline Choice shuffle_down(const Segment& s) { return {s.lane + s.b, s.lane + s.b <= s.last}; }
inline Choice shuffle_xor(const Segment& s) { return {s.lane ^ s.b, (s.lane ^ s.b) <= s.last}; }
inline Choice shuffle_index(const Segment& s) {
    int32_t lane = s.first | (s.b & ~s.mask);
    return {lane, lane <= s.last};
}

// Kind of a shuffle, null for other instructions.
inline Shuffle shuffle_of(Op op) {
    switch (op) {
        case Op::VxShflUp: case Op::FshflUpS: return shuffle_up;
        case Op::VxShflDown: case Op::FshflDownS: return shuffle_down;
        case Op::VxShflBfly: case Op::FshflBflyS: return shuffle_xor;
        case Op::VxShflIdx: case Op::FshflIdxS: return shuffle_index;
        default: return nullptr;
    }
}

inline bool is_exchange(Op op) {
    return shuffle_of(op) != nullptr || op == Op::VxVoteAll || op == Op::VxVoteAny ||
           op == Op::VxVoteUni || op == Op::VxVoteBallot;
}

// The lane that a lane reads: itself, if the other one is out of bounds, inactive or missing.
inline uint32_t source_lane(const Step& step, Shuffle shuffle, uint32_t lane) {
    Warp& warp = step.warp;
    uint32_t ones = (1u << step.machine.config.thread_width) - 1;
    uint32_t selector = warp.row(step.code.b)[lane];
    uint32_t b = selector & ones, clamp = selector >> 6 & ones, mask = selector >> 12 & ones;
    uint32_t first = lane & mask, last = first | (clamp & ~mask);
    Choice choice = shuffle({as_signed(lane), as_signed(b), as_signed(mask), as_signed(first),
                             as_signed(last)});
    bool reads = choice.is_within && (warp.mask() >> choice.lane & 1) != 0;
    return reads ? static_cast<uint32_t>(choice.lane) : lane;
}

// rd = rs1 of another lane, which rs2 selects.
inline bool shuffle(Step& step, Shuffle kind) {
    Warp& warp = step.warp;
    const uint32_t* values = warp.row(step.code.a);
    alignas(32) uint32_t results[kMaxThreads] = {};
    for_lanes(warp.mask(), [&](uint32_t lane) {
        results[lane] = values[source_lane(step, kind, lane)];
    });
    for (uint32_t at = 0; at < warp.stride; at += kChunk) {
        merge(warp.row(step.code.d) + at, warp.lanes() + at, load(results + at));
    }
    return true;
}

}  // namespace spica
