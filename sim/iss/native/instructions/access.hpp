// Loads and stores: all lanes at once if they access one contiguous range, else lane by lane.
#pragma once
#include <algorithm>
#include <cstring>

#include "instructions/lanes.hpp"

namespace spica {

// Addresses of a load or store; inactive lanes repeat the address of the last active lane.
struct Addresses {
    alignas(32) uint32_t lane[kMaxThreads];
    uint32_t least = ~0u, largest = 0, low_bits = 0;

    explicit Addresses(Step& step) {
        Warp& warp = step.warp;
        const uint32_t* base = warp.row(step.code.a);
        const uint32_t* active = warp.lanes();
        uint32_t other = warp.scalar(step.code.a);
        uint32_t offset = step.code.immediate;
        for (uint32_t at = 0; at < warp.stride; at += kChunk) {
            Chunk rs1 = load(base + at), select = load(active + at);
            for (uint32_t k = 0; k < kChunk; ++k) {
                uint32_t from = (rs1.lane[k] & select.lane[k]) | (other & ~select.lane[k]);
                uint32_t address = from + offset;
                lane[at + k] = address;
                least = std::min(least, address);
                largest = std::max(largest, address);
                low_bits |= address;
            }
        }
    }
};

// Placed addresses of the lowest and the highest lane. Those of other lanes lie between them unless
// the lanes access several windows: then `is_range` is false.
struct PlacedAddresses {
    uint32_t least, largest;
    bool is_range;

    PlacedAddresses(const Step& step, const Addresses& addresses)
        : least(step.placed(addresses.least)),
          largest(step.placed(addresses.largest)),
          is_range(addresses.largest < SHARED_BASE ||
                   (addresses.least ^ addresses.largest) < CLUSTER_WINDOW_BYTES) {}
};

inline constexpr uint32_t kStackPointer = 2;  // row of x2

inline bool is_console(uint32_t address) { return address - CONSOLE_BASE < CONSOLE_LANES; }

inline bool is_register(const Step& step, uint32_t address) {
    const Config& config = step.machine.config;
    uint32_t window = SHARED_BASE + config.shared_bytes;
    return !config.is_alone && address - window < WINDOW_BYTES && address - window >= DMA_BASE;
}

inline bool is_in_dram(uint32_t address, uint32_t size) {
    return address >= DRAM_BASE && uint64_t{address} + size <= DRAM_END;
}

// Result of checking the access of one lane, with the reason if it is illegal.
struct Verdict {
    bool is_wrong;
    Reason reason;
};

template <bool is_store>
Verdict check_access(Step& step, uint32_t address, uint32_t size) {
    if (address & (size - 1)) return {true, Reason::Misaligned};
    if (step.span(address, address + size - 1)) return {false, {}};
    if (is_console(address)) {
        if (!is_store) return {true, Reason::ConsoleLoad};
        return {size != 1, Reason::ConsoleSize};
    }
    if (is_register(step, address)) return {size != 4, Reason::RegisterSize};
    if (is_in_dram(address, size)) {
        return {true, is_store ? Reason::StoreNotPlaced : Reason::LoadNotPlaced};
    }
    return {true, is_store ? Reason::StoreOutside : Reason::LoadOutside};
}

// Whether the accesses of all lanes are legal by `check`. If not, the fault has the reason of the
// lowest faulting lane, and the lanes with the same reason.
template <typename Check>
bool all_may(Step& step, const Addresses& addresses, uint32_t size, Check check) {
    uint32_t wrong = 0, wrong_for_any_reason = 0;
    Reason reason{};
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        Verdict verdict = check(step, addresses.lane[lane], size);
        if (!verdict.is_wrong) return;
        wrong_for_any_reason |= 1u << lane;
        if (wrong == 0) reason = verdict.reason;
        if (verdict.reason == reason) wrong |= 1u << lane;
    });
    if (wrong == 0) return true;
    uint32_t address = addresses.lane[lowest_lane(wrong)];
    return step.fault_at(reason, wrong, address, size, wrong_for_any_reason);
}

// Fault raised by a unit model, which holds the message.
inline bool device_fault(Step& step, uint32_t lane, uint32_t address) {
    return step.fault_at(Reason::Device, 1u << lane, address);
}

template <typename Type>
uint32_t extended(const uint8_t* memory) {
    Type value;
    std::memcpy(&value, memory, sizeof value);
    return static_cast<uint32_t>(static_cast<int32_t>(value));
}

// Whether no active lane has the stack pointer in the stack of a later thread, if stacks have a
// limit: a stack that grows into another one destroys values of that thread. A stack of the program's
// own is elsewhere.
inline bool keeps_to_stacks(Step& step) {
    const Config& config = step.machine.config;
    const StackLimit& stacks = step.machine.stacks;
    if (step.code.a != kStackPointer || stacks.bytes == 0) return true;
    Warp& warp = step.warp;
    uint32_t hart = ((warp.core << config.warp_width) | warp.number) << config.thread_width;
    const uint32_t* pointers = warp.row(kStackPointer);
    uint32_t all = config.cores * stacks.bytes << (config.warp_width + config.thread_width);
    uint32_t lanes = 0, furthest = 0;
    for_lanes(warp.mask(), [&](uint32_t lane) {
        uint32_t end = stacks.top - (hart + lane + 1) * stacks.bytes;
        if (pointers[lane] >= end || pointers[lane] < stacks.top - all) return;
        lanes |= 1u << lane;
        furthest = std::max(furthest, end - pointers[lane]);
    });
    if (lanes == 0) return true;
    uint32_t pointer = pointers[lowest_lane(lanes)];
    return step.fault_at(Reason::StackExceeded, lanes, pointer, furthest, stacks.bytes);
}

template <typename Type>
bool load_slowly(Step& step, const Addresses& addresses) {
    if (!all_may(step, addresses, sizeof(Type), check_access<false>)) return false;
    Warp& warp = step.warp;
    Machine& machine = step.machine;
    uint32_t values[kMaxThreads];
    for (uint32_t lane = 0; lane < warp.stride; ++lane) {
        if (!(warp.mask() >> lane & 1)) continue;
        uint32_t address = addresses.lane[lane];
        if (is_register(step, address)) {
            uint32_t offset = address - SHARED_BASE - machine.config.shared_bytes;
            if (!step.devices().read(offset, &values[lane])) {
                return device_fault(step, lane, address);
            }
        } else {
            uint8_t* memory = step.span(address, address + sizeof(Type) - 1);
            values[lane] = extended<Type>(memory);
        }
    }
    uint32_t* destination = warp.row(step.code.d);
    for_lanes(warp.mask(), [&](uint32_t lane) { destination[lane] = values[lane]; });
    return true;
}

// rd = memory at rs1 + immediate, extended as `Type`.
template <typename Type>
bool load_lanes(Step& step) {
    Warp& warp = step.warp;
    if (!keeps_to_stacks(step)) return false;
    Addresses addresses(step);
    uint32_t last = addresses.largest + sizeof(Type) - 1;
    const uint8_t* memory = nullptr;
    if ((addresses.low_bits & (sizeof(Type) - 1)) == 0) {
        memory = step.span(addresses.least, last);
    }
    if (memory == nullptr) return load_slowly<Type>(step, addresses);
    for (uint32_t at = 0; at < warp.stride; at += kChunk) {
        Chunk result;
        for (uint32_t k = 0; k < kChunk; ++k) {
            result.lane[k] = extended<Type>(memory + (addresses.lane[at + k] - addresses.least));
        }
        merge(warp.row(step.code.d) + at, warp.lanes() + at, result);
    }
    return true;
}

// Whether no lane writes an operand of a product that its warp has not waited for.
inline bool spares_operands(Step& step, const Addresses& addresses) {
    const std::vector<Operand>& operands = step.machine.memory.operands();
    bool is_legal = true;
    for (const Operand& operand : operands) {
        uint32_t first = operand.tile.first();
        const PlacedAddresses placed(step, addresses);
        bool is_apart = placed.largest < first || placed.least >= first + operand.tile.span();
        if (placed.is_range && is_apart) continue;
        for_lanes(step.warp.mask(), [&](uint32_t lane) {
            uint32_t address = addresses.lane[lane];
            if (!is_legal || !operand.tile.has(step.placed(address))) return;
            is_legal = step.fault_at(Reason::OperandWritten, 1u << lane, address, operand.pc);
        });
    }
    return is_legal;
}

// Whether a register of the units, at an offset in the window, receives command words.
inline bool is_command(uint32_t offset) {
    uint32_t within = offset % MATRIX_STRIDE;
    return offset >= MATRIX_BASE && (within == INSTRUCTION_OFFSET || within == CISC_OFFSET);
}

// Ends the reservations of the words that the active lanes write.
inline void end_reservations(Step& step, const Addresses& addresses) {
    Reservations& reservations = step.machine.memory.reservations;
    if (!reservations.any()) return;
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        uint32_t address = step.placed(addresses.lane[lane]);
        reservations.end(address, address);
    });
}

template <typename Type>
bool store_slowly(Step& step, const Addresses& addresses) {
    if (!all_may(step, addresses, sizeof(Type), check_access<true>)) return false;
    if (!spares_operands(step, addresses)) return false;
    Warp& warp = step.warp;
    Machine& machine = step.machine;
    const uint32_t* values = warp.row(step.code.b);
    // Unit registers first, since they can still fault.
    for (uint32_t lane = 0; lane < warp.stride; ++lane) {
        uint32_t address = addresses.lane[lane];
        if (!(warp.mask() >> lane & 1) || !is_register(step, address)) continue;
        uint32_t offset = address - SHARED_BASE - machine.config.shared_bytes;
        if (is_command(offset)) {
            machine.sent.add({values[lane], warp.core, warp.number, warp.pc});
        }
        if (!step.devices().write(offset, values[lane])) {
            return device_fault(step, lane, address);
        }
        machine.wake(warp.cluster);
    }
    for_lanes(warp.mask(), [&](uint32_t lane) {
        uint32_t address = addresses.lane[lane];
        if (is_register(step, address)) return;
        if (is_console(address)) {
            machine.console.push_back(static_cast<char>(values[lane]));
            return;
        }
        std::memcpy(step.span(address, address + sizeof(Type) - 1), &values[lane], sizeof(Type));
        machine.memory.invalidate_code(address, address);
        machine.memory.reservations.end(step.placed(address), step.placed(address));
    });
    return true;
}

// Memory at rs1 + immediate = lower bits of rs2; the last of several lanes at one address wins.
template <typename Type>
bool store_lanes(Step& step) {
    Warp& warp = step.warp;
    if (!keeps_to_stacks(step)) return false;
    Addresses addresses(step);
    uint32_t last = addresses.largest + sizeof(Type) - 1;
    uint8_t* memory = nullptr;
    if ((addresses.low_bits & (sizeof(Type) - 1)) == 0) {
        memory = step.span(addresses.least, last);
    }
    if (memory == nullptr) return store_slowly<Type>(step, addresses);
    if (!spares_operands(step, addresses)) return false;
    const uint32_t* values = warp.row(step.code.b);
    for_lanes(warp.mask(), [&](uint32_t lane) {
        std::memcpy(memory + (addresses.lane[lane] - addresses.least), &values[lane],
                    sizeof(Type));
    });
    step.machine.memory.invalidate_code(addresses.least, last);
    end_reservations(step, addresses);
    return true;
}

}  // namespace spica
