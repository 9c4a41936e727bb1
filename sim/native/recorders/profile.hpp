// Profile of a core's warps: cycles between two completed instructions of a warp, by the place of
// the second.
#pragma once
#include <cstdint>
#include <vector>

#include "cores/core_ports.hpp"
#include "observer.hpp"

namespace spica {

class Profile : public Observer {
public:
    // Profiles instructions from `first` to before `end`; all others count as one place.
    Profile(const CorePorts& ports, uint32_t first, uint32_t end);

    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;

    void archive(Archive& archive) override { archive(active_, done_, cycles_, last_); }

    // Completed instructions and their cycles by place; the last place is for all others.
    const std::vector<uint64_t>& done() const { return done_; }
    const std::vector<uint64_t>& cycles() const { return cycles_; }

private:
    CorePorts ports_;
    uint32_t first_, active_ = 0;
    std::vector<uint64_t> done_, cycles_;
    std::vector<uint64_t> last_;  // by warp: cycle of its last completion, or of its start
};

}  // namespace spica
