// C interface of the machine for Python.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "instructions/lanes.hpp"
#include "machine.hpp"
#include "memory_check/memory_check.hpp"
#include "races/races.hpp"

using namespace spica;

namespace {

// State of a warp as an array of words: this head, both register files without padding lanes, then
// the stack.
extern "C" struct WarpHead {
    uint32_t pc, mask, active, waiting, barrier, fflags, frm, mscratch, mepc, depth;
    uint32_t sleeping, wait_offset, wait_n, awaiting;
};

uint32_t* rows_out(const Machine& machine, Warp& warp, uint32_t* words) {
    for (uint32_t row = 0; row < kDroppedRow; ++row) {
        words = std::copy_n(warp.row(row), machine.config.threads, words);
    }
    return words;
}

}  // namespace

extern "C" {

Machine* iss_create(const Config* config) { return new Machine(*config); }

void iss_destroy(Machine* machine) { delete machine; }

// Address of the machine for one of a program of a cluster.
uint32_t iss_placed(uint32_t cluster, uint32_t address) {
    return Memory::placed(address, cluster);
}

// Units of a cluster.
void iss_devices(Machine* machine, uint32_t cluster, const Devices* devices) {
    machine->devices[cluster] = *devices;
}

// `programs` has one for each cluster.
void iss_reset(Machine* machine, const Launch* programs) { machine->reset(programs); }

// Saves the machine's state.
Bytes iss_save(Machine* machine) {
    machine->saved.clear();
    Archive archive(machine->saved);
    machine->archive(archive);
    return {machine->saved.data(), machine->saved.size()};
}

// Restores a state; returns whether the bytes fit this machine.
int iss_restore(Machine* machine, const uint8_t* bytes, uint64_t size) {
    Archive archive(bytes, size);
    machine->archive(archive);
    return archive.is_whole();
}

int iss_run(Machine* machine, uint64_t limit) { return static_cast<int>(machine->run(limit)); }

int iss_step(Machine* machine, uint32_t core, uint32_t warp, Retired* retired) {
    return static_cast<int>(machine->step(core, warp, *retired));
}

Fault iss_fault(const Machine* machine) { return machine->fault; }

int iss_read(Machine* machine, uint32_t address, uint8_t* data, uint64_t size) {
    return machine->memory.read(address, data, size);
}

int iss_write(Machine* machine, uint32_t address, const uint8_t* data, uint64_t size) {
    if (!machine->memory.write(address, data, size)) return 0;
    if (machine->memory_check) machine->memory_check->states.write(Memory::placed(address, 0), size);
    return 1;
}

void iss_allow(Machine* machine, uint32_t first, uint32_t last) {
    machine->memory.allow(first, last);
}

void iss_limit_stacks(Machine* machine, uint32_t top, uint32_t bytes) {
    machine->stacks = {top, bytes};
}

int iss_is_allowed(Machine* machine, uint32_t address, uint64_t size) {
    return machine->memory.may_touch(address, size);
}

Bytes iss_console(const Machine* machine) {
    return {machine->console.data(), machine->console.size()};
}

void iss_warp(Machine* machine, uint32_t core, uint32_t number, uint32_t* words) {
    Warp& warp = machine->warp(core, number);
    const Core& of = machine->cores[core];
    WarpHead head{warp.pc,      warp.mask(), of.active >> number & 1, of.waiting >> number & 1,
                  warp.barrier, warp.fflags, warp.frm,                warp.mscratch,
                  warp.mepc,    warp.depth,  of.sleeping >> number & 1, warp.wait.offset,
                  warp.wait.n,  of.awaiting >> number & 1};
    std::memcpy(words, &head, sizeof head);
    words = rows_out(*machine, warp, words + sizeof head / 4);
    for (uint32_t k = 0; k < warp.depth; ++k) {
        const Divergence& split = warp.stack[k];
        const uint32_t entry[] = {split.both, split.rest, split.pc, split.is_second};
        words = std::copy_n(entry, 4, words);
    }
}

// Sets a warp from the words of `iss_warp`, except the stack.
void iss_set_warp(Machine* machine, uint32_t core, uint32_t number, const uint32_t* words) {
    Warp& warp = machine->warp(core, number);
    WarpHead head;
    std::memcpy(&head, words, sizeof head);
    warp.pc = head.pc;
    warp.set_mask(head.mask);
    warp.fflags = head.fflags & 0x1F;
    warp.frm = head.frm & 7;
    warp.mscratch = head.mscratch;
    warp.mepc = head.mepc & ~3u;
    uint32_t bit = 1u << number;
    uint32_t& active = machine->cores[core].active;
    active = head.active ? active | bit : active & ~bit;
    const uint32_t* rows = words + sizeof head / 4;
    for (uint32_t row = 1; row < kDroppedRow; ++row) {
        std::copy_n(rows + row * machine->config.threads, machine->config.threads, warp.row(row));
    }
}

// Overwrites lanes of a register, `row` as in `Retired`, with values from the lockstep.
void iss_write_register(Machine* machine, uint32_t core, uint32_t number, uint32_t row,
                        uint32_t lanes, const uint32_t* values) {
    uint32_t* registers = machine->warp(core, number).row(row);
    for (uint32_t lane = 0; lane < machine->config.threads; ++lane) {
        if (lanes >> lane & 1) registers[lane] = values[lane];
    }
}

// First instruction that sent a word to a matrix unit: core, warp and pc; returns whether one has.
int iss_sender(Machine* machine, uint32_t word, uint32_t* place) {
    const SentWord* sent = machine->sent.find(word);
    if (sent == nullptr) return 0;
    place[0] = sent->core;
    place[1] = sent->warp;
    place[2] = sent->pc;
    return 1;
}

// Copies the last retired instructions of a warp into `past`, oldest first; returns their number.
uint64_t iss_history(Machine* machine, uint32_t core, uint32_t number, Past* past) {
    Warp& warp = machine->warp(core, number);
    uint64_t length = std::min<uint64_t>(warp.retired, kHistory);
    for (uint64_t k = 0; k < length; ++k) {
        past[k] = warp.history[(warp.retired - length + k) % kHistory];
    }
    return length;
}

// Barrier at which a warp waits: whether it is a barrier of cores, arrivals, count, and mask of the
// cores whose warps have all arrived.
void iss_barrier(Machine* machine, uint32_t core, uint32_t number, uint32_t* words) {
    uint32_t id = machine->warp(core, number).barrier;
    Barriers& barriers = machine->barriers;
    bool of_cores = barriers.is_of_cores(id);
    words[0] = of_cores;
    words[1] = barriers.arrived(core, id);
    words[2] = barriers.expected(core, id);
    words[3] = of_cores ? 0 : barriers.complete_cores(core, id);
}

// Phase of a transaction barrier for which a warp sleeps, and the state of the barrier: whether it is
// one, pending and expected arrivals, expected less completed bytes, parity.
void iss_awaited(Machine* machine, uint32_t core, uint32_t number, uint32_t* words) {
    const PhaseWait& awaited = machine->warp(core, number).awaited;
    const uint32_t phase = awaited.phases[lowest_lane(awaited.lanes)];
    const TransactionBarrier barrier = machine->memory.barrier_of(phase);
    const uint32_t state[] = {phase,
                              barrier.exists(),
                              barrier.pending(),
                              barrier.expected(),
                              static_cast<uint32_t>(barrier.bytes()),
                              barrier.parity()};
    std::copy_n(state, 6, words);
}

// Accesses to flags make an order; they never race.
void iss_flags(Machine* machine, uint32_t first, uint32_t last) {
    if (machine->races) machine->races->add_flags(first, last);
}

// Start of a unit's work by the current instruction, its end, and a wait for the ended ones.
void iss_work_starts(Machine* machine, uint32_t stream, const UnitRegion* regions, uint32_t count,
                     const UnitWork* after, uint32_t afters) {
    if (machine->memory_check) machine->memory_check->start(stream, regions, count);
    if (machine->races) machine->races->start(stream, regions, count, after, afters);
}

void iss_work_ends(Machine* machine, uint32_t stream) {
    if (machine->memory_check) machine->memory_check->end(stream);
    if (machine->races) machine->races->end(stream);
}

void iss_work_is_known(Machine* machine, uint32_t stream) {
    if (machine->races) machine->races->poll(stream);
}

uint32_t iss_work_starter(Machine* machine, uint32_t stream, uint32_t time) {
    return machine->races->starter(stream, time);
}

RaceReport iss_race(const Machine* machine) { return machine->races->report(); }

// States of bytes for the check of memory, and code with rules of its own, as in `MemoryCheck`.
void iss_mark_written(Machine* machine, uint32_t address, uint64_t size) {
    machine->memory_check->states.write(address, size);
}

void iss_mark_unwritten(Machine* machine, uint32_t address, uint64_t size) {
    machine->memory_check->states.clear(address, size);
}

void iss_guard(Machine* machine, uint32_t address, uint64_t size) {
    machine->memory_check->states.guard(address, size);
}

void iss_check_stacks(Machine* machine) { machine->memory_check->check_stacks(); }

void iss_clearing_code(Machine* machine, uint32_t first, uint32_t last) {
    if (machine->memory_check) machine->memory_check->exempt(first, last);
    if (machine->races) machine->races->exempt(first, last);
}

void iss_copying_code(Machine* machine, uint32_t first, uint32_t last) {
    machine->memory_check->add_copies(first, last);
}

// Copies the first findings; returns the number of all.
uint64_t iss_findings(const Machine* machine, Finding* findings, uint64_t most) {
    const auto& known = machine->memory_check->findings();
    std::copy_n(known.begin(), std::min<uint64_t>(most, known.size()), findings);
    return known.size();
}

// Counts by operation number, then thread instructions and divergent splits.
void iss_counts(const Machine* machine, uint64_t* words) {
    const Counts& counts = machine->counts;
    words = std::copy(counts.operations.begin(), counts.operations.end(), words);
    words[0] = counts.thread_instructions;
    words[1] = counts.divergent_splits;
}

void iss_core(const Machine* machine, uint32_t core, uint64_t* instructions, int32_t* exit_code) {
    *instructions = machine->cores[core].instructions;
    *exit_code = machine->cores[core].exit_code;
}

}  // extern "C"
