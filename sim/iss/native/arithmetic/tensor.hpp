// Products of tensor instructions: numbers of operand words, and sums in each kind of numerics.
#pragma once
#include <cstdint>

#include "arithmetic/fused_sum.hpp"
#include "arithmetic/numerics.hpp"
#include "arithmetic/tile.hpp"

namespace spica {

// Numbers of a row of A in a product of FP16, eight words of two each.
constexpr unsigned kDepth16 = 2 * kTile;

// Numbers of a register, k ascending from the lowest bits on; TF32 is the upper bits of one.
inline unsigned unpack(const TensorNumerics& numerics, uint32_t word, uint32_t* numbers) {
    unsigned count = 0, width = numerics.magnitude_width + 1;
    for (unsigned low = 0; low < 32; low += numerics.number_width) {
        uint32_t upper = word >> (low + numerics.number_width - width);
        numbers[count++] = width == 32 ? upper : upper & ((1u << width) - 1);
    }
    return count;
}

// Numbers of eight rows of A and of eight columns of B, k ascending.
struct Fragments {
    static constexpr unsigned kMostDepth = 32;
    unsigned depth;
    uint32_t rows[kTile][kMostDepth], columns[kTile][kMostDepth];
};

// c += A . B with FP16 trees.
inline void add_tree16(const Fragments& operands, Tile& c) {
    uint16_t a[kTile][kDepth16], b[kDepth16][kTile];
    for (unsigned lane = 0; lane < kTile; ++lane) {
        for (unsigned k = 0; k < kDepth16; ++k) {
            a[lane][k] = static_cast<uint16_t>(operands.rows[lane][k]);
            b[k][lane] = static_cast<uint16_t>(operands.columns[lane][k]);
        }
    }
    multiply_tile<kDepth16>(a, b, c);
}

// c += A . B with FP32 trees, a rounding step at a time.
inline void add_tree32(const TensorNumerics& numerics, const Fragments& operands, Tile& c) {
    for (unsigned row = 0; row < kTile; ++row) {
        for (unsigned column = 0; column < kTile; ++column) {
            for (unsigned k = 0; k < operands.depth; k += numerics.terms) {
                c[row][column] = tree32(numerics.terms, operands.rows[row] + k,
                                        operands.columns[column] + k, c[row][column]);
            }
        }
    }
}

// c += A . B with fused sums, a rounding step at a time.
inline void add_fused(const TensorNumerics& numerics, const Fragments& operands, Tile& c) {
    Factor rows[kTile][Fragments::kMostDepth], columns[kTile][Fragments::kMostDepth];
    for (unsigned lane = 0; lane < kTile; ++lane) {
        for (unsigned k = 0; k < operands.depth; ++k) {
            rows[lane][k] = factor_of(numerics, operands.rows[lane][k]);
            columns[lane][k] = factor_of(numerics, operands.columns[lane][k]);
        }
    }
    for (unsigned row = 0; row < kTile; ++row) {
        for (unsigned column = 0; column < kTile; ++column) {
            for (unsigned k = 0; k < operands.depth; k += numerics.terms) {
                c[row][column] =
                    fused_sum(numerics, rows[row] + k, columns[column] + k, c[row][column]);
            }
        }
    }
}

// c += A . B.
inline void add_product(const TensorNumerics& numerics, const Fragments& operands, Tile& c) {
    switch (numerics.sum) {
        case Sum::Fp16Tree: add_tree16(operands, c); break;
        case Sum::Fp32Tree: add_tree32(numerics, operands, c); break;
        case Sum::Fused: add_fused(numerics, operands, c); break;
    }
}

}  // namespace spica
