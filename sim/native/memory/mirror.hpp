// Mirror of a machine's memory in the model: copies the writes of the DMAs to the model's memory.
// Addresses are *placed*, as in ../iss/native/memory.hpp: shared memory of cluster 0 is at its base,
// that of others in their windows.
//
// It keeps the recent writes with the time in which they may take effect, so that a racing load may
// return memory before or after the write. A DMA write to DRAM may take effect from the cycle of
// its beat until the response of its burst.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "../iss/native/retired.hpp"
#include "memory/dma_writes.hpp"
#include "observer.hpp"
#include "ports.hpp"

namespace spica {

extern "C" {

// Number of the DMA as the writer of a word that no core wrote.
constexpr uint32_t kNobody = ~0u;

struct MirrorSetup {
    void* machine;  // the model, which is in a separate library
    int (*read)(void* machine, uint32_t address, uint8_t* data, uint64_t size);
    int (*write)(void* machine, uint32_t address, const uint8_t* data, uint64_t size);
    void (*devices)(void* machine, uint32_t cluster, const void* devices);
    uint32_t (*placed)(uint32_t cluster, uint32_t address);
    uint32_t clusters, cluster_cores;
    uint32_t shared_base;  // of each cluster, for its programs
    uint32_t windows;      // first address of the windows of all clusters
    uint32_t device_first, device_last;    // addresses of unit registers
    uint32_t console_first, console_last;  // addresses of the console
};

}  // extern "C"

// A write that a load missed, although it had completed before the load began.
struct Missed {
    bool is_found = false;
    uint32_t writer = 0;  // the core, or `kNobody` for the DMA
    uint32_t warp = 0, pc = 0;  // of the store of a core
    uint64_t cycle = 0;   // by which it had taken effect
};

class Mirror : public Observer {
public:
    Mirror(const PortTable& ports, const MirrorSetup& setup);

    // Copies the writes that shared memory accepts in this cycle, and those of the DMA to DRAM.
    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;
    void archive(Archive& archive) override;

    // Adds a store of a core that the model has executed. It takes effect between `begin` and the
    // cycle given to `end_store` for the returned number.
    uint64_t begin_store(const iss::Retired& store, uint64_t begin, uint32_t lanes);
    void end_store(uint64_t first, uint32_t count, uint64_t end);
    // Whether a load of a core between these cycles may return `got` instead of the model's
    // `expected`, both as register values.
    bool explains(uint32_t core, uint64_t from, uint64_t to, uint32_t address, uint32_t size,
                  uint32_t expected, uint32_t got) const;
    // Last write by others that explains `got` as the value before it, if there is such a write for
    // every byte that differs from `expected`: the load returned a stale copy.
    Missed missed(uint32_t core, uint64_t from, uint32_t address, uint32_t size,
                  uint32_t expected, uint32_t got) const;

    // Whether a program accesses shared memory at this address through a window.
    bool is_window(uint32_t address) const { return address >= setup_.windows; }
    bool is_device(uint32_t address) const {
        return address >= setup_.device_first && address <= setup_.device_last;
    }
    bool is_console(uint32_t address) const {
        return address >= setup_.console_first && address <= setup_.console_last;
    }
    // Command words that the model has sent to matrix units since the last call.
    static bool has_commands();
    static std::vector<uint32_t> take_commands();

private:
    static constexpr uint32_t kBytes = 64;
    static constexpr uint64_t kOpen = ~uint64_t{0};
    static constexpr size_t kMost = 1 << 16;

    // Write of up to 64 bytes, those selected by `strobes`.
    struct Write {
        uint64_t begin, end, strobes;
        uint32_t address, core, warp, pc;
        bool is_window;  // of a core through a window
        std::array<uint8_t, kBytes> before, after;

        // Whether it includes the byte at this address; sets `place` to its index.
        bool has(uint32_t address_of, uint32_t& place) const {
            place = address_of - address;
            return place < kBytes && (strobes >> place & 1);
        }
    };
    struct WritePort {
        uint32_t base;  // placed address of the cluster's shared memory
        Field valid, address, data, mask;
    };

    // Address of the machine for one of a program on a core.
    uint32_t placed(uint32_t core, uint32_t address) const {
        return setup_.placed(core / setup_.cluster_cores, address);
    }
    void add_ports(const PortTable& ports, uint32_t cluster);
    // Adds bytes as writes that end in cycle `end`; returns their numbers.
    std::vector<uint64_t> take(uint32_t address, const uint8_t* bytes, const uint32_t* strobes,
                               uint32_t size, uint64_t end);
    void take_piece(uint32_t address, const uint8_t* bytes, uint64_t strobes, uint32_t size,
                    uint64_t end);
    void answer(const std::vector<uint64_t>& numbers, bool is_refused);
    void undo(const Write& write);
    Write& add();

    const MirrorSetup setup_;
    std::vector<WritePort> shared_;
    std::vector<DmaWrites> dma_;
    std::deque<Write> writes_;
    uint64_t first_ = 0;  // number of the first of `writes_`
    uint64_t now_ = 0;
};

}  // namespace spica
