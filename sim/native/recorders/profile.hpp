// Profile of a core's warps by the places of their instructions: completed instructions, cycles
// between two completions of a warp, and cycles between two issues by stall reason, and those that
// passed until another instruction had written a register, by its place.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cores/core_monitor.hpp"
#include "cores/core_ports.hpp"
#include "observer.hpp"

namespace spica {

// Registers that an instruction reads and writes: bits 0 to 31 are x0 to x31, then f0 to f31.
extern "C" struct RegisterUse {
    uint64_t reads, writes;
};

// Cycles that instructions at `place` waited for a result of those at `producer`.
extern "C" struct RegisterWait {
    uint32_t place, producer;
    uint64_t cycles;
};

class Profile : public Observer {
public:
    static constexpr size_t kReasons = CoreState::kReasons;

    // Profiles instructions from `first` on, one for each of `use`; all others count as one place.
    Profile(const CorePorts& ports, uint32_t first, std::vector<RegisterUse> use);

    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;

    void archive(Archive& archive) override;

    // Completed instructions and their cycles by place; the last place is for all others.
    const std::vector<uint64_t>& done() const { return done_; }
    const std::vector<uint64_t>& cycles() const { return cycles_; }
    // Cycles that active warps spent before the issue of each place, `kReasons` for each place.
    const std::vector<uint64_t>& stalls() const { return stalls_; }
    std::vector<RegisterWait> waits() const;

private:
    // Last writer of a register, and the cycle of its completion or `kInFlight`.
    struct Writer {
        uint64_t done = 0;
        uint32_t place = 0;
    };
    static constexpr uint64_t kInFlight = ~0ull;

    void wake(uint64_t now, uint32_t asleep);
    void wait(const uint32_t* outputs);
    void complete(uint64_t now, const uint32_t* outputs);
    void charge(uint32_t warp, size_t place);
    void issue(uint32_t warp, size_t place);
    size_t place_of(uint32_t pc) const;

    CorePorts ports_;
    uint32_t first_, active_ = 0, asleep_ = 0;
    const std::vector<RegisterUse> use_;
    std::vector<std::array<Writer, 64>> writers_;  // by warp and register
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> blocked_;  // as `RegisterWait`
    std::vector<uint64_t> done_, cycles_, stalls_;
    std::vector<uint64_t> last_;    // by warp: cycle of its last completion, or of its start
    std::vector<uint64_t> waited_;  // by warp and reason: cycles since its last issue
    std::vector<uint32_t> latest_;  // by warp: place of its last issue
    std::vector<uint32_t> completed_;  // by warp: place of its last completion
};

}  // namespace spica
