// Operations on transaction barriers: each active lane executes its own before the next one.
#pragma once
#include <array>

#include "instructions/access.hpp"
#include "transaction_barrier.hpp"

namespace spica {

// Barriers exist in the shared memory of the warp's cluster only.
inline Verdict check_barrier(Step& step, uint32_t address, uint32_t size) {
    if (address & (size - 1)) return {true, Reason::Misaligned};
    return {step.shared(address, size) == nullptr, Reason::BarrierOutside};
}

// Fault of one lane's operation on a barrier.
inline bool barrier_fault(Step& step, uint32_t lane, uint32_t address, BarrierFault why,
                          const TransactionBarrier& barrier) {
    const uint32_t n = step.warp.row(step.code.b)[lane], lanes = 1u << lane;
    const bool has_bytes = step.code.op == Op::MbarrierArriveExpectTx ||
                           step.code.op == Op::MbarrierArriveDropExpectTx;
    const uint32_t arrivals = has_bytes ? 1 : n;
    switch (why) {
        case BarrierFault::NoBarrier: return step.fault_at(Reason::NoBarrier, lanes, address);
        case BarrierFault::Count:
            return step.fault_at(Reason::ArrivalCount, lanes, address, n, MOST_ARRIVALS);
        case BarrierFault::Arrivals:
            return step.fault_at(Reason::ArrivalOverflow, lanes, address, arrivals,
                                 barrier.pending());
        case BarrierFault::Drops:
            return step.fault_at(Reason::ArrivalDrops, lanes, address, arrivals);
        case BarrierFault::Bytes:
            return step.fault_at(Reason::TransactionBytes, lanes, address, n,
                                 MOST_TRANSACTION_BYTES);
        case BarrierFault::Parity: return step.fault_at(Reason::PhaseParity, lanes, address, n);
        case BarrierFault::None:
        case BarrierFault::Address: break;
    }
    return false;
}

inline TransactionBarrier barrier_at(Step& step, uint32_t address) {
    uint64_t word;
    std::memcpy(&word, step.shared(address, BARRIER_BYTES), sizeof word);
    return TransactionBarrier(word);
}

inline void write_barrier(Step& step, uint32_t address, uint64_t word) {
    std::memcpy(step.span(address, address + BARRIER_BYTES - 1), &word, sizeof word);
}

// Effects of the lanes so far: words before, results, and phases that have completed.
struct BarrierEffects {
    std::array<uint64_t, kMaxThreads> before;
    std::array<uint32_t, kMaxThreads> results, phases;
    uint32_t lanes = 0, completed = 0;
};

// Executes the operation of one lane; false with a fault.
inline bool operate_on_barrier(Step& step, uint32_t lane, uint32_t address,
                               BarrierEffects& effects) {
    TransactionBarrier barrier = barrier_at(step, address);
    effects.before[lane] = barrier.word();
    const uint32_t phase = Memory::phase_of(step.placed(address), barrier.parity());
    const auto operation = static_cast<BarrierOperation>(step.code.word >> 25);
    BarrierOutcome outcome = barrier.execute(operation, step.warp.row(step.code.b)[lane]);
    if (outcome.fault != BarrierFault::None) {
        return barrier_fault(step, lane, address, outcome.fault, barrier);
    }
    write_barrier(step, address, barrier.word());
    effects.lanes |= 1u << lane;
    effects.results[lane] = outcome.result;
    effects.phases[lane] = phase;
    if (outcome.is_complete) effects.completed |= 1u << lane;
    return true;
}

// rd = result of the operation on the barrier at rs1. After a fault no lane has had an effect.
inline bool barrier_lanes(Step& step) {
    Warp& warp = step.warp;
    const Addresses addresses(step);
    if (!all_may(step, addresses, BARRIER_BYTES, check_barrier)) return false;
    if (!spares_operands(step, addresses)) return false;
    BarrierEffects effects;
    bool is_legal = true;
    for_lanes(warp.mask(), [&](uint32_t lane) {
        if (is_legal) is_legal = operate_on_barrier(step, lane, addresses.lane[lane], effects);
    });
    if (!is_legal) {
        for (uint32_t lane = kMaxThreads; lane-- != 0;) {
            if (!(effects.lanes >> lane & 1)) continue;
            write_barrier(step, addresses.lane[lane], effects.before[lane]);
        }
        return false;
    }
    uint32_t* destination = warp.row(step.code.d);
    for_lanes(warp.mask(), [&](uint32_t lane) {
        destination[lane] = effects.results[lane];
        uint32_t placed = step.placed(addresses.lane[lane]);
        step.machine.memory.reservations.end(placed, placed + BARRIER_BYTES - 1);
    });
    for_lanes(effects.completed, [&](uint32_t lane) {
        step.machine.complete_phase(effects.phases[lane]);
    });
    return true;
}

// The warp sleeps until the phases of its lanes have completed, those of lower lanes first.
inline bool await_phases(Step& step) {
    Warp& warp = step.warp;
    const Addresses addresses(step);
    if (!all_may(step, addresses, BARRIER_BYTES, check_barrier)) return false;
    bool is_legal = true;
    for_lanes(warp.mask(), [&](uint32_t lane) {
        if (!is_legal) return;
        TransactionBarrier barrier = barrier_at(step, addresses.lane[lane]);
        const uint32_t parity = warp.row(step.code.b)[lane];
        const BarrierFault fault = barrier.execute(BarrierOperation::Wait, parity).fault;
        is_legal = fault == BarrierFault::None ||
                   barrier_fault(step, lane, addresses.lane[lane], fault, barrier);
        warp.awaited.phases[lane] = Memory::phase_of(step.placed(addresses.lane[lane]), parity);
    });
    if (!is_legal) return false;
    warp.awaited.lanes = warp.mask();
    if (step.machine.awaits_phase(warp)) step.core().awaiting |= 1u << warp.number;
    return true;
}

}  // namespace spica
