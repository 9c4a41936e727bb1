// Somebody who looks at a core cycle by cycle and may object.
#pragma once
#include <cstdint>

#include "../iss/native/archive.hpp"

namespace spica {

class Observer {
public:
    virtual ~Observer() = default;

    // `outputs` as they are before the clock edge of cycle `now`, `inputs` as the design saw them
    // in that cycle; `start` was high in cycle 0, or the host began then. Of a cluster, whose memory
    // is in it, `inputs` are the outputs again. Returns false at the first difference: the run
    // stops there as a mismatch.
    virtual bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) = 0;
    virtual void archive(Archive& archive) = 0;
};

}  // namespace spica
