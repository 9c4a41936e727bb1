// Tensor instructions: layout of tiles in registers and shared memory.
#pragma once
#include <cassert>
#include <cstdint>
#include <cstring>

#include "arithmetic/fused_sum.hpp"
#include "arithmetic/numerics.hpp"
#include "arithmetic/tile.hpp"

namespace spica {

constexpr unsigned kHmmaDepth = 16, kHgmmaDepth = 32, kHgmmaTiles = 2;

// Position in the tile of register `r`, lane `lane`, of an accumulator fragment.
inline unsigned tile_row(unsigned r, unsigned lane) { return (lane & 5) + (r & 2); }
inline unsigned tile_column(unsigned r, unsigned lane) { return (lane & 2) + (r & 1) + (r & 4); }

// Conversion between a fragment of eight registers, `f[8 * r + lane]`, and a tile.
inline void gather_tile(const uint32_t* f, Tile& c) {
    for (unsigned r = 0; r < kTile; ++r) {
        for (unsigned lane = 0; lane < kTile; ++lane) {
            c[tile_row(r, lane)][tile_column(r, lane)] = f[kTile * r + lane];
        }
    }
}

inline void scatter_tile(const Tile& c, uint32_t* f) {
    for (unsigned r = 0; r < kTile; ++r) {
        for (unsigned lane = 0; lane < kTile; ++lane) {
            f[kTile * r + lane] = c[tile_row(r, lane)][tile_column(r, lane)];
        }
    }
}

// Numbers of a register, k ascending from the lowest bits on; TF32 is the upper bits of one.
inline unsigned unpack(const TensorNumerics& numerics, uint32_t word, uint32_t* numbers) {
    unsigned count = 0, width = numerics.magnitude_width + 1;
    for (unsigned low = 0; low < 32; low += numerics.number_width) {
        uint32_t upper = word >> (low + numerics.number_width - width);
        numbers[count++] = width == 32 ? upper : upper & ((1u << width) - 1);
    }
    return count;
}

// Product in the registers of a warp with any numerics, a rounding step at a time.
inline void hmma_in_steps(const TensorNumerics& numerics, uint32_t* f, unsigned accumulators) {
    constexpr unsigned kMostDepth = 32;
    uint32_t a[kTile][kMostDepth], b[kTile][kMostDepth];
    Factor a_factors[kTile][kMostDepth], b_factors[kTile][kMostDepth];
    unsigned depth = 0;
    for (unsigned lane = 0; lane < kTile; ++lane) {
        depth = 0;
        for (unsigned r = 0; r < kTile; ++r) {
            unpack(numerics, f[kTile * r + lane], a[lane] + depth);
            depth += unpack(numerics, f[kTile * (r + kTile) + lane], b[lane] + depth);
        }
        for (unsigned k = 0; k < depth && numerics.sum == Sum::Fused; ++k) {
            a_factors[lane][k] = factor_of(numerics, a[lane][k]);
            b_factors[lane][k] = factor_of(numerics, b[lane][k]);
        }
    }
    uint32_t* c = f + accumulators * kTile;
    for (unsigned r = 0; r < kTile; ++r) {
        for (unsigned lane = 0; lane < kTile; ++lane) {
            unsigned row = tile_row(r, lane), column = tile_column(r, lane);
            uint32_t& total = c[kTile * r + lane];
            for (unsigned k = 0; k < depth; k += numerics.terms) {
                total = numerics.sum == Sum::Fused
                            ? fused_sum(numerics, a_factors[row] + k, b_factors[column] + k, total)
                            : tree32(numerics.terms, a[row] + k, b[column] + k, total);
            }
        }
    }
}

// Product in the registers of a warp of eight threads: lane l holds row l of A in f0 to f7 and
// column l of B in f8 to f15, one or several numbers per register.
inline void hmma(const TensorNumerics& numerics, uint32_t* f, unsigned threads,
                 unsigned accumulators) {
    assert(threads == kTile);
    if (numerics.sum != Sum::Fp16Tree) return hmma_in_steps(numerics, f, accumulators);
    uint16_t a[kTile][kHmmaDepth], b[kHmmaDepth][kTile];
    for (unsigned pair = 0; pair < kHmmaDepth / 2; ++pair) {
        for (unsigned lane = 0; lane < kTile; ++lane) {
            uint32_t first = f[pair * threads + lane];
            uint32_t second = f[(pair + kTile) * threads + lane];
            a[lane][2 * pair] = static_cast<uint16_t>(first);
            a[lane][2 * pair + 1] = static_cast<uint16_t>(first >> 16);
            b[2 * pair][lane] = static_cast<uint16_t>(second);
            b[2 * pair + 1][lane] = static_cast<uint16_t>(second >> 16);
        }
    }
    Tile c;
    gather_tile(f + accumulators * threads, c);
    multiply_tile<kHmmaDepth>(a, b, c);
    scatter_tile(c, f + accumulators * threads);
}

// 16 x 16 x 32 product: `a` has 16 rows of 64 bytes, `b` 32 rows of 32 bytes; `c` is the 32
// registers of a warp of eight threads, eight for each of the four tiles.
inline void hgmma(const uint8_t* a, const uint8_t* b, uint32_t* c) {
    constexpr unsigned a_stride = 2 * kHgmmaDepth, b_stride = 2 * kHgmmaTiles * kTile;
    for (unsigned i = 0; i < kHgmmaTiles; ++i) {
        uint16_t rows[kTile][kHgmmaDepth];
        std::memcpy(rows, a + i * kTile * a_stride, sizeof rows);
        for (unsigned j = 0; j < kHgmmaTiles; ++j) {
            uint16_t columns[kHgmmaDepth][kTile];
            for (unsigned k = 0; k < kHgmmaDepth; ++k) {
                std::memcpy(columns[k], b + k * b_stride + j * sizeof columns[k],
                            sizeof columns[k]);
            }
            uint32_t* fragment = c + (kHgmmaTiles * i + j) * kTile * kTile;
            Tile tile;
            gather_tile(fragment, tile);
            multiply_tile<kHgmmaDepth>(rows, columns, tile);
            scatter_tile(tile, fragment);
        }
    }
}

}  // namespace spica
