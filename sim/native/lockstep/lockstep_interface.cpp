// C ABI of locksteps. The cores own them until the next start of the cores.
#include <memory>

#include "harness.hpp"
#include "lockstep/lockstep.hpp"

using spica::Harness;
using spica::Lockstep;

extern "C" {

// Adds the mirror of a cluster's memory; call it before adding the locksteps of the cores.
void harness_mirror(Harness* harness, const spica::MirrorSetup* setup) { harness->mirror(*setup); }

// Adds the lockstep of a core, effective from now on.
Lockstep* harness_lockstep_add(Harness* harness, const spica::LockstepSetup* setup) {
    auto lockstep = std::make_unique<Lockstep>(harness->cores->ports(setup->core), *setup,
                                               harness->mirrored);
    Lockstep* added = lockstep.get();
    harness->observe(std::move(lockstep));
    return added;
}

// Returns whether there was no difference; if `is_over`, nothing may be in flight either.
int harness_lockstep_finish(Lockstep* lockstep, int is_over, spica::Difference* difference) {
    if (is_over) lockstep->finish();
    *difference = lockstep->difference();
    return lockstep->agrees();
}

// Loads that missed a store because a fence is missing and took over the core's value.
uint64_t harness_lockstep_ignored(const Lockstep* lockstep) { return lockstep->ignored(); }

uint64_t harness_lockstep_in_flight(const Lockstep* lockstep, uint32_t warp,
                                    spica::FlightState* states, uint64_t most) {
    return lockstep->in_flight(warp, states, most);
}

}  // extern "C"
