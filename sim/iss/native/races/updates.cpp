// Loads and stores of one word by several lanes of a warp.
#include <bit>

#include "instructions/access.hpp"
#include "machine.hpp"
#include "races/races.hpp"

namespace spica {

namespace {

// Calls `action(lane, others)` for each lane with others, a mask, at the same word; each such word
// once. Lanes at rising addresses, the usual ones, cost one pass.
template <typename Action>
void for_shared_words(uint32_t mask, const Addresses& addresses, Action action) {
    uint32_t last = 0;
    bool rises = true, is_first = true;
    for_lanes(mask, [&](uint32_t lane) {
        uint32_t word = addresses.lane[lane] & ~3u;
        rises &= is_first || word > last;
        is_first = false;
        last = word;
    });
    for (uint32_t rest = rises ? 0 : mask; rest != 0;) {
        uint32_t lane = lowest_lane(rest), alike = 0;
        for_lanes(rest, [&](uint32_t other) {
            bool is_same = (addresses.lane[lane] ^ addresses.lane[other]) < 4;
            alike |= uint32_t{is_same} << other;
        });
        rest &= ~alike;
        if (alike != 1u << lane) action(lane, alike);
    }
}

}  // namespace

// Records a load by which several lanes have the value of one word.
void Races::record_load(Step& step, const Addresses& addresses) {
    Updates& updates = updates_[current_];
    uint32_t lanes = 0;
    for_shared_words(step.warp.mask(), addresses, [&](uint32_t, uint32_t alike) { lanes |= alike; });
    if (lanes == 0) return updates.clear(step.code.d);
    Updates::Load& load = updates.begin(step.code.d);
    load.pc = current_pc_;
    load.lanes = lanes;
    for_lanes(lanes, [&](uint32_t lane) { load.words[lane] = addresses.lane[lane] & ~3u; });
}

// Whether no two lanes store to one word what they made of its old value. Stores that only depend
// on it by a condition lose nothing if their values are equal.
bool Races::keeps_updates(Step& step, const Addresses& addresses, uint32_t size) {
    const Updates& updates = updates_[current_];
    Warp& warp = step.warp;
    uint32_t made = updates.of(step.code.b), conditions = updates.conditions();
    if ((made | conditions) == 0) return true;
    const uint32_t* values = warp.row(step.code.b);
    bool is_kept = true;
    for_shared_words(warp.mask(), addresses, [&](uint32_t lane, uint32_t alike) {
        uint32_t address = addresses.lane[lane], same = 0;
        bool differ = false;
        for_lanes(alike, [&](uint32_t other) {
            if (addresses.lane[other] != address) return;
            same |= 1u << other;
            differ |= values[other] != values[lane];
        });
        // A warp whose threads all do the same updates the word once.
        if (same == warp.mask() && !differ) return;
        for_lanes(differ ? made | conditions : made, [&](uint32_t number) {
            const Updates::Load& load = updates.load(number);
            uint32_t lost = 0;
            for_lanes(same & load.lanes, [&](uint32_t other) {
                lost |= uint32_t{load.words[other] == (address & ~3u)} << other;
            });
            if (!is_kept || std::popcount(lost) < 2 || is_flag(step.placed(address))) return;
            uint32_t time = warps_[current_].complete[current_] + 1;
            report_ = {current_, time,     load.pc, 0, address, static_cast<uint32_t>(Lack::Update),
                       current_, time,     1,       size};
            is_kept = step.fault_at(Reason::AccessRace, lost, address);
        });
    });
    return is_kept;
}

}  // namespace spica
