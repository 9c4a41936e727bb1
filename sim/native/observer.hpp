// Observer of the design's ports in every cycle, which may stop the run.
#pragma once
#include <cstdint>

#include "../iss/native/archive.hpp"

namespace spica {

class Observer {
public:
    virtual ~Observer() = default;

    // `outputs` are sampled before the clock edge of cycle `now`; `inputs` are those of the same
    // cycle. In cycle 0 `start` is high, or the host begins. For a cluster, which contains its
    // memory, `inputs` are the outputs again. Returns false at the first difference, which stops
    // the run as a mismatch.
    virtual bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) = 0;
    virtual void archive(Archive& archive) = 0;
};

}  // namespace spica
