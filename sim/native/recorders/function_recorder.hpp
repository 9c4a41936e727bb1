// Recorder of the functions whose instructions a core completes, over time.
#pragma once

#include <cstdint>
#include <vector>

#include "cores/core_ports.hpp"
#include "recorders/activity_recorder.hpp"

namespace spica {

class FunctionRecorder : public ActivityRecorder {
public:
    // Instructions from `first_pc` on are of the functions in `functions`, by words; all others are
    // of its last element.
    FunctionRecorder(const CorePorts& ports, uint32_t first_pc, std::vector<uint32_t> functions,
                     size_t count, uint64_t base, const RecordingLimits& limits);

    bool step(uint64_t cycle, const uint32_t* outputs, const uint32_t* inputs) override;

private:
    const CorePorts ports_;
    const uint32_t first_pc_;
    const std::vector<uint32_t> functions_;
};

}  // namespace spica
