// Marks of a warp's registers: bytes of each lane that were loaded from memory nobody wrote.
//
// Copies and bitwise operations pass them on.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "decode.hpp"
#include "warp.hpp"

namespace spica {

// Unwritten bytes that a load put into a register. `touched` are bytes of which a bitwise operation has
// set a part, as a store of a bit field does.
struct Mark {
    uint32_t pc = 0, size = 0;
    std::array<uint8_t, kMaxThreads> bytes{}, touched{};
    std::array<uint32_t, kMaxThreads> addresses{};
};

// What of the operands' unwritten and touched bytes is in a result.
struct Passed {
    uint8_t bytes = 0, touched = 0;
};

class Marks {
public:
    bool any() const { return rows_ != 0; }
    bool has(uint32_t row) const { return row < kDroppedRow && rows_ >> row & 1; }
    uint8_t bytes(uint32_t row, uint32_t lane) const { return has(row) ? of_[row].bytes[lane] : 0; }
    uint8_t touched(uint32_t row, uint32_t lane) const { return has(row) ? of_[row].touched[lane] : 0; }
    const Mark& of(uint32_t row) const { return of_[row]; }

    // Marks bytes of a lane, with the load that `source` has.
    void set(uint32_t row, uint32_t lane, Passed passed, const Mark& source, uint32_t address) {
        if (row >= kDroppedRow) return;
        if (of_.empty()) of_.resize(kDroppedRow);
        Mark& mark = of_[row];
        if (!has(row)) mark.bytes = mark.touched = {};
        mark.pc = source.pc;
        mark.size = source.size;
        mark.addresses[lane] = address;
        mark.bytes[lane] = passed.bytes;
        mark.touched[lane] = passed.touched;
        rows_ |= uint64_t{1} << row;
    }
    void clear(uint32_t row, uint32_t lane) {
        if (!has(row)) return;
        auto& bytes = of_[row].bytes;
        bytes[lane] = 0;
        bool is_empty = std::all_of(bytes.begin(), bytes.end(), [](uint8_t k) { return k == 0; });
        if (is_empty) rows_ &= ~(uint64_t{1} << row);
    }

private:
    uint64_t rows_ = 0;
    std::vector<Mark> of_;
};

// Marks of the result of a copy or of a bitwise operation; false if the instruction is another one,
// which uses the values of its operands.
inline bool passes_on(const Decoded& code, uint32_t a, uint32_t b, uint8_t in_a, uint8_t in_b,
                      uint8_t touched, Passed& out) {
    // `known` is the other operand, and `decider` the byte of it that alone decides the result.
    auto mask = [&](uint32_t known, uint8_t unknown, uint8_t bytes, uint32_t decider) {
        for (uint32_t k = 0; k < 4; ++k) {
            uint32_t value = known >> 8 * k & 0xFF, bit = 1u << k;
            if (!(bytes & bit)) continue;
            bool is_known = !(unknown & bit);
            if (!is_known || value != decider) out.bytes |= static_cast<uint8_t>(bit);
            if (is_known && value != (decider ^ 0xFF)) out.touched |= static_cast<uint8_t>(bit);
        }
        return true;
    };
    uint32_t shift = code.immediate & 31, whole = shift / 8;
    switch (code.op) {
        case Op::Addi: {
            // To bits that were cleared before, a compiler adds what it could combine by `ori`.
            bool is_or = (a & code.immediate) == 0 && code.immediate < 0x100 && touched & 1;
            out.bytes = in_a;
            return code.immediate == 0 || is_or;
        }
        case Op::FmvXW: case Op::FmvWX: out.bytes = in_a; return true;
        case Op::FsgnjS: case Op::FsgnjnS: case Op::FsgnjxS: out.bytes = in_a | (in_b & 8); return true;
        case Op::Xor: out.bytes = in_a | in_b; return true;
        case Op::Xori: out.bytes = in_a; return true;
        case Op::And: return mask(b, in_b, in_a, 0) && mask(a, in_a, in_b, 0);
        case Op::Andi: return mask(code.immediate, 0, in_a, 0);
        case Op::Or: return mask(b, in_b, in_a, 0xFF) && mask(a, in_a, in_b, 0xFF);
        case Op::Ori: return mask(code.immediate, 0, in_a, 0xFF);
        case Op::Slli:
            out.bytes = 15 & static_cast<uint8_t>(in_a << whole | (shift % 8 ? in_a << (whole + 1) : 0));
            return true;
        case Op::Srli: case Op::Srai: {
            uint32_t wide = code.op == Op::Srai && in_a & 8 ? in_a | 0xFF0u : in_a;
            out.bytes = 15 & static_cast<uint8_t>(wide >> whole | (shift % 8 ? wide >> (whole + 1) : 0));
            return true;
        }
        default: return false;
    }
}

// Bytes of the first operand that an instruction uses.
inline uint8_t used_bytes(Op op) {
    bool is_low = op == Op::FcvtSH || op == Op::FcvtSBf16 || op == Op::FunpacklSH ||
                  op == Op::FunpacklSBf16;
    bool is_high = op == Op::FunpackhSH || op == Op::FunpackhSBf16;
    return is_low ? 3 : is_high ? 12 : 15;
}

}  // namespace spica
