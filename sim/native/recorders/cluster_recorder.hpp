// Recorder of a design's signals over time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cores/in_flight.hpp"
#include "recorders/activity_recorder.hpp"

namespace spica {

extern "C" enum class SignalKind : uint32_t {
    kValue,   // the value of the port
    kBits,    // the number of 1 bits
    kEquals,  // 1 if it equals `code`, else 0
    kUnit,    // 1 if a unit of a core has an instruction: `code` is core * kPorts + port
};

// Signal that is sampled in every cycle: an output of at most 32 bits, or a unit.
extern "C" struct RecordedSignal {
    uint32_t word, kind, code;
    uint32_t delay;  // cycles by which the port lags behind the event
    uint32_t has_intervals;
};

class ClusterRecorder : public ActivityRecorder {
public:
    // `cores` are those with signals of units, by number.
    ClusterRecorder(std::vector<RecordedSignal> signals, std::map<uint32_t, InFlight> cores,
                    uint64_t base, const RecordingLimits& limits);

    // Delayed ports do not cover the last cycles yet.
    bool step(uint64_t cycle, const uint32_t* outputs, const uint32_t* inputs) override;
    void archive(Archive& archive) override;

private:
    uint32_t value_of(const RecordedSignal& signal, const uint32_t* outputs) const;

    const std::vector<RecordedSignal> signals_;
    std::map<uint32_t, InFlight> cores_;
    uint64_t slowest_ = 0;
};

}  // namespace spica
