// Tensor instructions: layout of tiles in registers and shared memory.
#pragma once
#include <cassert>
#include <cstdint>
#include <cstring>

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

// 8 x 8 x 16 product in the registers of a warp of eight threads: lane l holds row l of A in f0 to
// f7 and column l of B in f8 to f15, two numbers per register with k ascending, lower half first.
inline void hmma(uint32_t* f, unsigned threads, unsigned accumulators) {
    assert(threads == kTile);
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
