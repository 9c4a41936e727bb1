// Numerics of tensor instructions, filled in by Python.
#pragma once
#include <cstdint>

namespace spica {

extern "C" enum class Sum : uint32_t {
    Fp16Tree,  // products and their sums rounded to FP16, as `multiply_tile` computes them
    Fp32Tree,  // products and their sums rounded to FP32
    Fused,     // exact products, aligned, truncated and added exactly, rounded once toward zero
};

extern "C" struct TensorNumerics {
    Sum sum;
    uint32_t terms;         // products of a rounding step
    uint32_t number_width;  // bits of a register per number; the number is in the upper ones
    // Operand format. Magnitudes above `largest` are NaN, except infinity if there is one.
    uint32_t magnitude_width, number_fraction, bias, largest, has_infinity;
    // Of fused sums: fraction bits that a term keeps, and of the result; least exponent of
    // alignment.
    int32_t fraction_width, result_fraction, floor;
};

}  // namespace spica
