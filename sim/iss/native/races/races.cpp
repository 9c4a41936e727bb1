#include "races/races.hpp"

#include <algorithm>

#include "instructions/access.hpp"
#include "instructions/exchange.hpp"
#include "instructions/shared_operands.hpp"
#include "machine.hpp"

namespace spica {

namespace {

bool is_csr(Op op) {
    return op == Op::Csrrw || op == Op::Csrrs || op == Op::Csrrc || op == Op::Csrrwi ||
           op == Op::Csrrsi || op == Op::Csrrci;
}

bool is_dram(uint32_t address) { return address - DRAM_BASE < DRAM_END - DRAM_BASE; }

}  // namespace

Races::Races(const Config& config)
    : config_(config), has_copies_(config.cores > 1 || !config.is_alone) {
    reset();
}

void Races::reset() {
    warps_.assign(config_.cores * config_.warps, {});
    snapshots_.assign(warps_.size(), nullptr);
    cores_.assign(config_.cores, {});
    streams_.clear();
    flags_.clear();
    arrived_.clear();
    completed_.clear();
    observed_.assign(warps_.size(), {});
    updates_.assign(warps_.size(), {});
    shadow_.clear();
}

bool Races::enter(Step& step) {
    Op op = step.code.op;
    Warp& warp = step.warp;
    current_ = agent_of(warp);
    current_pc_ = warp.pc;
    has_raced_ = false;
    if (step.code.serialises) drain(current_, op == Op::Fence);
    if (step.code.begins_product || step.code.awaits_products) {
        // The unit reads the operands of the previous product until now.
        for (const Operand& operand : step.machine.memory.operands()) {
            bool is_own = operand.core == warp.core && operand.warp == warp.number;
            if (is_own && !touch_operand(step, operand.tile)) return false;
        }
    }
    if (step.code.begins_product) {
        const auto [a, b] = shared_operands(step);
        return touch_operand(step, a) && touch_operand(step, b);
    }
    if (step.code.atomic_bytes != 0) {
        synchronise(step);
        return true;
    }
    if (step.code.is_barrier) {
        arrive(step);
        return true;
    }
    bool is_store;
    if (uint32_t size = access_size(op, is_store)) return access(step, size, is_store);
    Updates& updates = updates_[current_];
    if (op == Op::VxSplit) condition_ = updates.operands(step.code);
    // A vote or a shuffle combines what all lanes have loaded.
    if (is_exchange(op)) {
        updates.clear(step.code.d);
    } else {
        updates.pass(step.code);
    }
    return true;
}

// Checks and records the accesses of a load or store.
bool Races::access(Step& step, uint32_t size, bool is_store) {
    if (current_pc_ >= clearing_.first && current_pc_ <= clearing_.last) return true;
    Addresses addresses(step);
    if (is_store && !keeps_updates(step, addresses, size)) return false;
    if (!is_store) record_load(step, addresses);
    const PlacedAddresses placed(step, addresses);
    const uint32_t last = placed.largest + size - 1;
    const bool is_plain = addresses.low_bits % size == 0 &&
                          step.span(addresses.least, addresses.largest + size - 1) != nullptr &&
                          std::none_of(flag_ranges_.begin(), flag_ranges_.end(), [&](Range range) {
                              return placed.least <= range.last && last >= range.first;
                          });
    Accessor accessor = accessor_of(step, is_store);
    bool is_free = true;
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        if (!is_free) return;
        uint32_t address = addresses.lane[lane];
        accessor.path = Memory::is_window(address) ? Path::Window : Path::Base;
        is_free = is_plain ? touch_bytes(step, accessor, address, size, lane)
                           : touch(step, accessor, address, size, lane);
    });
    return is_free;
}

bool Races::leave(Step& step) {
    if (has_raced_) {
        uint32_t lanes = step.warp.mask();
        return step.fault_at(Reason::AccessRace, lanes, report_.address);
    }
    Op op = step.code.op;
    Warp& warp = step.warp;
    if (op == Op::VxSplit) {
        updates_[current_].open(warp.depth, condition_);
    } else if (op == Op::VxJoin) {
        updates_[current_].join(warp.depth, warp.scalar(step.code.a) & 1);
    } else if (op == Op::VxBar) {
        join_arrived(step);
    } else if (op == Op::MbarrierTestWaitParity || op == Op::MbarrierTryWaitParity) {
        acquire(warp);
    } else if (op == Op::VxWspawn) {
        uint32_t first = warp.core * config_.warps, count = warp.scalar(step.code.a);
        for (uint32_t number = first; number < first + count; ++number) {
            if (number != current_) warps_[number].join(warps_[current_]);
            snapshots_[number] = nullptr;
        }
    } else if (is_csr(op) && step.code.immediate == static_cast<uint32_t>(Csr::WarpMask)) {
        for (uint32_t number = 0; number < config_.warps; ++number) {
            if (step.core().active >> number & 1) continue;
            warps_[current_].join(warps_[warp.core * config_.warps + number]);
        }
        snapshots_[current_] = nullptr;
    } else if (op == Op::Ecall || op == Op::Ebreak) {
        cores_[warp.core].waiting = 0;
    }
    return true;
}

void Races::drain(uint32_t agent, bool is_fence) {
    Knowledge& known = warps_[agent];
    known.complete.advance(agent, known.complete[agent] + 1);
    if (!is_fence) return;
    known.fenced.advance(agent, known.complete[agent]);
    snapshots_[agent] = nullptr;
    CoreState& core = cores_[core_of(agent)];
    ++core.fence;
    core.fenced.join(known.fenced);
}

// Atomic accesses are ordered like those to flags, by their own ordering bits: a release completes
// the earlier accesses of the warp, an acquire invalidates the core's copies of lines.
void Races::synchronise(Step& step) {
    const Decoded& code = step.code;
    Knowledge& known = warps_[current_];
    updates_[current_].clear(code.d);
    if (code.releases) {
        drain(current_, false);
        known.fenced.advance(current_, known.complete[current_]);
    }
    Addresses addresses(step);
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        Knowledge& flag = flags_[step.placed(addresses.lane[lane]) / 4];
        if (code.releases) flag.join(known);
        if (code.acquires) known.join(flag);
    });
    if (code.releases || code.acquires) snapshots_[current_] = nullptr;
    if (!code.acquires) return;
    CoreState& core = cores_[core_of(current_)];
    ++core.fence;
    core.fenced.join(known.fenced);
}

// Before an operation on transaction barriers. An arrival completes the earlier accesses of the warp;
// those to DRAM need a fence besides, as at every barrier.
void Races::arrive(Step& step) {
    const Op op = step.code.op;
    const bool is_wait = op == Op::MbarrierTestWaitParity || op == Op::MbarrierTryWaitParity ||
                         op == Op::MbarrierWaitParity;
    updates_[current_].clear(step.code.d);
    observed_[current_].clear();
    const Addresses addresses(step);
    const uint32_t agent = current_;
    if (!is_wait) drain(agent, false);
    for_lanes(step.warp.mask(), [&](uint32_t lane) {
        const uint32_t placed = step.placed(addresses.lane[lane]);
        if (is_wait) {
            observed_[current_].push_back(placed);
        } else {
            arrived_[placed].join(warps_[current_]);
        }
    });
}

void Races::complete(uint32_t phase) {
    completed_[phase & ~1u].join(arrived_[phase & ~1u]);
}

void Races::acquire(const Warp& warp) {
    const uint32_t agent = agent_of(warp);
    for (uint32_t placed : observed_[agent]) warps_[agent].join(completed_[placed]);
    snapshots_[agent] = nullptr;
}

// The past of every warp that the current arrival releases happens before all of them continue.
void Races::join_arrived(Step& step) {
    std::vector<uint32_t> arrived;
    for (uint32_t core = 0; core < config_.cores; ++core) {
        uint32_t waiting = step.machine.cores[core].waiting;
        uint32_t before = cores_[core].waiting;
        if (core == step.warp.core) before |= 1u << step.warp.number;
        cores_[core].waiting = waiting;
        for (uint32_t left = before & ~waiting; left != 0; left &= left - 1) {
            uint32_t number = static_cast<uint32_t>(std::countr_zero(left));
            arrived.push_back(core * config_.warps + number);
        }
    }
    Knowledge all;
    for (uint32_t agent : arrived) all.join(warps_[agent]);
    for (uint32_t agent : arrived) {
        warps_[agent] = all;
        snapshots_[agent] = nullptr;
    }
}

bool Races::touch_operand(Step& step, const TileOperand& tile) {
    if (!step.shared(tile.first(), tile.span())) return true;
    const Accessor accessor = accessor_of(step, false);
    for (uint32_t byte = 0; byte < kTileOperandBytes; byte += 4) {
        if (!touch(step, accessor, tile.place(byte), 4, step.warp.last_lane())) return false;
    }
    return true;
}

bool Races::touch(Step& step, const Accessor& accessor, uint32_t address, uint32_t size,
                  uint32_t lane) {
    if (address % size != 0 || !step.span(address, address + size - 1)) return true;
    if (touch_flag(current_, step.placed(address), accessor.is_store)) return true;
    return touch_bytes(step, accessor, address, size, lane);
}

Races::Accessor Races::accessor_of(const Step& step, bool is_store) const {
    return {.agent = current_,
            .time = warps_[current_].complete[current_] + 1,
            .pc = current_pc_,
            .own = current_,
            .core = step.warp.core,
            .is_store = is_store};
}

bool Races::touch_bytes(Step& step, const Accessor& accessor, uint32_t address, uint32_t size,
                        uint32_t lane) {
    uint32_t word = step.placed(address) & ~3u;
    if (check(accessor, word, static_cast<uint8_t>(((1u << size) - 1) << address % 4))) {
        return true;
    }
    report_.size = size;
    return step.fault_at(Reason::AccessRace, 1u << lane, address);
}

bool Races::is_flag(uint32_t address) const {
    return std::any_of(flag_ranges_.begin(), flag_ranges_.end(), [&](const Range& range) {
        return address >= range.first && address <= range.last;
    });
}

// A flag carries the clock of the storing warp; returns whether the address is that of a flag.
bool Races::touch_flag(uint32_t agent, uint32_t address, bool is_store) {
    if (!is_flag(address)) return false;
    Knowledge& flag = flags_[address / 4];
    if (is_store) {
        flag.join(warps_[agent]);
    } else {
        warps_[agent].join(flag);
        snapshots_[agent] = nullptr;
    }
    return true;
}

// Checks the access to bytes of a word, and records it unless it races.
bool Races::check(const Accessor& accessor, uint32_t address, uint8_t bytes) {
    Shadow::Word& word = shadow_.at(address);
    const Knowledge& known = warps_[current_];
    Entry entry(accessor.time, accessor.pc, accessor.agent, bytes, accessor.is_store, accessor.path);
    bool is_load_of_warp = accessor.core && !accessor.is_store;
    if (is_load_of_warp && has_copies_ && is_dram(address)) copied(accessor.agent, address);
    for (const Entry& earlier : word) {
        // No agent has an access of this time in its clock yet, so nothing happened after it.
        bool is_same = earlier.agent == entry.agent && earlier.time == entry.time &&
                       earlier.kind == entry.kind && (bytes & ~earlier.bytes) == 0;
        if (is_same) return true;
        if (!earlier.conflicts(bytes, accessor.is_store)) continue;
        Lack missing = lack(accessor, earlier, address, known);
        if (missing == Lack::None) continue;
        report_ = {earlier.agent,     earlier.time,
                   earlier.pc,        earlier.is_store(),
                   address,           static_cast<uint32_t>(missing),
                   accessor.agent,    accessor.time,
                   accessor.is_store, 4};
        return false;
    }
    word.add(entry, [&](const Entry& earlier) {
        bool is_same_way = earlier.agent == entry.agent && earlier.path() == entry.path();
        return entry.is_store() || is_same_way ||
               earlier.time <= known.complete[earlier.agent];
    });
    return true;
}

Lack Races::lack(const Accessor& accessor, const Entry& entry, uint32_t address,
                 const Knowledge& known) {
    uint32_t agent = entry.agent;
    bool is_of_unit = !accessor.core;
    if (agent == accessor.own) {
        bool is_same_way = entry.path() == accessor.path || entry.path() == Path::Any ||
                           accessor.path == Path::Any || entry.time <= known.complete[agent];
        return is_same_way ? Lack::None : Lack::Path;
    }
    // The model of the units checks their works against each other.
    if (is_of_unit && agent >= warps_.size()) return Lack::None;
    if (entry.time > known.complete[agent]) {
        return is_of_unit && agent == current_ ? Lack::Command : Lack::Order;
    }
    if (!is_dram(address) || !entry.is_store()) return Lack::None;
    if (!is_of_unit && core_of(agent) == *accessor.core) return Lack::None;
    if (entry.time > known.fenced[agent]) return Lack::Fence;
    if (is_of_unit || accessor.is_store) return Lack::None;
    bool is_new = entry.time <= (*copied(accessor.agent, address))[agent] ||
                  entry.time <= cores_[*accessor.core].fenced[agent];
    return is_new ? Lack::None : Lack::Copy;
}

// Stores that the core's copy of a line is known to have; a load makes a copy unless there is one.
const Clock* Races::copied(uint32_t agent, uint32_t address) {
    CoreState& core = cores_[core_of(agent)];
    Copy& copy = core.copies[address / config_.line_bytes];
    if (copy.fence != core.fence) {
        auto& snapshot = snapshots_[agent];
        if (!snapshot) snapshot = std::make_shared<const Clock>(warps_[agent].fenced);
        copy = {core.fence, snapshot};
    }
    return copy.fenced.get();
}

void Races::start(uint32_t number, const UnitRegion* regions, uint32_t count,
                  const UnitWork* after, uint32_t afters) {
    if (number >= streams_.size()) streams_.resize(number + 1);
    uint32_t warps = static_cast<uint32_t>(warps_.size());
    Work work{current_, warps_[current_]};
    for (uint32_t k = 0; k < afters; ++k) {
        const Stream& other = streams_[after[k].stream];
        bool is_over = after[k].time <= other.ended;
        work.known.join(is_over ? other.known : other.works[after[k].time - 1].known);
        work.known.advance(warps + after[k].stream, after[k].time);
    }
    streams_[number].works.push_back(std::move(work));
    Accessor accessor{.agent = warps + number,
                      .time = static_cast<uint32_t>(streams_[number].works.size()),
                      .pc = current_pc_,
                      .own = kNobody,
                      .core = {},
                      .is_store = false};
    for (uint32_t k = 0; k < count && !has_raced_; ++k) {
        const UnitRegion& region = regions[k];
        accessor.is_store = region.is_store;
        for (uint32_t row = 0; row < region.rows && !has_raced_; ++row) {
            uint32_t first = region.start + row * region.pitch, end = first + region.width;
            for (uint32_t at = first & ~3u; at < end && !has_raced_; at += 4) {
                uint32_t bytes = at < first ? 0xFu << (first - at) : 0xFu;
                if (end - at < 4) bytes &= 0xFu >> (4 - (end - at));
                has_raced_ = !check(accessor, at, static_cast<uint8_t>(bytes & 0xF));
            }
        }
    }
}

void Races::end(uint32_t number) {
    Stream& stream = streams_[number];
    stream.known.join(stream.works[stream.ended].known);
    stream.works[stream.ended].known = {};
    ++stream.ended;
    stream.known.advance(static_cast<uint32_t>(warps_.size()) + number, stream.ended);
}

void Races::poll(uint32_t number) {
    if (number >= streams_.size()) return;
    warps_[current_].join(streams_[number].known);
    snapshots_[current_] = nullptr;
}

uint32_t Races::starter(uint32_t stream, uint32_t time) const {
    return streams_[stream].works[time - 1].starter;
}

}  // namespace spica
