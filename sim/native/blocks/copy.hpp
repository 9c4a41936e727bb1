// Copies of bits from ports to ports, which return whether a target changed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>
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
class Scalars {
public:
    bool offer(const Storage& from, const Storage& to) {
        if (from.bytes != sizeof(From) || to.bytes != sizeof(To)) return false;
        pairs_.push_back({from.data, to.data});
        return true;
    }

    bool apply() const {
        To changed = 0;
        for (auto [from, to] : pairs_) {
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

private:
    std::vector<std::pair<const uint8_t*, uint8_t*>> pairs_;
};

// Copies of whole ports of 32-bit words.
class Words {
public:
    bool offer(const Storage& from, const Storage& to) {
        if (to.bytes % 4 || from.bytes < to.bytes) return false;
        pieces_.push_back({from.data, to.data, to.bytes / 4});
        return true;
    }

    bool apply() const {
        uint32_t changed = 0;
        for (const Piece& piece : pieces_) {
            for (uint32_t k = 0; k < 4 * piece.words; k += 4) {
                uint32_t value, old;
                std::memcpy(&value, piece.from + k, 4);
                std::memcpy(&old, piece.to + k, 4);
                changed |= value ^ old;
                std::memcpy(piece.to + k, &value, 4);
            }
        }
        return changed;
    }

private:
    struct Piece {
        const uint8_t* from;
        uint8_t* to;
        uint32_t words;
    };
    std::vector<Piece> pieces_;
};

// Part of a port of at most 56 bits, in a window of 1, 2, 4 or 8 bytes. Storage is little-endian.
struct Window {
    Window(const Storage& port, uint32_t bit, uint32_t width)
        : bytes(std::min(port.bytes, 8u)),
          data(port.data + std::min(bit / 8, port.bytes - bytes)),
          shift(bit - 8 * static_cast<uint32_t>(data - port.data)),
          mask((uint64_t{1} << width) - 1) {}

    uint64_t word() const {
        uint64_t value = 0;
        switch (bytes) {
            case 1: std::memcpy(&value, data, 1); break;
            case 2: std::memcpy(&value, data, 2); break;
            case 4: std::memcpy(&value, data, 4); break;
            default: std::memcpy(&value, data, 8);
        }
        return value;
    }

    uint64_t get() const { return word() >> shift & mask; }

    bool set(uint64_t value) const {
        uint64_t old = word(), changed = (old ^ value << shift) & mask << shift, next = old ^ changed;
        switch (bytes) {
            case 1: std::memcpy(data, &next, 1); break;
            case 2: std::memcpy(data, &next, 2); break;
            case 4: std::memcpy(data, &next, 4); break;
            default: std::memcpy(data, &next, 8);
        }
        return changed;
    }

    uint32_t bytes;
    uint8_t* data;
    uint32_t shift;
    uint64_t mask;
};

// Copies of some bits of a port.
class Bits {
public:
    void add(const Storage& from, uint32_t from_bit, const Storage& to, uint32_t to_bit,
             uint32_t width) {
        for (uint32_t k = 0; k < width; k += kChunk) {
            uint32_t chunk = std::min(width - k, kChunk);
            chunks_.push_back({{from, from_bit + k, chunk}, {to, to_bit + k, chunk}});
        }
    }

    bool apply() const {
        bool changed = false;
        for (auto& [from, to] : chunks_) changed |= to.set(from.get());
        return changed;
    }

private:
    static constexpr uint32_t kChunk = 56;  // with any offset in a byte, fits into 8 bytes
    std::vector<std::pair<Window, Window>> chunks_;
};

// Copies with one source, in a list for each kind: no copy chooses its kind when it runs.
class Copies {
public:
    void add(const Storage& from, uint32_t from_bit, const Storage& to, uint32_t to_bit,
             uint32_t width) {
        if (from_bit || to_bit || width != from.width || width != to.width || !whole(from, to)) {
            bits_.add(from, from_bit, to, to_bit, width);
            used_ |= 1u << kLists;
        }
    }

    // Copies all; returns whether any target changed.
    bool apply() const { return apply(std::make_index_sequence<kLists>()); }

private:
    // A port of at most 16 bits fills a whole word in an array of words.
    using Lists =
        std::tuple<Scalars<uint8_t, uint8_t>, Scalars<uint16_t, uint16_t>,
                   Scalars<uint32_t, uint32_t>, Scalars<uint64_t, uint64_t>,
                   Scalars<uint8_t, uint32_t>, Scalars<uint16_t, uint32_t>,
                   Scalars<uint32_t, uint8_t>, Scalars<uint32_t, uint16_t>, Words>;
    static constexpr size_t kLists = std::tuple_size_v<Lists>;

    bool whole(const Storage& from, const Storage& to) {
        return offer(from, to, std::make_index_sequence<kLists>());
    }

    template <size_t... kList>
    bool offer(const Storage& from, const Storage& to, std::index_sequence<kList...>) {
        return ((std::get<kList>(lists_).offer(from, to) && (used_ |= 1u << kList)) || ...);
    }

    template <size_t... kList>
    bool apply(std::index_sequence<kList...>) const {
        bool changed = false;
        ((used_ >> kList & 1 ? changed |= std::get<kList>(lists_).apply() : false), ...);
        if (used_ >> kLists) changed |= bits_.apply();
        return changed;
    }

    Lists lists_;
    Bits bits_;
    uint32_t used_ = 0;  // lists that are not empty, by number; the bits last
};

}  // namespace spica
