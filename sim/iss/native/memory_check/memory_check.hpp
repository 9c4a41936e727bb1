// Check of memory: accesses between objects, and reads of what nobody wrote.
//
// A load of unwritten bytes marks its register. A use of the value is the finding, at the line of the
// load: compilers load padding, and programs load what they then discard by a selection. Copies pass
// marks on; a whole word stored outside the stacks is a use. Findings do not end the run.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "instructions/exchange.hpp"
#include "memory_check/byte_states.hpp"
#include "memory_check/marks.hpp"
#include "races/races.hpp"

namespace spica {

struct PlacedAddresses;

extern "C" {

// Explained by `Kind` of sim/iss/memory_check.py.
enum class Mishap : uint32_t {
    LoadOfGuard,
    StoreToGuard,
    LoadOfUnwritten,
    OperandUnwritten,
    LoadBelowStack,
    StoreBelowStack,
    UnitReadsUnwritten,
    UnitReadsGuard,
    UnitWritesGuard,
};

// Accesses of one instruction with one mishap: how many, and the first of them, with the return
// address of its thread. `stream` and `time` are those of a unit's work.
struct Finding {
    Mishap kind;
    uint32_t core, warp, lane, pc, link, address, size, count, stream, time;
};

}  // extern "C"

class MemoryCheck {
public:
    explicit MemoryCheck(Machine& machine);
    void reset();

    // Before an instruction; false with a fault of the step if a stack grows into the next one.
    bool enter(Step& step);
    // Work of a unit, as for `Races`.
    void start(uint32_t stream, const UnitRegion* regions, uint32_t count);
    void end(uint32_t stream);

    // The machine's stacks are those of the program's threads, by their stack pointers.
    void check_stacks() { checks_stacks_ = true; }
    // Addresses of code whose accesses between objects are right, as it clears variables; and of
    // code that copies bytes one by one, whatever they are.
    void exempt(uint32_t first, uint32_t last) { clearing_ = {first, last}; }
    void add_copies(uint32_t first, uint32_t last) { copies_.push_back({first, last}); }
    const std::vector<Finding>& findings() const { return findings_; }

    ByteStates states;

private:
    struct Range {
        uint32_t first = 1, last = 0;

        bool has(uint32_t at) const { return at >= first && at <= last; }
    };
    struct Work {
        uint32_t core, warp, pc, link;
        std::vector<UnitRegion> regions;
    };
    struct Stream {
        uint32_t ended = 0;
        std::deque<Work> works;
    };

    Marks& marks_of(const Warp& warp);
    bool is_on_stack(uint32_t address) const;
    // Whether an address is below the stack pointer of the thread whose stack it is in.
    bool is_below_stack(uint32_t address);
    bool copies_bytes(uint32_t pc, uint32_t size) const;
    bool move_stack(Step& step);
    void shuffle_marks(Step& step, Shuffle kind);
    void use_marks(Step& step);
    void use(Step& step, uint32_t row, uint32_t lane);
    bool are_written(const PlacedAddresses& placed, uint32_t size) const;
    void atomic(Step& step);
    void initialise_barriers(Step& step);
    void load(Step& step, uint32_t size);
    void load_lane(Step& step, uint32_t lane, uint32_t address, uint32_t size);
    void store(Step& step, uint32_t size);
    void store_lane(Step& step, uint32_t lane, uint32_t address, uint32_t size);
    void operand(Step& step, const TileOperand& tile);
    void record(Mishap kind, Warp& warp, uint32_t lane, uint32_t pc, uint32_t address,
                uint32_t size);
    void add(const Finding& finding);

    Machine& machine_;
    std::vector<Marks> marks_;
    std::vector<Stream> streams_;
    bool checks_stacks_ = false;
    Range clearing_;
    std::vector<Range> copies_;
    std::vector<Finding> findings_;
    std::map<std::pair<uint32_t, Mishap>, size_t> places_;  // of findings, by pc and kind
    Warp* current_ = nullptr;
};

}  // namespace spica
