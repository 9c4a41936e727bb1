// Choice of the clock domains that run in a cycle.
#pragma once
#include <cstdint>

namespace spica {

enum Gating { kUngated, kGated, kRandom };

// Domains to clock: all, those that are busy, or those and a random half of the others.
template <typename Domains>
Domains chosen(int gating, Domains busy, int count, uint64_t& random) {
    if (gating == kUngated) return ~Domains();
    if (gating == kGated) return busy;
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    for (int k = 0; k < count; k++) {
        if (random >> (20 + k % 44) & 1) busy.set(k);
    }
    return busy;
}

}  // namespace spica
