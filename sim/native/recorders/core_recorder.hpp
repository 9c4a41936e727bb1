// Recorder of a core's instructions: events per cycle as compact records.
#pragma once
#include <cstdint>
#include <vector>

#include "cores/core_ports.hpp"
#include "observer.hpp"

namespace spica {

extern "C" {

enum class RecordKind : uint8_t {
    kFetch,       // request for a pair of words: pc is their address
    kFetched,     // its response: mask is the first word, extra the second, place the error
    kCollected,   // enters a collector: place is the issue slot, extra is port, pending << 8,
                  // collector << 16
    kDispatched,  // enters a unit: place is the port
    kOffered,     // the unit has a result: place is the port
    kDone,        // place is the bus, extra is rd, writes << 8, flags << 16; values are separate
    kRequest,     // memory accepts: pc is the lowest address, extra is tag, is_store << 31
    kResponse,    // memory responds: place is whether any lane has an error, extra is the tag
    kSlot,        // from this cycle on: place is the issue slot, extra the reason
    kWarp,        // from this cycle on: extra is the reason
    kActive,      // from this cycle on: mask of active warps
    kBarrier,     // from this cycle on: mask of waiting warps
    kFault,       // place is the cause, bit 7 set for memory; mask the lanes, extra the address
};

// Event record of 24 bytes; `warp` is kNoWarp if it has none.
struct Record {
    uint64_t cycle;
    RecordKind kind;
    uint8_t core, warp, place;
    uint32_t pc, mask, extra;
};

constexpr uint8_t kNoWarp = 255;
// Added to the place of a fault found by the load-store unit.
constexpr uint32_t kMemoryCause = 0x80;

}  // extern "C"

// Records the cycles from `first` to before `end`, up to `limit` records: the first cycle that does
// not fit ends the recording. The cost outside these cycles is one comparison.
class Recorder : public Observer {
public:
    Recorder(const CorePorts& ports, uint32_t core, uint64_t first, uint64_t end, uint64_t limit);

    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;
    void archive(Archive& archive) override;

    const std::vector<Record>& records() const { return records_; }
    // `threads` words for each record of kDone.
    const std::vector<uint32_t>& values() const { return values_; }
    uint64_t first() const { return first_; }
    // Cycle after the last recorded one: of everything, and of slots.
    uint64_t end() const { return seen_; }
    uint64_t slots_end() const { return slots_seen_; }
    bool is_cut() const { return is_cut_; }

private:
    struct Pair {
        uint32_t warp, address;
    };

    void front(const uint32_t* outputs, const uint32_t* inputs);
    void instructions(const uint32_t* outputs);
    void memory(const uint32_t* outputs, const uint32_t* inputs);
    void states(const uint32_t* outputs);
    void slots(const uint32_t* outputs);
    void faults(const uint32_t* outputs);
    void add(RecordKind kind, uint32_t warp, uint32_t place, uint32_t pc, uint32_t mask,
             uint32_t extra, uint64_t ago = 0);
    // Updates a state; returns whether it has changed.
    bool changes(uint32_t& state, uint32_t value) const;

    CorePorts ports_;
    uint32_t core_, warp_width_;
    uint64_t first_, end_, limit_;
    uint64_t now_ = 0, seen_, slots_seen_;
    bool is_cut_ = false;
    std::vector<Pair> requested_;            // by tag
    std::vector<uint64_t> offers_;       // by port: instruction offered in the last cycle
    std::vector<uint32_t> reasons_, slot_reasons_;
    uint32_t active_, at_barrier_;
    std::vector<Record> records_;
    std::vector<uint32_t> values_;
};

}  // namespace spica
