// Contents of DRAM in pages, which are allocated on the first write and filled with zeros.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "../iss/native/archive.hpp"

namespace spica {

class Memory {
public:
    Memory(uint64_t base, uint64_t end)
        : base_(base), end_(end), pages_((end - base + kPage - 1) / kPage) {}

    bool contains(uint64_t address, uint64_t size) const {
        return address >= base_ && size <= end_ - base_ && address - base_ <= end_ - base_ - size;
    }
    void read(uint64_t address, uint8_t* data, uint64_t size) const {
        pieces(address, size, [&](uint64_t page, uint64_t offset, uint64_t done, uint64_t n) {
            if (pages_[page]) {
                std::memcpy(data + done, pages_[page].get() + offset, n);
            } else {
                std::memset(data + done, 0, n);
            }
        });
    }
    void write(uint64_t address, const uint8_t* data, uint64_t size) {
        pieces(address, size, [&](uint64_t page, uint64_t offset, uint64_t done, uint64_t n) {
            std::memcpy(allocated(page) + offset, data + done, n);
        });
    }
    void write_byte(uint64_t address, uint8_t value) {
        address -= base_;
        allocated(address / kPage)[address % kPage] = value;
    }

    // Word at an address that is a multiple of 4.
    uint32_t word(uint64_t address) const {
        const auto& page = pages_[(address - base_) / kPage];
        uint32_t value = 0;
        if (page) std::memcpy(&value, page.get() + (address - base_) % kPage, 4);
        return value;
    }
    // Bytes of the word at an address that is a multiple of 4.
    uint8_t* bytes(uint64_t address) {
        return allocated((address - base_) / kPage) + (address - base_) % kPage;
    }
    // Whether the page of this address is allocated.
    bool is_written(uint64_t address) const { return pages_[(address - base_) / kPage] != nullptr; }

    void archive(Archive& archive) {
        archive.sparse(
            pages_, [] { return std::make_unique<uint8_t[]>(kPage); },
            [&](uint8_t* page) { archive.raw(page, kPage); });
    }

private:
    static constexpr uint64_t kPage = 1 << 16;

    template <typename Action>
    void pieces(uint64_t address, uint64_t size, Action action) const {
        uint64_t position = address - base_;
        for (uint64_t done = 0; done < size;) {
            uint64_t offset = position % kPage;
            uint64_t n = std::min(size - done, kPage - offset);
            action(position / kPage, offset, done, n);
            done += n;
            position += n;
        }
    }
    uint8_t* allocated(uint64_t page) {
        if (!pages_[page]) pages_[page] = std::make_unique<uint8_t[]>(kPage);
        return pages_[page].get();
    }

    uint64_t base_, end_;
    std::vector<std::unique_ptr<uint8_t[]>> pages_;
};

}  // namespace spica
