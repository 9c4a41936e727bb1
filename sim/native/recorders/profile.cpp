#include "recorders/profile.hpp"

#include <algorithm>
#include <memory>

#include "harness.hpp"

namespace spica {

Profile::Profile(const CorePorts& ports, uint32_t first, uint32_t end)
    : ports_(ports),
      first_(first),
      done_((end - first) / 4 + 1),
      cycles_(done_.size()),
      last_(ports.warps()) {}

bool Profile::step(uint64_t now, const uint32_t* outputs, const uint32_t*) {
    uint32_t active = ports_.active.get(outputs);
    for (uint32_t begun = active & ~active_; begun != 0; begun &= begun - 1) {
        last_[static_cast<size_t>(__builtin_ctz(begun))] = now;
    }
    active_ = active;
    for (const DonePorts& port : ports_.done) {
        if (!port.valid.get(outputs)) continue;
        uint32_t pc = port.pc.get(outputs);
        size_t place = std::min<size_t>((pc - first_) / 4, done_.size() - 1);
        uint64_t& last = last_[port.warp.get(outputs)];
        done_[place]++;
        cycles_[place] += now - std::min(last, now);
        last = now;
    }
    return true;
}

}  // namespace spica

using spica::Profile;

extern "C" {

Profile* harness_profile_add(spica::Harness* harness, uint32_t core, uint32_t first,
                             uint32_t end) {
    auto profile = std::make_unique<Profile>(harness->cores->ports(core), first, end);
    Profile* added = profile.get();
    harness->observe(std::move(profile));
    return added;
}

uint64_t profile_places(const Profile* profile) { return profile->done().size(); }

void profile_copy(const Profile* profile, uint64_t* done, uint64_t* cycles) {
    std::copy(profile->done().begin(), profile->done().end(), done);
    std::copy(profile->cycles().begin(), profile->cycles().end(), cycles);
}

}  // extern "C"
