// Memory of the instruction-set model: DRAM by pages, shared memory, print buffers, counter dumps.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "archive.hpp"
#include "decode.hpp"
#include "regions.hpp"
#include "reservations.hpp"
#include "tile_operand.hpp"
#include "transaction_barrier.hpp"

namespace spica {

// Operand of a product in shared memory, from its `hgmma` at `pc` to the next one of the warp or its
// `hgmma_wait`. `written` is the first address of a write of a unit or of the host to it, 0 if there
// is none.
struct Operand {
    uint32_t core, warp, pc, written;
    TileOperand tile;
};

// DRAM pages are allocated on first use, filled with zeros. `near_` holds shared memory and the
// print buffers behind it, `dump_` the counters that programs dump. Each cluster has its own. A
// program has that of its cluster at `SHARED_BASE`, and with several clusters the shared memory of
// all of them in their windows. To tell them apart, memory is *placed* at addresses of the machine:
// that of cluster 0 at `SHARED_BASE`, those of others in their windows.
class Memory {
public:
    static constexpr uint32_t kPageBytes = 1 << 16, kPageWords = kPageBytes / 4;

    Memory(uint32_t shared_bytes, uint32_t cores, uint32_t clusters)
        : pages_((DRAM_END - DRAM_BASE) / kPageBytes),
          near_(clusters, std::vector<uint8_t>(shared_bytes + DMA_BASE)),
          dump_(clusters, std::vector<uint8_t>(cores * COUNTER_DUMP_BYTES)),
          shared_bytes_(shared_bytes) {}

    // Address of the machine for that of a program; one without memory stays as it is, but for the
    // window of cluster 0.
    static uint32_t placed(uint32_t address, uint32_t cluster) {
        if (address - CLUSTER_WINDOWS < CLUSTER_WINDOW_BYTES) {
            return address - CLUSTER_WINDOWS + SHARED_BASE;
        }
        bool is_own = cluster != 0 && address - SHARED_BASE < CLUSTER_WINDOW_BYTES;
        return is_own ? address + CLUSTER_WINDOWS - SHARED_BASE + cluster * CLUSTER_WINDOW_BYTES
                      : address;
    }
    // Whether a program accesses shared memory at this address through a window.
    static bool is_window(uint32_t address) { return address >= CLUSTER_WINDOWS; }
    // Bytes `first` to `last` of a program of a cluster if it may access them and they are
    // contiguous, else nullptr.
    uint8_t* span(uint32_t first, uint32_t last, uint32_t cluster) {
        if (first - DRAM_BASE < DRAM_END - DRAM_BASE) {
            if ((first ^ last) >= kPageBytes || !may_touch(first, last - first + 1)) {
                return nullptr;
            }
            return page_of(first).bytes + first % kPageBytes;
        }
        if (last < first) return nullptr;
        if (is_window(first)) return window(first, last);
        bool is_own = last - SHARED_BASE < CLUSTER_WINDOW_BYTES;
        return is_own ? special(placed(first, cluster), placed(last, cluster)) : nullptr;
    }
    // A phase of the transaction barrier at a placed address: the parity is in bit 0.
    static uint32_t phase_of(uint32_t placed, uint32_t parity) { return placed | parity; }
    TransactionBarrier barrier_of(uint32_t phase) {
        uint64_t word = 0;
        uint8_t bytes[sizeof word];
        if (read(phase & ~1u, bytes, sizeof bytes)) std::memcpy(&word, bytes, sizeof word);
        return TransactionBarrier(word);
    }
    // Whether these bytes of DRAM are in a placed region, or no region was placed.
    bool may_touch(uint32_t first, uint64_t size) {
        return regions_.may_touch(first, size);
    }
    void allow(uint32_t first, uint32_t last) {
        regions_.allow(first, last);
        invalidate_code();
    }

    // Accesses of the host, not limited by regions; false for unmapped addresses.
    bool read(uint32_t address, uint8_t* data, uint64_t size) {
        return pieces(address, size, [&](const uint8_t* memory, uint64_t done, uint64_t n) {
            std::memcpy(data + done, memory, n);
        });
    }
    bool write(uint32_t address, const uint8_t* data, uint64_t size) {
        return pieces(address, size, [&](uint8_t* memory, uint64_t done, uint64_t n) {
            std::memcpy(memory, data + done, n);
            uint32_t at = placed(address + static_cast<uint32_t>(done), 0);
            for (Operand& operand : operands_) {
                if (operand.written != 0) continue;
                uint32_t first = operand.tile.first();
                uint32_t end = std::min(at + static_cast<uint32_t>(n), first + operand.tile.span());
                uint32_t from = std::max(at, first);
                while (from < end && !operand.tile.has(from)) ++from;
                if (from < end) operand.written = from;
            }
            invalidate_code(at, at + static_cast<uint32_t>(n) - 1);
            reservations.end(at, at + static_cast<uint32_t>(n) - 1);
        });
    }
    // Whether these bytes of a program are shared memory or DRAM that it may access, not buffers
    // of the host behind it.
    bool is_checked(uint32_t address, uint32_t size, uint32_t cluster) {
        if (address - DRAM_BASE < DRAM_END - DRAM_BASE) return may_touch(address, size);
        return shared(address, size, cluster) != nullptr ||
               (is_window(address) && window(address, address + size - 1) != nullptr);
    }
    // Bytes of the shared memory of a cluster; nullptr unless all are inside it.
    const uint8_t* shared(uint32_t address, uint32_t size, uint32_t cluster) const {
        uint32_t offset = address - SHARED_BASE;
        bool inside = offset < shared_bytes_ && size <= shared_bytes_ - offset;
        return inside ? near_[cluster].data() + offset : nullptr;
    }

    // Operands of products that are not waited for.
    const std::vector<Operand>& operands() const { return operands_; }
    void hold(const Operand& operand) { operands_.push_back(operand); }
    void release_operands(uint32_t core, uint32_t warp) {
        std::erase_if(operands_, [&](const Operand& operand) {
            return operand.core == core && operand.warp == warp;
        });
    }

    // Decoded instruction at `pc`, a multiple of 4; nullptr outside allocated DRAM.
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
    // Invalidates the decoded instructions of changed bytes.
    void invalidate_code(uint32_t first, uint32_t last) {
        if (first - DRAM_BASE >= DRAM_END - DRAM_BASE) return;
        Page& page = *pages_[(first - DRAM_BASE) / kPageBytes];
        if (!page.code) return;
        for (uint32_t k = first % kPageBytes / 4; k <= last % kPageBytes / 4; ++k) {
            page.code[k].op = Op::Undecoded;
        }
    }
    void invalidate_code() {
        for (auto& page : pages_) {
            if (page) page->code.reset();
        }
    }
    // Decoded instructions are not archived; they are decoded again after a restore.
    void archive(Archive& archive) {
        archive.sparse(
            pages_, [] { return std::make_unique<Page>(); },
            [&](Page* page) { archive.raw(page->bytes, kPageBytes); });
        archive(near_, dump_, regions_, operands_, reservations);
    }

    Reservations reservations;

private:
    struct Page {
        uint8_t bytes[kPageBytes];
        std::unique_ptr<Decoded[]> code;
    };

    Page& page_of(uint32_t address) {
        auto& page = pages_[(address - DRAM_BASE) / kPageBytes];
        if (!page) page = std::make_unique<Page>();
        return *page;
    }
    // Bytes of a window that are in shared memory, not behind it; nullptr with one cluster, which
    // has no windows.
    uint8_t* window(uint32_t first, uint32_t last) {
        uint32_t cluster = (first - CLUSTER_WINDOWS) / CLUSTER_WINDOW_BYTES;
        uint32_t offset = (first - CLUSTER_WINDOWS) % CLUSTER_WINDOW_BYTES;
        bool is_inside = near_.size() > 1 && cluster < near_.size() && offset < shared_bytes_ &&
                         last - first < shared_bytes_ - offset;
        return is_inside ? near_[cluster].data() + offset : nullptr;
    }
    // Bytes at addresses of the machine in or behind shared memory. With one cluster there are no
    // windows.
    uint8_t* special(uint32_t first, uint32_t last) {
        uint32_t window = (first - SHARED_BASE) / CLUSTER_WINDOW_BYTES;
        uint32_t cluster = window == 0 ? 0 : window - 1;
        if (first < SHARED_BASE || cluster >= near_.size() || (window != 0 && near_.size() == 1)) {
            return nullptr;
        }
        uint32_t start = window * CLUSTER_WINDOW_BYTES;
        uint32_t from = first - SHARED_BASE - start, to = last - SHARED_BASE - start;
        std::vector<uint8_t>& near = near_[cluster];
        if (to < near.size()) return near.data() + from;
        const uint32_t dump = COUNTER_DUMP - SHARED_BASE;
        std::vector<uint8_t>& counters = dump_[cluster];
        return from >= dump && to - dump < counters.size() ? counters.data() + (from - dump)
                                                           : nullptr;
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
    std::vector<std::vector<uint8_t>> near_, dump_;
    Regions regions_;
    std::vector<Operand> operands_;
    uint32_t shared_bytes_;
};

}  // namespace spica
