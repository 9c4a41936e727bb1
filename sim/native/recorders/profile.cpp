#include "recorders/profile.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "harness.hpp"

namespace spica {

Profile::Profile(const CorePorts& ports, uint32_t first, std::vector<RegisterUse> use)
    : ports_(ports),
      first_(first),
      use_(std::move(use)),
      writers_(ports.warps()),
      done_(use_.size() + 1),
      cycles_(done_.size()),
      stalls_(done_.size() * kReasons),
      last_(ports.warps()),
      waited_(ports.warps() * kReasons),
      latest_(ports.warps(), static_cast<uint32_t>(done_.size() - 1)),
      completed_(latest_) {}

size_t Profile::place_of(uint32_t pc) const {
    return std::min<size_t>((pc - first_) / 4, done_.size() - 1);
}

bool Profile::step(uint64_t now, const uint32_t* outputs, const uint32_t*) {
    uint32_t active = ports_.active.get(outputs);
    for (uint32_t begun = active & ~active_; begun != 0; begun &= begun - 1) {
        last_[static_cast<size_t>(__builtin_ctz(begun))] = now;
    }
    // A warp that ended has issued for the last time.
    for (uint32_t ended = active_ & ~active; ended != 0; ended &= ended - 1) {
        uint32_t warp = static_cast<uint32_t>(__builtin_ctz(ended));
        charge(warp, latest_[warp]);
    }
    active_ = active;
    wake(now, ports_.at_barrier.get(outputs));
    wait(outputs);
    complete(now, outputs);
    return true;
}

// The cycles of a wait for others count for the instruction that began it.
void Profile::wake(uint64_t now, uint32_t asleep) {
    for (uint32_t left = asleep_ & ~asleep & active_; left != 0; left &= left - 1) {
        uint32_t warp = static_cast<uint32_t>(__builtin_ctz(left));
        cycles_[completed_[warp]] += now - std::min(last_[warp], now);
        last_[warp] = now;
    }
    asleep_ = asleep;
}

// The cycles that a warp waited count for the instruction that it issues next.
void Profile::wait(const uint32_t* outputs) {
    for (uint32_t left = active_; left != 0; left &= left - 1) {
        uint32_t warp = static_cast<uint32_t>(__builtin_ctz(left));
        waited_[warp * kReasons + ports_.reason(outputs, warp)]++;
    }
    for (const CollectedPorts& port : ports_.collected) {
        if (!port.valid.get(outputs)) continue;
        uint32_t warp = port.warp.get(outputs);
        size_t place = place_of(port.pc.get(outputs));
        issue(warp, place);
        charge(warp, place);
    }
}

// An instruction that waited for registers waited for the last of their writers to complete.
void Profile::issue(uint32_t warp, size_t place) {
    if (place == use_.size()) return;
    auto& writers = writers_[warp];
    const uint64_t* waited = &waited_[warp * kReasons];
    if (uint64_t cycles = waited[kScoreboard] + waited[kMemory]) {
        const Writer* last = nullptr;
        for (uint64_t left = use_[place].reads | use_[place].writes; left != 0; left &= left - 1) {
            const Writer& one = writers[static_cast<size_t>(std::countr_zero(left))];
            if (one.done != 0 && (last == nullptr || one.done > last->done)) last = &one;
        }
        if (last != nullptr) blocked_[{static_cast<uint32_t>(place), last->place}] += cycles;
    }
    for (uint64_t left = use_[place].writes; left != 0; left &= left - 1) {
        writers[static_cast<size_t>(std::countr_zero(left))] = {kInFlight,
                                                                static_cast<uint32_t>(place)};
    }
}

void Profile::charge(uint32_t warp, size_t place) {
    latest_[warp] = static_cast<uint32_t>(place);
    for (size_t reason = 0; reason < kReasons; reason++) {
        uint64_t& waited = waited_[warp * kReasons + reason];
        stalls_[place * kReasons + reason] += waited;
        waited = 0;
    }
}

void Profile::complete(uint64_t now, const uint32_t* outputs) {
    for (const DonePorts& port : ports_.done) {
        if (!port.valid.get(outputs)) continue;
        size_t place = place_of(port.pc.get(outputs));
        uint32_t warp = port.warp.get(outputs);
        uint64_t& last = last_[warp];
        uint64_t written = place == use_.size() ? 0 : use_[place].writes;
        for (; written != 0; written &= written - 1) {
            Writer& writer = writers_[warp][static_cast<size_t>(std::countr_zero(written))];
            if (writer.place == place) writer.done = now;
        }
        done_[place]++;
        cycles_[place] += now - std::min(last, now);
        last = now;
        completed_[warp] = static_cast<uint32_t>(place);
    }
}

std::vector<RegisterWait> Profile::waits() const {
    std::vector<RegisterWait> rows;
    for (const auto& [places, cycles] : blocked_) {
        rows.push_back({places.first, places.second, cycles});
    }
    return rows;
}

void Profile::archive(Archive& archive) {
    std::vector<RegisterWait> waits = this->waits();
    archive(active_, asleep_, done_, cycles_, last_, stalls_, waited_, latest_, completed_, waits);
    for (auto& writers : writers_) archive.raw(writers.data(), sizeof writers);
    blocked_.clear();
    for (const RegisterWait& wait : waits) blocked_[{wait.place, wait.producer}] = wait.cycles;
}

}  // namespace spica

using spica::Profile;

extern "C" {

Profile* harness_profile_add(spica::Harness* harness, uint32_t core, uint32_t first,
                             const spica::RegisterUse* use, uint64_t places) {
    auto profile = std::make_unique<Profile>(harness->cores->ports(core), first,
                                             std::vector(use, use + places));
    Profile* added = profile.get();
    harness->observe(std::move(profile));
    return added;
}

uint64_t profile_places(const Profile* profile) { return profile->done().size(); }

void profile_copy(const Profile* profile, uint64_t* done, uint64_t* cycles) {
    std::copy(profile->done().begin(), profile->done().end(), done);
    std::copy(profile->cycles().begin(), profile->cycles().end(), cycles);
}

void profile_copy_stalls(const Profile* profile, uint64_t* stalls) {
    std::copy(profile->stalls().begin(), profile->stalls().end(), stalls);
}

uint64_t profile_waits(const Profile* profile) { return profile->waits().size(); }

void profile_copy_waits(const Profile* profile, spica::RegisterWait* waits) {
    std::ranges::copy(profile->waits(), waits);
}

}  // extern "C"
