// Rounded operations over the lanes of a warp, several lanes at a time if all are ordinary.
#pragma once
#include <cstdint>
#include <cstring>

#include "arithmetic/operations32.hpp"

namespace spica {

// Writes results and flags of the lanes in `mask`. Rarely called, hence not inlined.
template <typename Operation, unsigned width>
[[gnu::noinline]] void merge32(const Ordinary<width>& fast, uint32_t mask, const uint32_t* a,
                               const uint32_t* b, const uint32_t* c, uint32_t* results,
                               Rounding rounding, uint32_t& flags) {
    for (unsigned k = 0; k < width; ++k) {
        if (!(mask >> k & 1)) continue;
        int64_t state = fast.state[k];
        if (state < fast.kInvalid) {
            flags |= static_cast<uint32_t>(state);
            results[k] = fast.bits[k];
        } else {
            results[k] = Operation::slow(a[k], b[k], c[k], rounding, flags);
        }
    }
}

// Computes `width` lanes, with the fast path if all are ordinary.
template <typename Operation, unsigned width>
void some32(uint32_t mask, const uint32_t* a, const uint32_t* b, const uint32_t* c,
            uint32_t* results, uint32_t& flags) {
    constexpr uint32_t all = static_cast<uint32_t>((uint64_t{1} << width) - 1);
    using Lanes = Ordinary<width>;
    Lanes fast = Operation::fast(Lanes::load(a), Lanes::load(b), Lanes::load(c));
    int64_t state = fast.any();
    if ((mask & all) == all && state < fast.kInvalid) [[likely]] {
        flags |= static_cast<uint32_t>(state);
        std::memcpy(results, &fast.bits, sizeof fast.bits);
    } else {
        merge32<Operation, width>(fast, mask, a, b, c, results, Rounding::NearestEven, flags);
    }
}

// Computes `Operation` for 8, 16, 24 or 32 lanes; only lanes in `mask` write results and flags.
// `results` may be one of the operands.
template <typename Operation>
void lanes32(unsigned lanes, uint32_t mask, const uint32_t* a, const uint32_t* b,
             const uint32_t* c, uint32_t* results, Rounding rounding, uint32_t& flags) {
    unsigned k = 0;
    if (rounding == Rounding::NearestEven && processor_is_ordinary()) {
        for (; k + 8 <= lanes; k += 8) {
            some32<Operation, 8>(mask >> k, a + k, b + k, c + k, results + k, flags);
        }
    }
    for (; k < lanes; ++k) {
        if (mask >> k & 1) results[k] = Operation::slow(a[k], b[k], c[k], rounding, flags);
    }
}

}  // namespace spica
