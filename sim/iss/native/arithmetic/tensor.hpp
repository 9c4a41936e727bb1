// Tensor instructions: layout of tiles in registers and shared memory.
#pragma once
#include <cstdint>
#include <cstring>

#include "arithmetic/fused_sum.hpp"
#include "arithmetic/numerics.hpp"
#include "arithmetic/tile.hpp"

namespace spica {

constexpr unsigned kHmmaDepth = 16, kHgmmaTiles = 2, kHgmmaSide = kHgmmaTiles * kTile;

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

// Numbers of a register, k ascending from the lowest bits on; TF32 is the upper bits of one.
inline unsigned unpack(const TensorNumerics& numerics, uint32_t word, uint32_t* numbers) {
    unsigned count = 0, width = numerics.magnitude_width + 1;
    for (unsigned low = 0; low < 32; low += numerics.number_width) {
        uint32_t upper = word >> (low + numerics.number_width - width);
        numbers[count++] = width == 32 ? upper : upper & ((1u << width) - 1);
    }
    return count;
}

// Numbers of eight rows of A and of the columns of B in the registers of a warp, k ascending.
struct Fragments {
    static constexpr unsigned kMostDepth = 32;
    unsigned depth;
    uint32_t rows[kTile][kMostDepth], columns[kTile][kMostDepth];
};

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

// c += A . B with FP16 trees.
inline void add_tree16(const Fragments& operands, Tile& c) {
    uint16_t a[kTile][kHmmaDepth], b[kHmmaDepth][kTile];
    for (unsigned lane = 0; lane < kTile; ++lane) {
        for (unsigned k = 0; k < kHmmaDepth; ++k) {
            a[lane][k] = static_cast<uint16_t>(operands.rows[lane][k]);
            b[k][lane] = static_cast<uint16_t>(operands.columns[lane][k]);
        }
    }
    multiply_tile<kHmmaDepth>(a, b, c);
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

// Number of a dense matrix in memory.
inline uint32_t number_at(const TensorNumerics& numerics, const uint8_t* matrix, unsigned index) {
    unsigned bytes = numerics.number_width / 8;
    uint32_t container = 0;
    std::memcpy(&container, matrix + index * bytes, bytes);
    return container >> (numerics.number_width - numerics.magnitude_width - 1);
}

// Place of a number of C in the 32 registers of a warp of eight threads: registers 2 r and 2 r + 1
// hold row r, lane l its columns 2 l and 2 l + 1.
inline uint32_t& tile_place(uint32_t* f, unsigned row, unsigned column) {
    return f[kTile * (2 * row + column % 2) + column / 2];
}

// Product of 1024 bytes of A and of B, dense matrices of 16 rows and of 16 columns; `f` is the 32
// registers of a warp of eight threads. Each quarter of C adds two products of the depth of `hmma`.
inline void hgmma(const TensorNumerics& numerics, const uint8_t* a, const uint8_t* b, uint32_t* f) {
    const unsigned depth = kTile * 32 / numerics.number_width, whole = 2 * depth;
    for (unsigned quarter = 0; quarter < kHgmmaTiles * kHgmmaTiles; ++quarter) {
        unsigned top = quarter / kHgmmaTiles * kTile, left = quarter % kHgmmaTiles * kTile;
        Tile c;
        for (unsigned k = 0; k < kTile * kTile; ++k) {
            c[k / kTile][k % kTile] = tile_place(f, top + k / kTile, left + k % kTile);
        }
        for (unsigned first = 0; first < whole; first += depth) {
            Fragments operands;
            operands.depth = depth;
            for (unsigned line = 0; line < kTile; ++line) {
                for (unsigned k = 0; k < depth; ++k) {
                    unsigned at_a = (top + line) * whole + first + k;
                    unsigned at_b = (first + k) * kHgmmaSide + left + line;
                    operands.rows[line][k] = number_at(numerics, a, at_a);
                    operands.columns[line][k] = number_at(numerics, b, at_b);
                }
            }
            add_product(numerics, operands, c);
        }
        for (unsigned k = 0; k < kTile * kTile; ++k) {
            tile_place(f, top + k / kTile, left + k % kTile) = c[k / kTile][k % kTile];
        }
    }
}

}  // namespace spica
