// Operands in shared memory of an instruction that begins a product.
#pragma once
#include <array>

#include "instructions/step.hpp"

namespace spica {

// A and B, at the addresses in the scalar operands of the instruction.
inline std::array<TileOperand, 2> shared_operands(Step& step) {
    const Config& config = step.machine.config;
    return {{{step.warp.scalar(step.code.a), config.a_row_bytes, config.is_swizzled},
             {step.warp.scalar(step.code.b), config.b_row_bytes, config.is_swizzled}}};
}

}  // namespace spica
