// Warps that sleep until phases of transaction barriers have completed.
#include "instructions/lanes.hpp"
#include "machine.hpp"
#include "races/races.hpp"

namespace spica {

bool Machine::awaits_phase(Warp& warp) {
    PhaseWait& awaited = warp.awaited;
    for (; awaited.lanes != 0; awaited.lanes &= awaited.lanes - 1) {
        const uint32_t phase = awaited.phases[lowest_lane(awaited.lanes)];
        TransactionBarrier barrier = memory.barrier_of(phase);
        if (barrier.execute(BarrierOperation::TestWait, phase & 1).result == 0) return true;
    }
    if (races) races->acquire(warp);
    return false;
}

// The end of a phase counts for all lanes that wait for it, also if the next phase ends before the
// warp is looked at.
void Machine::complete_phase(uint32_t phase) {
    if (races) races->complete(phase);
    for (auto& warp : warps_) {
        uint32_t bit = 1u << warp->number, &awaiting = cores[warp->core].awaiting;
        PhaseWait& awaited = warp->awaited;
        if (!(awaiting & bit) || awaited.phases[lowest_lane(awaited.lanes)] != phase) continue;
        for_lanes(awaited.lanes, [&](uint32_t lane) {
            if (awaited.phases[lane] == phase) awaited.lanes &= ~(1u << lane);
        });
        if (!awaits_phase(*warp)) awaiting &= ~bit;
    }
}

}  // namespace spica
