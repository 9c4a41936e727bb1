// Control of lanes and warps: masks, spawning, divergence, barriers, end of a core.
#pragma once
#include <algorithm>

#include "instructions/lanes.hpp"

namespace spica {

// A warp that ends drops the products that it has not waited for.
inline void drop_products(Step& step, Warp& warp) {
    step.machine.memory.release_operands(warp.core, warp.number);
    warp.has_product = false;
}

inline bool end_of_core(Step& step) {
    Core& core = step.core();
    core.exit_code = static_cast<int32_t>(step.warp.scalar(3));
    core.active = core.waiting = core.sleeping = core.stuck = core.awaiting = 0;
    for (uint32_t number = 0; number < step.machine.config.warps; ++number) {
        Warp& ended = step.machine.warp(step.warp.core, number);
        ended.set_mask(0);
        drop_products(step, ended);
    }
    return true;
}

// There are no traps to return from: programs set mepc and continue there.
inline bool jump_to_mepc(Step& step) {
    step.next = step.warp.mepc;
    return true;
}

// A warp without active lanes has ended; gp of warp 0 is then the core's exit code.
inline bool change_mask(Step& step, uint32_t mask) {
    Warp& warp = step.warp;
    if ((mask & warp.all_lanes()) == 0) {
        if (warp.number == 0) step.core().exit_code = static_cast<int32_t>(warp.scalar(3));
        step.core().active &= ~(1u << warp.number);
        drop_products(step, warp);
    }
    warp.set_mask(mask);
    return true;
}

inline bool spawn_warps(Step& step) {
    Warp& warp = step.warp;
    uint32_t count = warp.scalar(step.code.a), pc = warp.scalar(step.code.b);
    uint32_t warps = step.machine.config.warps;
    if (count > warps) return step.fault(Reason::WspawnCount, warp.mask(), count, warps);
    if (pc & 3) return step.fault_at(Reason::MisalignedJump, warp.mask(), pc);
    for (uint32_t number = 0; number < count; ++number) {
        if (number == warp.number) continue;
        Warp& other = step.machine.warp(warp.core, number);
        other.set_mask(other.mask() | 1);
        other.pc = pc;
        step.core().active |= 1u << number;
    }
    return true;
}

// Mask of the active lanes with bit 0 of rs1 set.
inline uint32_t lanes_true(Step& step) {
    return lanes_where(step, [](uint32_t a, uint32_t) { return a & 1; });
}

inline bool split(Step& step) {
    Warp& warp = step.warp;
    uint32_t first = lanes_true(step), rest = warp.mask() & ~first;
    bool is_divergent = first != 0 && rest != 0;
    if (is_divergent) {
        uint32_t depth = step.machine.config.stack_depth;
        if (warp.depth == depth) return step.fault(Reason::StackOverflow, warp.mask(), depth);
    }
    fill(step, is_divergent);
    if (is_divergent) {
        warp.stack[warp.depth++] = {warp.mask(), rest, step.next, false};
        warp.set_mask(first);
        ++step.machine.counts.divergent_splits;
    }
    return true;
}

inline bool join(Step& step) {
    Warp& warp = step.warp;
    if (!(warp.scalar(step.code.a) & 1)) return true;
    if (warp.depth == 0) return step.fault(Reason::StackUnderflow, warp.mask());
    Divergence& top = warp.stack[warp.depth - 1];
    if (!top.is_second) {
        top.is_second = true;
        warp.set_mask(top.rest);
        step.next = top.pc;
    } else {
        warp.set_mask(top.both);
        --warp.depth;
    }
    return true;
}

inline bool predicate(Step& step) {
    uint32_t lanes = lanes_true(step);
    return change_mask(step, lanes != 0 ? lanes : step.warp.scalar(step.code.b));
}

inline bool barrier(Step& step) {
    Warp& warp = step.warp;
    uint32_t id = warp.scalar(step.code.a), count = warp.scalar(step.code.b);
    Refusal refusal;
    if (!step.machine.barriers.arrive(warp.core, warp.number, id, count, refusal)) {
        return step.fault(refusal.reason, warp.mask(), refusal.first, refusal.second);
    }
    warp.barrier = id;
    return true;
}

// Whether warps can wait for the register at an offset in the window.
inline bool has_progress(const Config& config, uint32_t offset) {
    uint32_t ports = std::max(1u, config.matrices);
    for (uint32_t within : kDmaProgress) {
        if (offset % MATRIX_STRIDE == within && offset - DMA_BASE < ports * MATRIX_STRIDE) return true;
    }
    for (uint32_t within : kUnitProgress) {
        if (offset % MATRIX_STRIDE == within && offset - MATRIX_BASE < config.matrices * MATRIX_STRIDE) {
            return true;
        }
    }
    return false;
}

// The warp sleeps from the next instruction on: see `Machine::is_awake`.
inline bool wait_for_unit(Step& step) {
    Warp& warp = step.warp;
    const Config& config = step.machine.config;
    if (!config.awaits_units) return step.fault(Reason::NoUnits, warp.mask());
    uint32_t address = warp.scalar(step.code.a);
    uint32_t offset = address - SHARED_BASE - config.shared_bytes;
    if (!has_progress(config, offset)) return step.fault_at(Reason::NoProgress, warp.mask(), address);
    warp.wait = {offset, warp.scalar(step.code.b)};
    step.core().sleeping |= 1u << warp.number;
    return true;
}

}  // namespace spica
