// Atomic operations of the memory of lone cores, and the reservations of their threads.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "../iss/native/archive.hpp"

namespace spica {

// Operations, with the numbers of `AtomicOperation`.
enum class Atomic : uint32_t {
    kAdd = 0x00,
    kSwap = 0x01,
    kLoadReserved = 0x02,
    kStoreConditional = 0x03,
    kXor = 0x04,
    kCompareAndSwap = 0x05,
    kLoad = 0x06,
    kStore = 0x07,
    kOr = 0x08,
    kAnd = 0x0C,
    kMin = 0x10,
    kMax = 0x14,
    kMinu = 0x18,
    kMaxu = 0x1C,
};

// Atomic access of a lane to the bytes of `strobes`; both values have theirs at these bytes.
struct AtomicAccess {
    Atomic operation;
    uint32_t strobes, operand, expected;

    // Whether the operation writes a word, if its store-conditional succeeds.
    bool writes(uint32_t old) const {
        if (operation == Atomic::kLoadReserved || operation == Atomic::kLoad) return false;
        return operation != Atomic::kCompareAndSwap || value(old) == value(expected);
    }
    // The word that it writes, of which only the bytes of `strobes` count.
    uint32_t written(uint32_t old) const {
        uint32_t a = value(old), b = value(operand), sign = 1u << (width() - 1);
        switch (operation) {
            case Atomic::kAdd: return (a + b) << place();
            case Atomic::kXor: return (a ^ b) << place();
            case Atomic::kOr: return (a | b) << place();
            case Atomic::kAnd: return (a & b) << place();
            case Atomic::kMin: return ((a ^ sign) < (b ^ sign) ? a : b) << place();
            case Atomic::kMax: return ((a ^ sign) < (b ^ sign) ? b : a) << place();
            case Atomic::kMinu: return std::min(a, b) << place();
            case Atomic::kMaxu: return std::max(a, b) << place();
            default: return operand;
        }
    }

private:
    int place() const { return 8 * std::countr_zero(strobes); }
    int width() const { return 8 * std::popcount(strobes); }
    uint32_t value(uint32_t word) const { return word >> place() & ~0u >> (32 - width()); }
};

// Reservations of words, at most one for each thread. One ends by the next load-reserved or
// store-conditional of its thread, by a write to its word, and after `kLifetime` cycles.
class CoreReservations {
public:
    static constexpr uint64_t kLifetime = 256;

    void reserve(uint32_t thread, uint32_t word, uint64_t now) {
        take(thread, word, now);
        all_.push_back({thread, word, now});
    }
    // Ends the reservation of a thread; returns whether it was that of this word.
    bool take(uint32_t thread, uint32_t word, uint64_t now) {
        auto own = std::find_if(all_.begin(), all_.end(),
                                [&](const Reservation& one) { return one.thread == thread; });
        if (own == all_.end()) return false;
        bool is_held = own->word == word && now - own->since <= kLifetime;
        all_.erase(own);
        return is_held;
    }
    // Ends those of a word that is written.
    void end(uint32_t word) {
        if (all_.empty()) return;
        std::erase_if(all_, [&](const Reservation& one) { return one.word == word; });
    }
    void archive(Archive& archive) { archive(all_); }

private:
    struct Reservation {
        uint32_t thread, word;
        uint64_t since;

        void archive(Archive& archive) { archive(thread, word, since); }
    };

    std::vector<Reservation> all_;
};

}  // namespace spica
