// State of each byte of memory: written or not, and guarded or not.
//
// Guarded bytes lie between the objects of a program and are never written in this sense, so one
// check of the written bits finds accesses without a fault.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace spica {

class ByteStates {
public:
    // Whether all bytes are written; false also if they are in two pages.
    bool are_written(uint32_t first, uint32_t last) const {
        const Page* page = pages_[first / kPageBytes].get();
        if (page == nullptr || (first ^ last) >= kPageBytes) return false;
        uint32_t from = first % kPageBytes / 64, to = last % kPageBytes / 64;
        for (uint32_t k = from; k <= to; ++k) {
            if (~page->written[k] & part(first, last, k, from, to)) return false;
        }
        return true;
    }
    // Masks of the bytes of an aligned access of up to 4 bytes.
    uint32_t unwritten(uint32_t address, uint32_t size) const {
        const Page* page = pages_[address / kPageBytes].get();
        uint32_t all = (1u << size) - 1;
        return page == nullptr ? all : ~bits(page->written, address) & all;
    }
    uint32_t guarded(uint32_t address, uint32_t size) const {
        const Page* page = pages_[address / kPageBytes].get();
        return page == nullptr ? 0 : bits(page->guarded, address) & ((1u << size) - 1);
    }
    // First byte of a range that is not written, or that is guarded.
    std::optional<uint32_t> first_unwritten(uint32_t address, uint64_t size) const {
        return find(address, size, [](const Page& page, uint32_t k) { return ~page.written[k]; }, true);
    }
    std::optional<uint32_t> first_guarded(uint32_t address, uint64_t size) const {
        return find(address, size, [](const Page& page, uint32_t k) { return page.guarded[k]; }, false);
    }

    void write(uint32_t address, uint64_t size) {
        change(address, size, [](Page& page, uint32_t k, uint64_t mask) {
            page.written[k] |= mask & ~page.guarded[k];
        });
    }
    void clear(uint32_t address, uint64_t size) {
        change(address, size,
               [](Page& page, uint32_t k, uint64_t mask) { page.written[k] &= ~mask; });
    }
    void guard(uint32_t address, uint64_t size) {
        change(address, size, [](Page& page, uint32_t k, uint64_t mask) {
            page.guarded[k] |= mask;
            page.written[k] &= ~mask;
        });
    }

private:
    static constexpr uint32_t kPageBytes = 1 << 16, kWords = kPageBytes / 64;
    using Bits = std::array<uint64_t, kWords>;
    struct Page {
        Bits written{}, guarded{};
    };

    static uint32_t bits(const Bits& all, uint32_t address) {
        return static_cast<uint32_t>(all[address % kPageBytes / 64] >> address % 64);
    }
    // Bits of word k of a page that are from `first` to `last`, which are in words `from` and `to`.
    static uint64_t part(uint32_t first, uint32_t last, uint32_t k, uint32_t from, uint32_t to) {
        uint64_t mask = ~uint64_t{0};
        if (k == from) mask &= ~uint64_t{0} << first % 64;
        if (k == to) mask &= ~uint64_t{0} >> (63 - last % 64);
        return mask;
    }
    // Calls `action(first, last)` for the part of a range in each page.
    template <typename Action>
    static void for_pages(uint32_t address, uint64_t size, Action action) {
        for (uint64_t at = address, end = address + size; at < end;) {
            uint64_t next = std::min(end, (at / kPageBytes + 1) * kPageBytes);
            action(static_cast<uint32_t>(at), static_cast<uint32_t>(next - 1));
            at = next;
        }
    }
    template <typename Change>
    void change(uint32_t address, uint64_t size, Change change) {
        for_pages(address, size, [&](uint32_t first, uint32_t last) {
            auto& page = pages_[first / kPageBytes];
            if (!page) page = std::make_unique<Page>();
            uint32_t from = first % kPageBytes / 64, to = last % kPageBytes / 64;
            for (uint32_t k = from; k <= to; ++k) change(*page, k, part(first, last, k, from, to));
        });
    }
    template <typename Selection>
    std::optional<uint32_t> find(uint32_t address, uint64_t size, Selection selected,
                                 bool absent) const {
        std::optional<uint32_t> hit_address;
        for_pages(address, size, [&](uint32_t first, uint32_t last) {
            const Page* page = pages_[first / kPageBytes].get();
            if (hit_address || (page == nullptr && !absent)) return;
            if (page == nullptr) {
                hit_address = first;
                return;
            }
            uint32_t from = first % kPageBytes / 64, to = last % kPageBytes / 64;
            for (uint32_t k = from; k <= to && !hit_address; ++k) {
                uint64_t hit = selected(*page, k) & part(first, last, k, from, to);
                if (hit == 0) continue;
                uint32_t base = first / kPageBytes * kPageBytes + 64 * k;
                hit_address = base + static_cast<uint32_t>(std::countr_zero(hit));
            }
        });
        return hit_address;
    }

    std::vector<std::unique_ptr<Page>> pages_ =
        std::vector<std::unique_ptr<Page>>((uint64_t{1} << 32) / kPageBytes);
};

}  // namespace spica
