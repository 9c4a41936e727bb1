// Profile of a core's warps by the places of their instructions: completed instructions, cycles
// between two completions of a warp, and cycles between two issues by stall reason.
#pragma once
#include <cstdint>
#include <vector>

#include "cores/core_ports.hpp"
#include "observer.hpp"

namespace spica {

class Profile : public Observer {
public:
    static constexpr size_t kReasons = 16;  // values of a `StallReason`, which has 4 bits

    // Profiles instructions from `first` to before `end`; all others count as one place.
    Profile(const CorePorts& ports, uint32_t first, uint32_t end);

    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;

    void archive(Archive& archive) override {
        archive(active_, done_, cycles_, last_, stalls_, waited_, latest_);
    }

    // Completed instructions and their cycles by place; the last place is for all others.
    const std::vector<uint64_t>& done() const { return done_; }
    const std::vector<uint64_t>& cycles() const { return cycles_; }
    // Cycles that active warps spent before the issue of each place, `kReasons` for each place.
    const std::vector<uint64_t>& stalls() const { return stalls_; }

private:
    void wait(const uint32_t* outputs);
    void complete(uint64_t now, const uint32_t* outputs);
    void charge(uint32_t warp, size_t place);
    size_t place_of(uint32_t pc) const;

    CorePorts ports_;
    uint32_t first_, active_ = 0;
    std::vector<uint64_t> done_, cycles_, stalls_;
    std::vector<uint64_t> last_;    // by warp: cycle of its last completion, or of its start
    std::vector<uint64_t> waited_;  // by warp and reason: cycles since its last issue
    std::vector<uint32_t> latest_;  // by warp: place of its last issue
};

}  // namespace spica
