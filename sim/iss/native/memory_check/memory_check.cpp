#include "memory_check/memory_check.hpp"

#include "instructions/access.hpp"
#include "instructions/shared_operands.hpp"
#include "machine.hpp"

namespace spica {

namespace {
constexpr uint32_t kReturnAddress = 1, kExitCode = 3;  // rows of x1 and x3
}  // namespace

MemoryCheck::MemoryCheck(Machine& machine) : machine_(machine) { reset(); }

void MemoryCheck::reset() {
    marks_.assign(machine_.config.cores * machine_.config.warps, {});
    streams_.clear();
    findings_.clear();
    places_.clear();
}

bool MemoryCheck::enter(Step& step) {
    const Decoded& code = step.code;
    current_ = &step.warp;
    if (marks_of(step.warp).any()) use_marks(step);
    bool is_store;
    uint32_t size = access_size(code.op, is_store);
    if (code.atomic_bytes != 0) {
        atomic(step);
    } else if (code.op == Op::MbarrierInit) {
        initialise_barriers(step);
    } else if (size != 0) {
        is_store ? store(step, size) : load(step, size);
    } else if (code.begins_product) {
        for (const TileOperand& tile : shared_operands(step)) operand(step, tile);
    } else if (code.d == kStackPointer) {
        return move_stack(step);
    }
    return true;
}

Marks& MemoryCheck::marks_of(const Warp& warp) {
    return marks_[warp.core * machine_.config.warps + warp.number];
}

bool MemoryCheck::is_on_stack(uint32_t address) const {
    const StackLimit& stacks = machine_.stacks;
    const Config& config = machine_.config;
    uint32_t all = config.cores * stacks.bytes << (config.warp_width + config.thread_width);
    return checks_stacks_ && stacks.top - 1 - address < all;
}

// Not for addresses relative to the stack pointer, which the compiler makes: a block of
// `SPICA_PARALLEL` uses the frame that only one thread has.
bool MemoryCheck::is_below_stack(uint32_t address) {
    const Config& config = machine_.config;
    uint32_t hart = (machine_.stacks.top - 1 - address) / machine_.stacks.bytes;
    uint32_t lane = hart & ((1u << config.thread_width) - 1);
    uint32_t warp = hart >> config.thread_width & ((1u << config.warp_width) - 1);
    uint32_t core = hart >> (config.thread_width + config.warp_width);
    if (lane >= config.threads || warp >= config.warps) return true;
    uint32_t pointer = machine_.warp(core, warp).row(kStackPointer)[lane];
    return pointer == 0 || address < pointer;
}

// Code that copies bytes one by one copies padding too.
bool MemoryCheck::copies_bytes(uint32_t pc, uint32_t size) const {
    return size < 4 && std::any_of(copies_.begin(), copies_.end(),
                                   [&](const Range& range) { return range.has(pc); });
}

// What a stack pointer leaves above it is gone: a later frame finds it unwritten. A fault if it moves
// into the stack of the next thread.
bool MemoryCheck::move_stack(Step& step) {
    const Decoded& code = step.code;
    const StackLimit& stacks = machine_.stacks;
    Warp& warp = step.warp;
    bool is_sum = code.op == Op::Addi || code.op == Op::Add || code.op == Op::Sub;
    if (!is_sum || !checks_stacks_) return true;
    const Config& config = machine_.config;
    uint32_t first = ((warp.core << config.warp_width) | warp.number) << config.thread_width;
    uint32_t strayed = 0, furthest = 0;
    for_lanes(warp.mask(), [&](uint32_t lane) {
        uint32_t top = stacks.top - (first + lane) * stacks.bytes, end = top - stacks.bytes;
        uint32_t old = warp.row(kStackPointer)[lane], a = warp.row(code.a)[lane];
        uint32_t b = code.op == Op::Addi ? code.immediate : warp.row(code.b)[lane];
        uint32_t now = code.op == Op::Sub ? a - b : a + b;
        if (old < end || old > top || now > top) return;
        if (now > old) states.clear(old, now - old);
        if (now >= end) return;
        strayed |= 1u << lane;
        furthest = std::max(furthest, end - now);
    });
    if (strayed == 0) return true;
    uint32_t lane = lowest_lane(strayed);
    uint32_t end = stacks.top - (first + lane + 1) * stacks.bytes;
    return step.fault_at(Reason::StackExceeded, strayed, end - furthest, furthest, stacks.bytes);
}

// Marks of a shuffle's result are those of the lanes that it reads.
void MemoryCheck::shuffle_marks(Step& step, Shuffle kind) {
    const Decoded& code = step.code;
    Marks& marks = marks_of(step.warp);
    const Mark from = marks.has(code.a) ? marks.of(code.a) : Mark{};
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        if (marks.bytes(code.b, lane) != 0) use(step, code.b, lane);
    });
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        uint32_t source = source_lane(step, kind, lane);
        Passed passed{from.bytes[source], from.touched[source]};
        if (passed.bytes == 0) return marks.clear(code.d, lane);
        marks.set(code.d, lane, passed, from, from.addresses[source]);
    });
}

// Finds uses of marked registers, and passes marks on.
void MemoryCheck::use_marks(Step& step) {
    const Decoded& code = step.code;
    if (Shuffle kind = shuffle_of(code.op)) return shuffle_marks(step, kind);
    Warp& warp = step.warp;
    Marks& marks = marks_of(warp);
    bool is_store;
    bool is_access = access_size(code.op, is_store) != 0;
    bool reads_a = code.reads & 1, reads_b = code.reads & 2, reads_c = code.reads & 4;
    for_lanes(warp.mask(), [&](uint32_t lane) {
        uint8_t a = reads_a ? marks.bytes(code.a, lane) : 0;
        uint8_t b = reads_b ? marks.bytes(code.b, lane) : 0;
        uint8_t c = reads_c ? marks.bytes(code.c, lane) : 0;
        Passed out;
        if ((a | b | c) != 0) {
            uint32_t in_a = warp.row(code.a)[lane], in_b = warp.row(code.b)[lane];
            uint8_t touched = marks.touched(code.a, lane);
            if (is_access || !passes_on(code, in_a, in_b, a, b, touched, out)) {
                out = {};
                if (a & used_bytes(code.op)) use(step, code.a, lane);
                if (b != 0 && !is_access) use(step, code.b, lane);
                if (c != 0) use(step, code.c, lane);
            }
        }
        if (is_access && is_store) return;
        // A selection that excludes a value combines it twice.
        bool cancels = code.op == Op::Xor && (a & b) != 0 &&
                       marks.of(code.a).addresses[lane] == marks.of(code.b).addresses[lane];
        if (cancels) out.bytes = a ^ b;
        if (out.bytes == 0) return marks.clear(code.d, lane);
        const Mark& source = marks.of(a != 0 ? code.a : code.b);
        out.touched |= source.touched[lane];
        marks.set(code.d, lane, out, source, source.addresses[lane]);
    });
    bool may_end = code.op == Op::Ecall || code.op == Op::Ebreak || code.op == Op::VxTmc;
    if (may_end) use(step, kExitCode, warp.last_lane());
    for (uint32_t row = kFloatRow; code.reads_groups && row < kDroppedRow; ++row) {
        for_lanes(warp.mask(), [&](uint32_t lane) {
            if (marks.bytes(row, lane) != 0) use(step, row, lane);
        });
    }
    for (uint32_t k = 0; code.results > 1 && k < code.results; ++k) {
        for_lanes(warp.mask(), [&](uint32_t lane) { marks.clear(code.first + k, lane); });
    }
}

// A use of the value that a lane of a register has from memory nobody wrote.
void MemoryCheck::use(Step& step, uint32_t row, uint32_t lane) {
    Marks& marks = marks_of(step.warp);
    if (marks.bytes(row, lane) == 0) return;
    const Mark mark = marks.of(row);
    record(Mishap::LoadOfUnwritten, step.warp, lane, mark.pc, mark.addresses[lane], mark.size);
    marks.clear(row, lane);
}

// Whether all lanes access written bytes; false also if that takes a look at each lane.
bool MemoryCheck::are_written(const PlacedAddresses& placed, uint32_t size) const {
    return placed.is_range && states.are_written(placed.least, placed.largest + size - 1);
}

void MemoryCheck::load(Step& step, uint32_t size) {
    Addresses addresses(step);
    if (are_written(PlacedAddresses(step, addresses), size)) return;
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        uint32_t address = addresses.lane[lane];
        if (address % size == 0 && step.is_checked(address, size)) {
            load_lane(step, lane, address, size);
        }
    });
}

void MemoryCheck::load_lane(Step& step, uint32_t lane, uint32_t address, uint32_t size) {
    uint32_t pc = step.warp.pc, all = (1u << size) - 1;
    uint32_t unwritten = states.unwritten(step.placed(address), size);
    if (unwritten == 0) return;
    if (states.guarded(step.placed(address), size) != 0) {
        return record(Mishap::LoadOfGuard, step.warp, lane, pc, address, size);
    }
    bool is_on_stack = this->is_on_stack(address);
    if (is_on_stack && step.code.a != kStackPointer && is_below_stack(address)) {
        return record(Mishap::LoadBelowStack, step.warp, lane, pc, address, size);
    }
    if (step.code.d == kDroppedRow) {
        return record(Mishap::LoadOfUnwritten, step.warp, lane, pc, address, size);
    }
    // The sign fills the bytes behind the last one.
    Op op = step.code.op;
    bool is_signed = op == Op::Lb || op == Op::Lh || step.code.atomic_bytes != 0;
    if (is_signed && unwritten >> (size - 1)) unwritten |= 15 & ~all;
    Mark mark;
    mark.pc = pc;
    mark.size = size;
    Passed loaded{static_cast<uint8_t>(unwritten), 0};
    marks_of(step.warp).set(step.code.d, lane, loaded, mark, address);
}

// Atomic accesses use the registers that they combine with memory, and give its old value to rd.
void MemoryCheck::atomic(Step& step) {
    Op op = step.code.op;
    const uint32_t size = step.code.atomic_bytes;
    bool is_release = op == Op::SbRl || op == Op::ShRl || op == Op::SwRl;
    bool is_acquire = op == Op::LbAq || op == Op::LhAq || op == Op::LwAq;
    bool reads = !is_release && op != Op::ScW, writes = !is_acquire && op != Op::LrW;
    Addresses addresses(step);
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        uint32_t address = addresses.lane[lane];
        if (address % size != 0 || !step.is_checked(address, size)) return;
        if (reads) load_lane(step, lane, address, size);
        if (reads && writes) {
            states.write(step.placed(address), size);
        } else if (writes) {
            store_lane(step, lane, address, size);
        }
    });
}

void MemoryCheck::initialise_barriers(Step& step) {
    Addresses addresses(step);
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        uint32_t address = addresses.lane[lane];
        if (address % BARRIER_BYTES != 0 || !step.shared(address, BARRIER_BYTES)) return;
        states.write(step.placed(address), BARRIER_BYTES);
    });
}

void MemoryCheck::store(Step& step, uint32_t size) {
    Addresses addresses(step);
    bool is_marked = marks_of(step.warp).has(step.code.b);
    if (!is_marked && are_written(PlacedAddresses(step, addresses), size)) return;
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        uint32_t address = addresses.lane[lane];
        if (address % size != 0) return;
        if (step.is_checked(address, size)) {
            store_lane(step, lane, address, size);
        } else {
            use(step, step.code.b, lane);
        }
    });
}

void MemoryCheck::store_lane(Step& step, uint32_t lane, uint32_t address, uint32_t size) {
    uint32_t pc = step.warp.pc, all = (1u << size) - 1;
    bool is_guarded = states.guarded(step.placed(address), size) != 0 && !clearing_.has(pc);
    if (is_guarded) record(Mishap::StoreToGuard, step.warp, lane, pc, address, size);
    bool is_on_stack = this->is_on_stack(address);
    if (is_on_stack && step.code.a != kStackPointer && is_below_stack(address)) {
        return record(Mishap::StoreBelowStack, step.warp, lane, pc, address, size);
    }
    const Marks& marks = marks_of(step.warp);
    uint32_t unwritten = marks.bytes(step.code.b, lane) & all;
    uint32_t touched = marks.touched(step.code.b, lane);
    if (unwritten != 0 && touched != 0 && marks.of(step.code.b).addresses[lane] == address) {
        unwritten &= ~touched;  // a bit field
    } else if (unwritten == all && !is_on_stack && !copies_bytes(pc, size)) {
        use(step, step.code.b, lane);
        unwritten = 0;
    }
    states.write(step.placed(address), size);
    for (uint32_t k = 0; k < size; ++k) {
        if (unwritten >> k & 1) states.clear(step.placed(address) + k, 1);
    }
}

// An operand of a product in shared memory.
void MemoryCheck::operand(Step& step, const TileOperand& tile) {
    Warp& warp = step.warp;
    if (!step.shared(tile.first(), tile.span())) return;
    for (uint32_t byte = 0; byte < kTileOperandBytes; byte += 4) {
        uint32_t at = tile.place(byte);
        if (at % 4 != 0 || states.unwritten(step.placed(at), 4) == 0) continue;
        record(Mishap::OperandUnwritten, warp, warp.last_lane(), warp.pc, at, kTileOperandBytes);
        return;
    }
}

void MemoryCheck::start(uint32_t number, const UnitRegion* regions, uint32_t count) {
    if (number >= streams_.size()) streams_.resize(number + 1);
    uint32_t link = current_->scalar(kReturnAddress);
    streams_[number].works.push_back(
        {current_->core, current_->number, current_->pc, link, {regions, regions + count}});
}

void MemoryCheck::end(uint32_t number) {
    Stream& stream = streams_[number];
    const Work work = std::move(stream.works.front());
    stream.works.pop_front();
    ++stream.ended;
    for (const UnitRegion& region : work.regions) {
        for (uint32_t row = 0; row < region.rows; ++row) {
            uint32_t start = region.start + row * region.pitch;
            auto guarded = states.first_guarded(start, region.width);
            auto unwritten = states.first_unwritten(start, region.width);
            if (!guarded && (region.is_store || !unwritten)) continue;
            Mishap kind = !guarded          ? Mishap::UnitReadsUnwritten
                          : region.is_store ? Mishap::UnitWritesGuard
                                            : Mishap::UnitReadsGuard;
            add({kind, work.core, work.warp, 0, work.pc, work.link,
                 guarded ? *guarded : *unwritten, region.width, 1, number, stream.ended});
            break;
        }
    }
}

void MemoryCheck::record(Mishap kind, Warp& warp, uint32_t lane, uint32_t pc, uint32_t address,
                         uint32_t size) {
    uint32_t link = warp.row(kReturnAddress)[lane];
    add({kind, warp.core, warp.number, lane, pc, link, address, size, 1, 0, 0});
}

void MemoryCheck::add(const Finding& finding) {
    auto [place, is_new] = places_.try_emplace({finding.pc, finding.kind}, findings_.size());
    if (is_new) {
        findings_.push_back(finding);
    } else {
        ++findings_[place->second].count;
    }
}

}  // namespace spica
