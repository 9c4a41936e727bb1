// Scheduling of warps, one instruction at a time, until all have ended or none can run.
#include "machine.hpp"

#include "instructions/execute.hpp"
#include "memory_check/memory_check.hpp"
#include "races/races.hpp"

namespace spica {

Machine::Machine(const Config& given)
    : config(given),
      memory(given.shared_bytes, cluster_cores(given), given.clusters),
      cores(given.cores),
      barriers(config, cores),
      races(given.checks_races ? std::make_unique<Races>(config) : nullptr),
      memory_check(given.checks_memory ? std::make_unique<MemoryCheck>(*this) : nullptr),
      devices(given.clusters),
      launches(given.clusters) {
    for (uint32_t core = 0; core < config.cores; ++core) {
        for (uint32_t warp = 0; warp < config.warps; ++warp) {
            warps_.push_back(std::make_unique<Warp>(cluster_of(core), core, warp, config.threads,
                                                    config.unit_words));
        }
    }
}

Machine::~Machine() = default;

void Machine::reset(const Launch* programs) {
    launches.assign(programs, programs + config.clusters);
    for (auto& warp : warps_) {
        warp->reset(launches[warp->cluster].entry, warp->number == 0);
        memory.release_operands(warp->core, warp->number);
    }
    for (uint32_t core = 0; core < config.cores; ++core) {
        cores[core] = {};
        cores[core].active = launches[cluster_of(core)].starts;
    }
    barriers.reset();
    memory.reservations.clear();
    if (races) races->reset();
    if (memory_check) memory_check->reset();
    counts = {};
    console.clear();
    sent.clear();
    turn_core_ = turn_warp_ = 0;
    random_state_ = config.seed * 0x9E37'79B9'7F4A'7C15u + 1;
}

void Machine::archive(Archive& archive) {
    archive(memory, cores, barriers, counts, fault, console, stacks, sent);
    for (auto& warp : warps_) archive(*warp);
    archive(turn_core_, turn_warp_, random_state_, launches);
}

uint64_t Machine::instructions() const {
    uint64_t sum = 0;
    for (const Core& core : cores) sum += core.instructions;
    return sum;
}

bool Machine::can_run() const {
    return std::any_of(cores.begin(), cores.end(),
                       [](const Core& core) { return core.runnable() != 0; });
}

bool Machine::is_done() const {
    return std::all_of(cores.begin(), cores.end(),
                       [](const Core& core) { return core.active == 0; });
}

// Next runnable warp in round-robin order; nullptr if none.
Warp* Machine::next_in_turn() {
    for (uint32_t tried = 0; tried <= config.cores; ++tried) {
        uint32_t later = turn_warp_ < 32 ? cores[turn_core_].runnable() >> turn_warp_ : 0;
        if (later != 0) {
            uint32_t number = turn_warp_ + static_cast<uint32_t>(std::countr_zero(later));
            turn_warp_ = number + 1;
            return &warp(turn_core_, number);
        }
        turn_warp_ = 0;
        turn_core_ = turn_core_ + 1 == config.cores ? 0 : turn_core_ + 1;
    }
    return nullptr;
}

// Steele's and Vigna's splitmix64.
uint64_t Machine::random() {
    uint64_t z = random_state_ += 0x9E37'79B9'7F4A'7C15u;
    z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9u;
    z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EBu;
    return z ^ z >> 31;
}

// Random runnable warp, all with equal probability; nullptr if none.
Warp* Machine::next_random() {
    uint32_t all = 0;
    for (const Core& core : cores) all += static_cast<uint32_t>(std::popcount(core.runnable()));
    if (all == 0) return nullptr;
    uint32_t chosen = static_cast<uint32_t>(random() % all);
    for (uint32_t core = 0;; ++core) {
        uint32_t rest = cores[core].runnable();
        uint32_t here = static_cast<uint32_t>(std::popcount(rest));
        if (chosen < here) {
            while (chosen-- != 0) rest &= rest - 1;
            return &warp(core, static_cast<uint32_t>(std::countr_zero(rest)));
        }
        chosen -= here;
    }
}

bool Machine::fetch_fault(Warp& warp, Reason reason, uint32_t word) {
    fault = {reason, warp.core, warp.number, warp.pc, word, warp.mask(), 1, warp.pc, 0, 0};
    return false;
}

// Decoded instruction of a warp; nullptr with a fault if the fetch or decode fails.
Decoded* Machine::fetch(Warp& warp) {
    if (warp.pc & 3) {
        fetch_fault(warp, Reason::MisalignedJump, 0);
        return nullptr;
    }
    Decoded* code = memory.code(warp.pc);
    if (code != nullptr && code->op != Op::Undecoded) return code;
    if (code == nullptr || !memory.may_touch(warp.pc, 4)) {
        fetch_fault(warp, Reason::NotPlaced, 0);
        return nullptr;
    }
    uint32_t word = memory.word(warp.pc);
    Reason why;
    *code = decode(word, config, why);
    if (code->op != Op::Undecoded) return code;
    fetch_fault(warp, why, word);
    fault.has_address = 0;
    return nullptr;
}

template <bool kChecks>
bool Machine::execute_one(Warp& warp) {
    Decoded* code = fetch(warp);
    if (code == nullptr) return false;
    uint32_t word = code->word, lanes = warp.mask();
    Op op = code->op;
    Step step{*this, warp, *code, warp.pc + 4};
    if constexpr (kChecks) {
        if (memory_check && !memory_check->enter(step)) return false;
        if (races && !races->enter(step)) return false;
    }
    if (!execute(step)) return false;
    if (kChecks && races && !races->leave(step)) return false;
    warp.remember(word, lanes);
    warp.pc = step.next;
    ++cores[warp.core].instructions;
    ++counts.operations[static_cast<uint32_t>(op)];
    counts.thread_instructions += static_cast<uint64_t>(std::popcount(lanes));
    return true;
}

void Machine::wake(uint32_t cluster) {
    for (uint32_t core = 0; core < config.cores; ++core) {
        if (cluster_of(core) == cluster) cores[core].stuck = 0;
    }
}

bool Machine::is_awake(Warp& warp, bool& fails) {
    Core& core = cores[warp.core];
    uint32_t bit = 1u << warp.number, sleep = 0;
    if (!(core.sleeping & bit)) return true;
    if (races) races->resume(warp);
    if (!devices[warp.cluster].wait(warp.wait.offset, warp.wait.n, &sleep)) {
        fault = {Reason::Device, warp.core, warp.number, warp.pc, 0, warp.mask(), 0, 0, 0, 0};
        fails = true;
        return false;
    }
    if (static_cast<Sleep>(sleep) == Sleep::Stuck) core.stuck |= bit;
    if (static_cast<Sleep>(sleep) != Sleep::Over) return false;
    core.sleeping &= ~bit;
    return true;
}

StopReason Machine::run(uint64_t limit) {
    StopReason stop = StopReason::Limit;
    const bool checks = races || memory_check;
    for (uint64_t done = 0; done < limit || !can_run(); ++done) {
        Warp* warp = next();
        if (warp == nullptr) {
            stop = is_done() ? StopReason::Done : StopReason::Deadlock;
            break;
        }
        bool fails = false;
        if (!is_awake(*warp, fails) && !fails) continue;
        if (fails || !(checks ? execute_one<true>(*warp) : execute_one<false>(*warp))) {
            stop = StopReason::Fault;
            // The next run starts with this warp.
            turn_warp_ = warp->number;
            turn_core_ = warp->core;
            break;
        }
    }
    return stop;
}

namespace {

// Flags of an instruction that a lockstep needs to interpret its result.
uint32_t flags_of(const Decoded& code) {
    if (code.op == Op::Ecall || code.op == Op::Ebreak) return Retired::kEndsCore;
    bool is_csr = code.op == Op::Csrrw || code.op == Op::Csrrs || code.op == Op::Csrrc ||
                  code.op == Op::Csrrwi || code.op == Op::Csrrsi || code.op == Op::Csrrci;
    return is_csr && is_counter(code.immediate) ? Retired::kReadsCounter : 0;
}

// Records the access of a load or store before it executes; loaded data is added afterwards. An
// atomic access is recorded as a load.
void record_access(Machine& machine, Warp& warp, const Decoded& code, Access& access) {
    bool is_store;
    access.size = access_size(code.op, is_store) + code.atomic_bytes;
    if (access.size == 0) return;
    access.addresses = access.data = access.before = {};
    access.is_store = is_store;
    uint32_t bits = access.size == 4 ? ~0u : (1u << 8 * access.size) - 1;
    for_lanes(warp.mask(), [&](uint32_t lane) {
        uint32_t address = warp.row(code.a)[lane] + code.immediate;
        access.addresses[lane] = address;
        if (!is_store) return;
        access.data[lane] = warp.row(code.b)[lane] & bits;
        const uint8_t* memory = machine.memory.span(address & ~3u, address | 3u, warp.cluster);
        if (memory != nullptr) std::memcpy(&access.before[lane], memory, 4);
    });
}

// Records the group of registers that an instruction has written.
void record_group(Warp& warp, const Config& config, const Decoded& code, Retired& retired) {
    retired.results = code.results;
    retired.row = code.first + code.results - 1;
    for (uint32_t k = 0; k + 1 < retired.results; ++k) {
        std::copy_n(warp.row(code.first + k), config.threads, retired.earlier[k].begin());
    }
    std::copy_n(warp.row(retired.row), config.threads, retired.values.begin());
}

}  // namespace

Machine::Stepped Machine::step(uint32_t core, uint32_t number, Retired& retired) {
    // The lockstep steps a warp that sleeps when it has continued.
    cores[core].sleeping &= ~(1u << number);
    cores[core].stuck &= ~(1u << number);
    cores[core].awaiting &= ~(1u << number);
    if (!(cores[core].runnable() >> number & 1)) return Stepped::CannotRun;
    Warp& stepped = warp(core, number);
    // Per-lane arrays are written only if used, since this is called for every instruction.
    retired.core = core;
    retired.warp = number;
    retired.pc = stepped.pc;
    retired.word = retired.flags = 0;
    retired.mask = stepped.mask();
    retired.row = kDroppedRow;
    retired.results = 1;
    retired.access.size = retired.access.is_store = 0;
    Decoded* code = fetch(stepped);
    if (code == nullptr) {
        retired.word = fault.word;
        return Stepped::Fault;
    }
    Decoded copy = *code;
    retired.word = copy.word;
    retired.flags = flags_of(copy);
    record_access(*this, stepped, copy, retired.access);
    if (!execute_one<false>(stepped)) return Stepped::Fault;
    if (copy.results > 1) {
        record_group(stepped, config, copy, retired);
        return Stepped::Retired;
    }
    retired.row = copy.d;
    if (copy.d == kDroppedRow) return Stepped::Retired;
    std::copy_n(stepped.row(copy.d), config.threads, retired.values.begin());
    if (retired.access.size != 0) {
        uint32_t bits = retired.access.size == 4 ? ~0u : (1u << 8 * retired.access.size) - 1;
        for_lanes(retired.mask, [&](uint32_t lane) {
            retired.access.data[lane] = retired.values[lane] & bits;
        });
    }
    return Stepped::Retired;
}

}  // namespace spica
