// Bit-exact products of small matrices as chains of dot products of four terms.
//
// In each dot product, products are rounded to FP16 and added in pairs, each sum rounded to FP16;
// the result is added to an FP32 accumulator. All roundings are to nearest even, without flags.
#pragma once
#include <cstdint>
#include <cstring>

#include "arithmetic/float32.hpp"
#include "arithmetic/half.hpp"

namespace spica {

constexpr unsigned kTile = 8, kTerms = 4;

template <unsigned depth>
using TileRows = const uint16_t (&)[kTile][depth];
template <unsigned depth>
using TileColumns = const uint16_t (&)[depth][kTile];
using Tile = uint32_t[kTile][kTile];

namespace exact {

template <unsigned depth>
void multiply_tile(TileRows<depth> a, TileColumns<depth> b, Tile& c) {
    uint32_t ignored = 0;
    for (unsigned row = 0; row < kTile; ++row) {
        for (unsigned column = 0; column < kTile; ++column) {
            uint32_t& total = c[row][column];
            for (unsigned k = 0; k < depth; k += kTerms) {
                uint32_t p[kTerms];
                for (unsigned j = 0; j < kTerms; ++j) {
                    p[j] = half::multiply(a[row][k + j], b[k + j][column]);
                }
                uint32_t sum = half::add(half::add(p[0], p[1]), half::add(p[2], p[3]));
                total = exact::fma32(half::widened(sum), kOne, total, Rounding::NearestEven,
                                     ignored);
            }
        }
    }
}

}  // namespace exact

// The same with the processor's floats, a row at a time. FP16 values are held in floats.
struct OrdinaryTile {
    using Words = Vectors<kTile>::Words;
    using Floats = Vectors<kTile>::Floats;
    using Masks = Vectors<kTile>::Masks;

    static Words bits(Floats x) { return __builtin_bit_cast(Words, x); }
    static Floats floats(Words x) { return __builtin_bit_cast(Floats, x); }

    // Rounds `x`, of up to 24 bits, to FP16. Double rounding is harmless for the sum of two
    // numbers of 11 bits.
    static Floats rounded(Floats x) {
        constexpr uint32_t exponents = 0x7F80'0000, least = 0x3880'0000, places = 13 << 23;
        Words magnitude = bits(x) & kMagnitude, exponent = magnitude & exponents;
        // The last place of a float of this magnitude equals that of FP16 at `x`.
        Floats coarse = floats((exponent > least ? exponent : Words{} + least) + places);
        Floats result = (floats(magnitude) + coarse) - coarse;
        Words stored = result >= 65536.0f ? Words{} + kInfinity : bits(result);
        return floats(stored | (bits(x) & kSign));
    }
    static float widened(uint16_t a) {
        uint32_t magnitude = a & half::kMagnitude16, sign = a & half::kSign16 ? kSign : 0;
        if (magnitude > half::kInfinity16) return std::bit_cast<float>(kNan);
        if (magnitude == half::kInfinity16) return std::bit_cast<float>(sign | kInfinity);
        // Interpret the bits with the exponent bias of a float, then scale.
        float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
        return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | sign);
    }

    template <unsigned depth>
    static void multiply(TileRows<depth> a, TileColumns<depth> b, Tile& c) {
        Floats columns[depth];
        for (unsigned k = 0; k < depth; ++k) {
            for (unsigned j = 0; j < kTile; ++j) columns[k][j] = widened(b[k][j]);
        }
        for (unsigned row = 0; row < kTile; ++row) {
            Floats total;
            std::memcpy(&total, c[row], sizeof total);
            for (unsigned k = 0; k < depth; k += kTerms) {
                Floats p[kTerms];
                for (unsigned j = 0; j < kTerms; ++j) {
                    p[j] = rounded(columns[k + j] * widened(a[row][k + j]));
                }
                total = total + rounded(rounded(p[0] + p[1]) + rounded(p[2] + p[3]));
            }
            Words stored = total == total ? bits(total) : Words{} + kNan;
            std::memcpy(c[row], &stored, sizeof stored);
        }
    }
};

// c += a . b, for rows of `a` and columns of `b`.
template <unsigned depth>
void multiply_tile(TileRows<depth> a, TileColumns<depth> b, Tile& c) {
    if (processor_is_ordinary()) [[likely]] {
        OrdinaryTile::multiply<depth>(a, b, c);
    } else {
        exact::multiply_tile<depth>(a, b, c);
    }
}

}  // namespace spica
