// Branches and jumps: all lanes share one pc, so they must agree.
#pragma once
#include "instructions/lanes.hpp"

namespace spica {

inline bool jump(Step& step, uint32_t target, uint32_t lanes) {
    if (target & 3) return step.fault_at(Reason::MisalignedJump, lanes, target);
    step.next = target;
    return true;
}

template <typename Predicate>
bool branch(Step& step, Predicate predicate) {
    Warp& warp = step.warp;
    uint32_t taken_lanes = lanes_where(step, predicate);
    bool is_taken = taken_lanes >> warp.last_lane() & 1;
    uint32_t others = is_taken ? warp.mask() & ~taken_lanes : taken_lanes;
    if (others != 0 && !step.machine.config.follows_last_lane) {
        return step.fault(Reason::DivergentBranch, others, warp.last_lane());
    }
    return !is_taken || jump(step, warp.pc + step.code.immediate, warp.mask());
}

inline bool jump_and_link(Step& step) {
    uint32_t link = step.next;
    return jump(step, step.warp.pc + step.code.immediate, step.warp.mask()) && fill(step, link);
}

inline bool jump_to_register(Step& step) {
    Warp& warp = step.warp;
    uint32_t link = step.next, offset = step.code.immediate;
    uint32_t target = (warp.scalar(step.code.a) + offset) & ~1u;
    const uint32_t* targets = warp.row(step.code.a);
    uint32_t others = 0;
    for_lanes(warp.mask(), [&](uint32_t lane) {
        others |= static_cast<uint32_t>(((targets[lane] + offset) & ~1u) != target) << lane;
    });
    if (others != 0 && !step.machine.config.follows_last_lane) {
        uint32_t other = (targets[lowest_lane(others)] + offset) & ~1u;
        return step.fault_at(Reason::DivergentJump, others, other, warp.last_lane());
    }
    return jump(step, target, warp.mask()) && fill(step, link);
}

}  // namespace spica
