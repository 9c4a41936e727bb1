// Decoder: each instruction is decoded once into the form that execution needs.
#pragma once
#include <array>
#include <cstdint>

#include "config.hpp"
#include "retired.hpp"
#include "table.hpp"

namespace spica {

using iss::kDroppedRow, iss::kFloatRow, iss::kRows;
inline constexpr uint32_t kDynamicRounding = 7;
// Threads of the warps with wide groups of registers.
inline constexpr uint32_t kWideThreads = 32;

struct Decoded {
    Op op = Op::Undecoded;
    uint8_t d, a, b, c;  // rows of rd, rs1, rs2, rs3
    uint8_t rounding;
    uint8_t zimm;
    uint8_t destination;  // field rd of the instruction
    uint8_t reads;        // bits 0 to 2: whether it reads the rows a, b, c
    uint8_t results;      // rows of the result, which begin at `first` if there are several
    uint8_t first;
    bool reads_groups;  // operands are groups of float registers
    bool serialises;  // executed when all earlier accesses of the warp are complete
    bool begins_product, awaits_products;  // with operands in shared memory, read meanwhile
    uint8_t atomic_bytes;                  // of an atomic access, 0 for other instructions
    bool acquires, releases;               // ordering of an atomic access
    bool is_barrier;                       // an operation on transaction barriers
    uint32_t immediate;
    uint32_t word;
};

inline uint8_t row_of(File file, uint32_t number) {
    return static_cast<uint8_t>(file == File::Floating ? kFloatRow + number : number);
}

inline uint8_t destination_row(File file, uint32_t number) {
    bool dropped = file == File::None || (file == File::Integer && number == 0);
    return dropped ? kDroppedRow : row_of(file, number);
}

// Whether this machine has the instruction: those of different tensor units may share words.
inline bool exists(const Pattern& pattern, uint32_t units) {
    return pattern.units == 0 || (pattern.units & units) != 0;
}

// Sets the rows of the result; returns whether the first one of an encoded group is a multiple of
// its size.
inline bool set_results(Decoded& code, const ResultGroup& group) {
    code.results = group.size;
    code.first = code.d;
    if (group.size == 1) return true;
    if (group.is_encoded) return code.d % group.size == 0;
    uint32_t selected = group.is_selected ? code.destination : 0;
    code.first = static_cast<uint8_t>(group.first + group.size * selected);
    return true;
}

// Size of a load or store in bytes, 0 for other instructions.
inline uint32_t access_size(Op op, bool& is_store) {
    constexpr auto sizes = [] {
        std::array<int8_t, kOps> by_op{};  // negative for stores
        auto set = [&](Op op, int8_t size) { by_op[static_cast<uint32_t>(op)] = size; };
        for (Op op : {Op::Lb, Op::Lbu}) set(op, 1);
        for (Op op : {Op::Lh, Op::Lhu}) set(op, 2);
        for (Op op : {Op::Lw, Op::Flw}) set(op, 4);
        for (Op op : {Op::Sw, Op::Fsw}) set(op, -4);
        set(Op::Sb, -1);
        set(Op::Sh, -2);
        return by_op;
    }();
    int8_t size = sizes[static_cast<uint32_t>(op)];
    is_store = size < 0;
    return static_cast<uint32_t>(is_store ? -size : size);
}

// Sets the size and the ordering of an atomic access.
inline void set_atomic(Decoded& code, uint32_t word) {
    code.atomic_bytes = static_cast<uint8_t>(1 << (word >> 12 & 3));
    code.releases = word >> ORDERING_BIT & 1;
    code.acquires = word >> (ORDERING_BIT + 1) & 1;
}

// Decodes `word`; returns `Undecoded` and sets `why` if it is not an instruction.
inline Decoded decode(uint32_t word, const Config& config, Reason& why) {
    constexpr uint32_t atomic = 0x2F;
    const bool is_atomic = (word & 0x7F) == atomic;
    why = is_atomic && !config.has_atomics ? Reason::Atomic : Reason::Illegal;
    Decoded decoded{};
    for (const Pattern& pattern : kPatterns) {
        if ((word & pattern.mask) != pattern.match) continue;
        if (pattern.needs_atomics && !config.has_atomics) continue;
        if (pattern.needs_barriers && !config.has_transaction_barriers) {
            why = Reason::NoTransactionBarriers;
            continue;
        }
        if (!exists(pattern, config.units)) {
            why = pattern.units == EXCHANGE_UNIT ? Reason::Exchange : Reason::Tensor;
            continue;
        }
        uint32_t rd = word >> 7 & 31;
        decoded.d = destination_row(pattern.files[0], rd);
        decoded.a = row_of(pattern.files[1], word >> 15 & 31);
        decoded.b = row_of(pattern.files[2], word >> 20 & 31);
        decoded.c = row_of(pattern.files[3], pattern.updates_rd ? rd : word >> 27 & 31);
        decoded.rounding = static_cast<uint8_t>(word >> 12 & 7);
        decoded.zimm = static_cast<uint8_t>(word >> 15 & 31);
        decoded.destination = static_cast<uint8_t>(rd);
        decoded.immediate = immediate_of(pattern.immediate, word);
        decoded.word = word;
        for (uint32_t k = 0; k < 3; ++k) {
            decoded.reads |= static_cast<uint8_t>((pattern.files[k + 1] != File::None) << k);
        }
        decoded.reads_groups = pattern.reads_groups;
        decoded.serialises = pattern.serialises;
        decoded.begins_product = pattern.begins_product;
        decoded.awaits_products = pattern.awaits_products;
        if (is_atomic) set_atomic(decoded, word);
        decoded.is_barrier = pattern.needs_barriers;
        bool is_wide = config.threads == kWideThreads;
        if (set_results(decoded, is_wide ? pattern.wide : pattern.narrow)) decoded.op = pattern.op;
        break;
    }
    return decoded;
}

}  // namespace spica
