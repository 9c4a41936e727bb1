// What programs and the host read and write: DRAM by pages, and what lies behind it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "archive.hpp"
#include "decode.hpp"

namespace spica {

// DRAM comes into being, all zeros, page by page. Near memory is shared memory with the print
// buffers behind it, and the counters programs leave.
class Memory {
public:
    static constexpr uint32_t kPageBytes = 1 << 16, kPageWords = kPageBytes / 4;

    Memory(uint32_t shared_bytes, uint32_t cores)
        : pages_((DRAM_END - DRAM_BASE) / kPageBytes),
          near_(shared_bytes + DMA_BASE),
          dump_(cores * COUNTER_DUMP_BYTES),
          shared_bytes_(shared_bytes) {}

    // The bytes from `first` to `last`, if a program may have them and they lie in one piece.
    uint8_t* span(uint32_t first, uint32_t last) {
        if (first - DRAM_BASE < DRAM_END - DRAM_BASE) {
            if ((first ^ last) >= kPageBytes || !may_touch(first, last - first + 1)) {
                return nullptr;
            }
            return page_of(first).bytes + first % kPageBytes;
        }
        return last >= first ? special(first, last) : nullptr;
    }
    // Whether these bytes of DRAM were placed, or nothing was.
    bool may_touch(uint32_t first, uint64_t size) {
        if (regions_.empty()) return true;
        uint64_t last = first + size - 1;
        const Region& recent = regions_[recent_];
        if (first >= recent.first && last <= recent.last) return true;
        auto after = std::upper_bound(
            regions_.begin(), regions_.end(), first,
            [](uint32_t address, const Region& each) { return address < each.first; });
        if (after == regions_.begin() || last > (after - 1)->last) return false;
        recent_ = static_cast<size_t>(after - regions_.begin()) - 1;
        return true;
    }
    void allow(uint32_t first, uint32_t last) {
        regions_.push_back({first, last});
        std::sort(regions_.begin(), regions_.end(),
                  [](const Region& a, const Region& b) { return a.first < b.first; });
        std::vector<Region> merged;
        for (const Region& each : regions_) {
            if (!merged.empty() && each.first <= merged.back().last + uint64_t{1}) {
                merged.back().last = std::max(merged.back().last, each.last);
            } else {
                merged.push_back(each);
            }
        }
        regions_ = merged;
        recent_ = 0;
        forget_code();
    }

    // The host's access, which no region limits; false where there is no memory.
    bool read(uint32_t address, uint8_t* data, uint64_t size) {
        return pieces(address, size, [&](const uint8_t* memory, uint64_t done, uint64_t n) {
            std::memcpy(data + done, memory, n);
        });
    }
    bool write(uint32_t address, const uint8_t* data, uint64_t size) {
        return pieces(address, size, [&](uint8_t* memory, uint64_t done, uint64_t n) {
            std::memcpy(memory, data + done, n);
            uint32_t at = address + static_cast<uint32_t>(done);
            forget_code(at, at + static_cast<uint32_t>(n) - 1);
        });
    }
    // Bytes of shared memory, nullptr where they are not all within it.
    const uint8_t* shared(uint32_t address, uint32_t size) const {
        uint32_t offset = address - SHARED_BASE;
        bool inside = offset < shared_bytes_ && size <= shared_bytes_ - offset;
        return inside ? near_.data() + offset : nullptr;
    }

    // The decoded instruction at `pc`, a multiple of 4; nullptr where no program was placed.
    Decoded* code(uint32_t pc) {
        if (pc - DRAM_BASE >= DRAM_END - DRAM_BASE) return nullptr;
        Page* page = pages_[(pc - DRAM_BASE) / kPageBytes].get();
        if (page == nullptr) return nullptr;
        if (!page->code) page->code = std::make_unique<Decoded[]>(kPageWords);
        return &page->code[pc % kPageBytes / 4];
    }
    uint32_t word(uint32_t address) {
        uint32_t value;
        std::memcpy(&value, page_of(address).bytes + address % kPageBytes, 4);
        return value;
    }
    // What was decoded from bytes that have changed is decoded again.
    void forget_code(uint32_t first, uint32_t last) {
        if (first - DRAM_BASE >= DRAM_END - DRAM_BASE) return;
        Page& page = *pages_[(first - DRAM_BASE) / kPageBytes];
        if (!page.code) return;
        for (uint32_t k = first % kPageBytes / 4; k <= last % kPageBytes / 4; ++k) {
            page.code[k].op = Op::Undecoded;
        }
    }
    void forget_code() {
        for (auto& page : pages_) {
            if (page) page->code.reset();
        }
    }
    // What was decoded is decoded again.
    void archive(Archive& archive) {
        archive.sparse(
            pages_, [] { return std::make_unique<Page>(); },
            [&](Page* page) { archive.raw(page->bytes, kPageBytes); });
        archive(near_, dump_, regions_, recent_);
    }

private:
    struct Page {
        uint8_t bytes[kPageBytes];
        std::unique_ptr<Decoded[]> code;
    };
    struct Region {
        uint32_t first, last;
    };

    Page& page_of(uint32_t address) {
        auto& page = pages_[(address - DRAM_BASE) / kPageBytes];
        if (!page) page = std::make_unique<Page>();
        return *page;
    }
    uint8_t* special(uint32_t first, uint32_t last) {
        if (last - SHARED_BASE < near_.size() && first >= SHARED_BASE) {
            return near_.data() + (first - SHARED_BASE);
        }
        if (first >= COUNTER_DUMP && last - COUNTER_DUMP < dump_.size()) {
            return dump_.data() + (first - COUNTER_DUMP);
        }
        return nullptr;
    }
    template <typename Action>
    bool pieces(uint32_t address, uint64_t size, Action action) {
        if (size == 0) return true;
        uint64_t end = uint64_t{address} + size;
        if (address < DRAM_BASE || end > uint64_t{1} << 32) return false;
        if (address >= DRAM_END) {
            uint8_t* memory = special(address, static_cast<uint32_t>(end - 1));
            if (memory == nullptr) return false;
            action(memory, 0, size);
            return true;
        }
        if (end > DRAM_END) return false;
        for (uint64_t done = 0; done < size;) {
            uint32_t at = static_cast<uint32_t>(address + done);
            uint64_t n = std::min<uint64_t>(size - done, kPageBytes - at % kPageBytes);
            action(page_of(at).bytes + at % kPageBytes, done, n);
            done += n;
        }
        return true;
    }

    std::vector<std::unique_ptr<Page>> pages_;
    std::vector<uint8_t> near_, dump_;
    std::vector<Region> regions_;
    size_t recent_ = 0;
    uint32_t shared_bytes_;
};

}  // namespace spica
