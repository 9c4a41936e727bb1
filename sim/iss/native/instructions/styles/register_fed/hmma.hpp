// Product of fragments in the registers of a warp.
#pragma once
#include <cstring>

#include "arithmetic/tensor.hpp"
#include "instructions/whole_warp.hpp"

namespace spica {

// Places of words in the registers of a warp, `f[threads * register + lane]`. Warps of 8 threads
// have the layout of Virgo's machine, those of 32 threads that of `mma.sync.m16n8k16`: two tiles of
// eight rows.
struct FragmentMap {
    unsigned threads;
    bool is_wide() const { return threads != kTile; }
    unsigned tiles() const { return is_wide() ? 2 : 1; }
    unsigned registers() const { return is_wide() ? 4 : 8; }  // of an accumulator
    unsigned a(unsigned tile, unsigned row, unsigned word) const {
        return is_wide() ? threads * (tile + 2 * (word / 4)) + 4 * row + word % 4
                         : threads * word + row;
    }
    unsigned b(unsigned column, unsigned word) const {
        return threads * 8 + (is_wide() ? threads * (word / 4) + 4 * column + word % 4
                                        : threads * word + column);
    }
    // From the first register of an accumulator on.
    unsigned c(unsigned tile, unsigned row, unsigned column) const {
        return is_wide() ? threads * (2 * tile + column % 2) + 4 * row + column / 2
                         : threads * ((row & 2) | (column & 5)) + ((row & 5) | (column & 2));
    }
};

// Conversion between an accumulator and one of its tiles.
inline void gather_tile(const uint32_t* f, Tile& c, FragmentMap map = {kTile}, unsigned tile = 0) {
    for (unsigned row = 0; row < kTile; ++row) {
        for (unsigned column = 0; column < kTile; ++column) {
            c[row][column] = f[map.c(tile, row, column)];
        }
    }
}

inline void scatter_tile(const Tile& c, uint32_t* f, FragmentMap map = {kTile}, unsigned tile = 0) {
    for (unsigned row = 0; row < kTile; ++row) {
        for (unsigned column = 0; column < kTile; ++column) {
            f[map.c(tile, row, column)] = c[row][column];
        }
    }
}

// Operands in the registers of a warp.
inline Fragments unpacked(const TensorNumerics& numerics, const uint32_t* f, FragmentMap map,
                          unsigned tile) {
    Fragments fragments;
    for (unsigned k = 0; k < kTile; ++k) {
        fragments.depth = 0;
        for (unsigned word = 0; word < kTile; ++word) {
            unpack(numerics, f[map.a(tile, k, word)], fragments.rows[k] + fragments.depth);
            fragments.depth +=
                unpack(numerics, f[map.b(k, word)], fragments.columns[k] + fragments.depth);
        }
    }
    return fragments;
}

// Product in the registers of a warp of 8 or 32 threads: A from f0 on, B from f8 on, one or several
// numbers per register.
inline void hmma(const TensorNumerics& numerics, uint32_t* f, unsigned threads,
                 unsigned accumulators) {
    FragmentMap map{threads};
    uint32_t* results = f + accumulators * threads;
    for (unsigned tile = 0; tile < map.tiles(); ++tile) {
        Fragments operands = unpacked(numerics, f, map, tile);
        Tile c;
        gather_tile(results, c, map, tile);
        add_product(numerics, operands, c);
        scatter_tile(c, results, map, tile);
    }
}

inline constexpr uint32_t kFirstAccumulator = 16;

inline bool multiply_fragments(Step& step) {
    Warp& warp = step.warp;
    uint32_t set = step.code.destination, registers = FragmentMap{warp.stride}.registers();
    uint32_t last = (kFloats - kFirstAccumulator) / registers - 1;
    if (set > last) return step.fault(Reason::Accumulator, warp.mask(), set, last);
    if (!require_all_threads(step)) return false;
    uint32_t values[kFloats * kMaxThreads];
    std::memcpy(values, warp.row(kFloatRow), sizeof *values * kFloats * warp.stride);
    hmma(step.machine.config.numerics, values, warp.stride, kFirstAccumulator + registers * set);
    take(warp, values);
    return true;
}

}  // namespace spica
