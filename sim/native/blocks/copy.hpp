// Copies of bits from ports to ports, which tell whether a target changed.
#pragma once
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

namespace spica {

// Storage of a port: 1, 2, 4 or 8 bytes, or 32-bit words above 64 bits.
inline uint32_t port_bytes(uint32_t width) {
    if (width <= 8) return 1;
    if (width <= 16) return 2;
    if (width <= 32) return 4;
    return width <= 64 ? 8 : (width + 31) / 32 * 4;
}

// Storage of a port in an array of 32-bit words.
inline uint32_t word_bytes(uint32_t width) { return (width + 31) / 32 * 4; }

struct Storage {
    uint8_t* data;
    uint32_t bytes;
    uint32_t width;
};

// Copies of whole ports between two types of storage.
template <typename From, typename To>
struct Scalars {
    bool takes(const Storage& from, const Storage& to) const {
        return from.bytes == sizeof(From) && to.bytes == sizeof(To);
    }
    bool apply() const {
        To changed = 0;
        for (auto [from, to] : pairs) {
            From value;
            To old;
            std::memcpy(&value, from, sizeof value);
            std::memcpy(&old, to, sizeof old);
            To next = static_cast<To>(value);
            changed |= old ^ next;
            std::memcpy(to, &next, sizeof next);
        }
        return changed;
    }
    std::vector<std::pair<const uint8_t*, uint8_t*>> pairs;
};

// Copies with one source, in lists by storage: no copy chooses its kind when it runs.
class Copies {
public:
    void add(const Storage& from, uint32_t from_bit, const Storage& to, uint32_t to_bit,
             uint32_t width) {
        if (from_bit || to_bit || width != from.width || width != to.width) {
            bits_.push_back({from.data, to.data, from_bit, to_bit, width});
            return;
        }
        bool taken = false;
        std::apply([&](auto&... lists) { ((taken = taken || offer(lists, from, to)), ...); },
                   scalars_);
        if (!taken) words_.push_back({from.data, to.data, 0, 0, to.bytes});
    }

    // Copies all; returns whether any target changed.
    bool apply() const {
        bool changed = false;
        std::apply([&](auto&... lists) { ((changed |= lists.apply()), ...); }, scalars_);
        for (const Piece& piece : words_) {
            if (!std::memcmp(piece.from, piece.to, piece.size)) continue;
            std::memcpy(piece.to, piece.from, piece.size);
            changed = true;
        }
        for (const Piece& piece : bits_) changed |= apply_bits(piece);
        return changed;
    }

private:
    struct Piece {
        const uint8_t* from;
        uint8_t* to;
        uint32_t from_bit, to_bit, size;  // size in bits, or in bytes for words
    };

    template <typename List>
    static bool offer(List& list, const Storage& from, const Storage& to) {
        if (!list.takes(from, to)) return false;
        list.pairs.push_back({from.data, to.data});
        return true;
    }

    // Storage is little-endian, so bit n is bit n % 8 of byte n / 8.
    static bool apply_bits(const Piece& piece) {
        bool changed = false;
        for (uint32_t k = 0; k < piece.size; k++) {
            uint32_t source = piece.from_bit + k, target = piece.to_bit + k;
            uint8_t value = piece.from[source / 8] >> source % 8 & 1;
            uint8_t& byte = piece.to[target / 8];
            if ((byte >> target % 8 & 1) == value) continue;
            byte ^= 1 << target % 8;
            changed = true;
        }
        return changed;
    }

    // A port of at most 16 bits fills a whole word in an array of words.
    std::tuple<Scalars<uint8_t, uint8_t>, Scalars<uint16_t, uint16_t>, Scalars<uint32_t, uint32_t>,
               Scalars<uint64_t, uint64_t>, Scalars<uint8_t, uint32_t>,
               Scalars<uint16_t, uint32_t>, Scalars<uint32_t, uint8_t>,
               Scalars<uint32_t, uint16_t>>
        scalars_;
    std::vector<Piece> words_, bits_;
};

}  // namespace spica
