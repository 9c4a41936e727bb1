// The C ABI of locksteps. They belong to the cores, and live until these begin anew.
#include <memory>

#include "harness.hpp"
#include "lockstep/lockstep.hpp"

using spica::Harness;
using spica::Lockstep;

extern "C" {

// Keeps the model's memory as a cluster's; before the locksteps of its cores.
void harness_mirror(Harness* harness, const spica::MirrorSetup* setup) { harness->mirror(*setup); }

// Compares a core from now on; the cores have begun.
Lockstep* harness_lockstep_add(Harness* harness, const spica::LockstepSetup* setup) {
    auto lockstep = std::make_unique<Lockstep>(harness->cores->ports(setup->core), *setup,
                                               harness->mirrored);
    Lockstep* added = lockstep.get();
    harness->observe(std::move(lockstep));
    return added;
}

// Whether there was no difference; if all is over, nothing may be in flight either.
int harness_lockstep_finish(Lockstep* lockstep, int is_over, spica::Difference* difference) {
    if (is_over) lockstep->finish();
    *difference = lockstep->difference();
    return lockstep->agrees();
}

uint64_t harness_lockstep_in_flight(const Lockstep* lockstep, uint32_t warp,
                                    spica::FlightState* states, uint64_t most) {
    return lockstep->in_flight(warp, states, most);
}

}  // extern "C"
