// Atomic operations: each active lane reads and writes before the next one, from the lowest on.
#pragma once
#include <algorithm>
#include <type_traits>

#include "instructions/access.hpp"

namespace spica {

// Operations of the memory's value and of rs2, for signed types; the caller truncates.
inline constexpr auto kAdd = [](auto a, auto b) {
    return static_cast<uint32_t>(a) + static_cast<uint32_t>(b);
};
inline constexpr auto kSwap = [](auto, auto b) { return b; };
inline constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
inline constexpr auto kOr = [](auto a, auto b) { return a | b; };
inline constexpr auto kAnd = [](auto a, auto b) { return a & b; };
inline constexpr auto kMin = [](auto a, auto b) { return std::min(a, b); };
inline constexpr auto kMax = [](auto a, auto b) { return std::max(a, b); };
inline constexpr auto kMinu = [](auto a, auto b) {
    using Unsigned = std::make_unsigned_t<decltype(a)>;
    return std::min(static_cast<Unsigned>(a), static_cast<Unsigned>(b));
};
inline constexpr auto kMaxu = [](auto a, auto b) {
    using Unsigned = std::make_unsigned_t<decltype(a)>;
    return std::max(static_cast<Unsigned>(a), static_cast<Unsigned>(b));
};

// Atomic accesses exist in DRAM and in shared memory only, not in the buffers behind it.
inline Verdict check_atomic(Step& step, uint32_t address, uint32_t size) {
    if (address & (size - 1)) return {true, Reason::Misaligned};
    if (step.is_checked(address, size)) return {false, {}};
    if (is_console(address)) return {true, Reason::AtomicConsole};
    if (is_register(step, address)) return {true, Reason::AtomicRegister};
    return {true, is_in_dram(address, size) ? Reason::AtomicNotPlaced : Reason::AtomicOutside};
}

// Access of one lane, once all lanes are known to be legal.
template <typename Type>
class AtomicAccess {
public:
    AtomicAccess(Step& step, uint32_t lane, uint32_t address)
        : lane(lane), step_(step), address_(address) {
        bytes_ = step.span(address, address + sizeof(Type) - 1);
    }
    Type value() const {
        Type value;
        std::memcpy(&value, bytes_, sizeof value);
        return value;
    }
    void write(uint32_t value) {
        std::memcpy(bytes_, &value, sizeof(Type));
        step_.machine.memory.invalidate_code(address_, address_);
        reservations().end(word(), word());
    }
    void reserve() { reservations().reserve(hart(), word()); }
    bool take_reservation() { return reservations().take(hart(), word()); }

    const uint32_t lane;

private:
    Reservations& reservations() { return step_.machine.memory.reservations; }
    uint32_t word() const { return step_.placed(address_) & ~3u; }
    uint32_t hart() const {
        const Config& config = step_.machine.config;
        const Warp& warp = step_.warp;
        return (((warp.core << config.warp_width) | warp.number) << config.thread_width) | lane;
    }

    Step& step_;
    uint32_t address_;
    uint8_t* bytes_;
};

// rd = action(access), lane by lane. No lane has an effect unless all of them are legal.
template <typename Type, typename Action>
bool atomic_lanes(Step& step, bool writes, Action action) {
    Warp& warp = step.warp;
    if (!keeps_to_stacks(step)) return false;
    Addresses addresses(step);
    bool may = all_may(step, addresses, sizeof(Type), check_atomic);
    if (!may || (writes && !spares_operands(step, addresses))) return false;
    uint32_t results[kMaxThreads];
    for_lanes(warp.mask(), [&](uint32_t lane) {
        AtomicAccess<Type> access(step, lane, addresses.lane[lane]);
        results[lane] = action(access);
    });
    uint32_t* destination = warp.row(step.code.d);
    for_lanes(warp.mask(), [&](uint32_t lane) { destination[lane] = results[lane]; });
    return true;
}

// The old value with its sign, as rd gets it.
template <typename Type>
uint32_t extended_value(Type value) {
    return static_cast<uint32_t>(static_cast<int32_t>(value));
}

// rd = memory at rs1; memory = operation(memory, rs2).
template <typename Type, typename Operation>
bool update_lanes(Step& step, Operation operation) {
    const uint32_t* values = step.warp.row(step.code.b);
    return atomic_lanes<Type>(step, true, [&](AtomicAccess<Type>& access) {
        Type old = access.value();
        access.write(static_cast<uint32_t>(operation(old, static_cast<Type>(values[access.lane]))));
        return extended_value(old);
    });
}

// rd = memory at rs1; memory = rs2 if it was rd.
template <typename Type>
bool compare_and_swap_lanes(Step& step) {
    const uint32_t* values = step.warp.row(step.code.b);
    const uint32_t* expected = step.warp.row(step.code.c);
    return atomic_lanes<Type>(step, true, [&](AtomicAccess<Type>& access) {
        Type old = access.value();
        if (old == static_cast<Type>(expected[access.lane])) access.write(values[access.lane]);
        return extended_value(old);
    });
}

// rd = memory at rs1, which the thread has reserved from now on.
inline bool load_reserved_lanes(Step& step) {
    return atomic_lanes<int32_t>(step, false, [&](AtomicAccess<int32_t>& access) {
        access.reserve();
        return extended_value(access.value());
    });
}

// Memory at rs1 = rs2, and rd = 0, if the thread has reserved the word; else rd = 1.
inline bool store_conditional_lanes(Step& step) {
    const uint32_t* values = step.warp.row(step.code.b);
    return atomic_lanes<int32_t>(step, true, [&](AtomicAccess<int32_t>& access) {
        if (!access.take_reservation()) return 1u;
        access.write(values[access.lane]);
        return 0u;
    });
}

template <typename Type>
bool load_acquire_lanes(Step& step) {
    return atomic_lanes<Type>(step, false, [&](AtomicAccess<Type>& access) {
        return extended_value(access.value());
    });
}

template <typename Type>
bool store_release_lanes(Step& step) {
    const uint32_t* values = step.warp.row(step.code.b);
    return atomic_lanes<Type>(step, true, [&](AtomicAccess<Type>& access) {
        access.write(values[access.lane]);
        return 0u;
    });
}

}  // namespace spica
