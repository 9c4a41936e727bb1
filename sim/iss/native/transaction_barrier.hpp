// Transaction barrier: its state in 8 bytes of shared memory, and operations on it.
#pragma once
#include <cstdint>

#include "table.hpp"

namespace spica {

struct BarrierOutcome {
    BarrierFault fault = BarrierFault::None;
    uint32_t result = 0;
    bool is_complete = false;  // the phase of the parity before the operation has completed
};

class TransactionBarrier {
public:
    explicit TransactionBarrier(uint64_t word) : word_(word) {}

    bool exists() const { return field(kBarrierMark) == BARRIER_MARK; }
    uint32_t pending() const { return field(kBarrierPending); }
    uint32_t expected() const { return field(kBarrierExpected); }
    // Expected less completed bytes.
    int32_t bytes() const {
        uint32_t unused = 32 - kBarrierBytes.width;
        return static_cast<int32_t>(field(kBarrierBytes) << unused) >> unused;
    }
    uint32_t parity() const { return field(kBarrierParity); }
    uint64_t word() const { return word_; }

    // Executes an operation; after a fault nothing has changed.
    BarrierOutcome execute(BarrierOperation operation, uint32_t n) {
        using Operation = BarrierOperation;
        if (operation == Operation::Init) return initialise(n);
        if (!exists()) return {BarrierFault::NoBarrier};
        switch (operation) {
            case Operation::Init: break;
            case Operation::Inval: word_ = 0; break;
            case Operation::Arrive: return arrive(n, 0);
            case Operation::ArriveDrop: return arrive(n, n);
            case Operation::ArriveExpectTx: return change(1, 0, n, 1);
            case Operation::ArriveDropExpectTx: return change(1, 1, n, 1);
            case Operation::ExpectTx: return change(0, 0, n, 1);
            case Operation::CompleteTx: return change(0, 0, n, -1);
            case Operation::TestWait:
            case Operation::TryWait:
            case Operation::Wait:
                if (n > 1) return {BarrierFault::Parity};
                return {BarrierFault::None, parity() != n};
        }
        return {};
    }

private:
    uint32_t field(BarrierField one) const {
        return static_cast<uint32_t>(word_ >> one.low) & ((1u << one.width) - 1);
    }
    void set(BarrierField one, uint32_t value) {
        uint64_t mask = ((uint64_t{1} << one.width) - 1) << one.low;
        word_ = (word_ & ~mask) | (uint64_t{value} << one.low & mask);
    }
    static bool is_count(uint32_t n) { return n != 0 && n <= MOST_ARRIVALS; }
    BarrierOutcome initialise(uint32_t n) {
        if (!is_count(n)) return {BarrierFault::Count};
        word_ = 0;
        set(kBarrierMark, BARRIER_MARK);
        set(kBarrierPending, n);
        set(kBarrierExpected, n);
        return {};
    }
    BarrierOutcome arrive(uint32_t arrivals, uint32_t drops) {
        return is_count(arrivals) ? change(arrivals, drops, 0, 1)
                                  : BarrierOutcome{BarrierFault::Count};
    }
    // Arrivals, drops of them, and `n` bytes that are expected (sign 1) or completed (sign -1).
    BarrierOutcome change(uint32_t arrivals, uint32_t drops, uint32_t n, int32_t sign) {
        constexpr int64_t most = MOST_TRANSACTION_BYTES;
        const int64_t sum = bytes() + sign * int64_t{n};
        if (n > most || sum > most || sum < -most) return {BarrierFault::Bytes};
        if (arrivals > pending()) return {BarrierFault::Arrivals};
        if (drops == expected()) return {BarrierFault::Drops};
        BarrierOutcome outcome{BarrierFault::None, arrivals != 0 ? parity() : 0};
        set(kBarrierBytes, static_cast<uint32_t>(sum));
        set(kBarrierPending, pending() - arrivals);
        set(kBarrierExpected, expected() - drops);
        outcome.is_complete = pending() == 0 && sum == 0;
        if (outcome.is_complete) {
            set(kBarrierPending, expected());
            set(kBarrierParity, parity() ^ 1);
        }
        return outcome;
    }

    uint64_t word_;
};

}  // namespace spica
