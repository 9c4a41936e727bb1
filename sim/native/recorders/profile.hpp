// Where the time of a core's warps goes: cycles between two instructions of a warp that are done,
// by the place of the second.
#pragma once
#include <cstdint>
#include <vector>

#include "cores/core_ports.hpp"
#include "observer.hpp"

namespace spica {

class Profile : public Observer {
public:
    // Of instructions from `first` to before `end`; what lies elsewhere is counted as one place.
    Profile(const CorePorts& ports, uint32_t first, uint32_t end);

    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;

    void archive(Archive& archive) override { archive(active_, done_, cycles_, last_); }

    // By instruction, the last for all elsewhere: how many were done, and cycles waited for them.
    const std::vector<uint64_t>& done() const { return done_; }
    const std::vector<uint64_t>& cycles() const { return cycles_; }

private:
    CorePorts ports_;
    uint32_t first_, active_ = 0;
    std::vector<uint64_t> done_, cycles_;
    std::vector<uint64_t> last_;  // by warp: when its last instruction was done, or it began
};

}  // namespace spica
