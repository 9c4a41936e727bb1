// Float operations over lanes, with rounding mode and flags of the warp.
#pragma once
#include "arithmetic/conversion16.hpp"
#include "arithmetic/float32.hpp"
#include "instructions/lanes.hpp"
#include "arithmetic/special.hpp"
#include "arithmetic/vector32.hpp"

namespace spica {

inline bool rounding_of(Step& step, Rounding& rounding) {
    uint32_t mode = step.code.rounding;
    if (mode == kDynamicRounding) mode = step.warp.frm;
    if (mode > static_cast<uint32_t>(Rounding::NearestMaxMagnitude)) {
        return step.fault(Reason::Rounding, step.warp.mask(), mode);
    }
    rounding = static_cast<Rounding>(mode);
    return true;
}

// rd = operation(rs1, rs2, rs3, flags).
template <typename Operation>
bool float_map(Step& step, Operation operation) {
    Warp& warp = step.warp;
    const Decoded& code = step.code;
    const uint32_t *a = warp.row(code.a), *b = warp.row(code.b), *c = warp.row(code.c);
    uint32_t* destination = warp.row(code.d);
    uint32_t flags = 0;
    for_lanes(warp.mask(), [&](uint32_t lane) {
        destination[lane] = operation(a[lane], b[lane], c[lane], flags);
    });
    warp.fflags |= flags;
    return true;
}

// The same with the rounding mode as the next-to-last operand.
template <typename Operation>
bool rounded_map(Step& step, Operation operation) {
    Rounding rounding;
    if (!rounding_of(step, rounding)) return false;
    return float_map(step, [=](uint32_t a, uint32_t b, uint32_t c, uint32_t& flags) {
        return operation(a, b, c, rounding, flags);
    });
}

// rd = `Operation` of rs1, rs2 and rs3, several lanes at a time.
template <typename Operation>
bool rounded_lanes(Step& step) {
    Rounding rounding;
    if (!rounding_of(step, rounding)) return false;
    Warp& warp = step.warp;
    const Decoded& code = step.code;
    lanes32<Operation>(warp.stride, warp.mask(), warp.row(code.a), warp.row(code.b),
                       warp.row(code.c), warp.row(code.d), rounding, warp.fflags);
    return true;
}

}  // namespace spica
