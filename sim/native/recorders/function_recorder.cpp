#include "recorders/function_recorder.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "harness.hpp"

namespace spica {

FunctionRecorder::FunctionRecorder(const CorePorts& ports, uint32_t first_pc,
                                   std::vector<uint32_t> functions, size_t count, uint64_t base,
                                   const RecordingLimits& limits)
    : ActivityRecorder(count, base, limits),
      ports_(ports),
      first_pc_(first_pc),
      functions_(std::move(functions)) {}

bool FunctionRecorder::step(uint64_t cycle, const uint32_t* outputs, const uint32_t*) {
    uint64_t now = since_base(cycle);
    if (!covers(now)) return true;
    for (const DonePorts& port : ports_.done) {
        if (!port.valid.get(outputs)) continue;
        size_t place = (port.pc.get(outputs) - first_pc_) / 4;
        add(functions_[std::min(place, functions_.size() - 1)], now, 1, true);
    }
    seen(now + 1);
    return true;
}

}  // namespace spica

// C ABI. The harness owns a recorder.
extern "C" spica::ActivityRecorder* harness_function_recorder_add(
    spica::Harness* harness, uint32_t core, uint32_t first_pc, const uint32_t* functions,
    uint64_t places, uint64_t count, const spica::RecordingLimits* limits) {
    auto recorder = std::make_unique<spica::FunctionRecorder>(
        harness->cores->ports(core), first_pc, std::vector(functions, functions + places), count,
        harness->cycle(), *limits);
    spica::ActivityRecorder* added = recorder.get();
    harness->watch(std::move(recorder));
    return added;
}
