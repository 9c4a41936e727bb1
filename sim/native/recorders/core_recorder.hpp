// What happens to the instructions of a core, cycle by cycle, as compact records.
#pragma once
#include <cstdint>
#include <vector>

#include "cores/core_ports.hpp"
#include "observer.hpp"

namespace spica {

enum class RecordKind : uint8_t {
    kFetch,       // a pair of words is asked for: pc their address
    kFetched,     // it comes: mask the first word, extra the second, place whether there is none
    kCollected,   // into a collector: place the issue slot, extra port, pending << 8,
                  // collector << 16
    kDispatched,  // to a unit: place the port
    kOffered,     // the unit has a result: place the port
    kDone,        // place the bus, extra rd, writes << 8, flags << 16; its values are kept apart
    kRequest,     // memory accepts: pc the lowest address, extra tag, is_store << 31
    kResponse,    // memory answers: place whether any lane is refused, extra tag
    kSlot,        // from this cycle on: place the issue slot, extra the reason
    kWarp,        // from this cycle on: extra the reason
    kActive,      // from this cycle on: mask of warps
    kBarrier,     // from this cycle on: mask of warps that wait
    kFault,       // place the cause, with bit 7 that of memory; mask the lanes, extra the address
};

// 24 bytes; `warp` is kNoWarp where there is none.
struct Record {
    uint64_t cycle;
    RecordKind kind;
    uint8_t core, warp, place;
    uint32_t pc, mask, extra;
};

constexpr uint8_t kNoWarp = 255;

// Records the cycles from `first` to before `end`, as long as there are fewer than `limit`
// records: the first cycle that does not fit ends it. What it costs outside them is a comparison.
class Recorder : public Observer {
public:
    Recorder(const CorePorts& ports, uint32_t core, uint64_t first, uint64_t end, uint64_t limit);

    bool step(uint64_t now, const uint32_t* outputs, const uint32_t* inputs) override;
    void archive(Archive& archive) override;

    const std::vector<Record>& records() const { return records_; }
    // `threads` words of each record of kDone.
    const std::vector<uint32_t>& values() const { return values_; }
    uint64_t first() const { return first_; }
    // Behind the last cycle that is recorded, of everything and of slots.
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
    // Whether a state is another than the last recorded.
    bool changes(uint32_t& state, uint32_t value) const;

    CorePorts ports_;
    uint32_t core_, warp_width_;
    uint64_t first_, end_, limit_;
    uint64_t now_ = 0, seen_, slots_seen_;
    bool is_cut_ = false;
    std::vector<Pair> asked_;            // by tag
    std::vector<uint64_t> offers_;       // by port: who was offered in the last cycle
    std::vector<uint32_t> reasons_, slot_reasons_;
    uint32_t active_, at_barrier_;
    std::vector<Record> records_;
    std::vector<uint32_t> values_;
};

}  // namespace spica
