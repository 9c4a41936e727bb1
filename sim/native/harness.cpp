#include "harness.hpp"

#include <algorithm>
#include <cstring>

namespace spica {

namespace {
bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && !text.compare(text.size() - end.size(), end.size(), end);
}
}  // namespace

Harness::Harness(const char* text, const DramParameters& parameters, uint32_t access_cycles)
    : memory(parameters.base, parameters.end),
      host(PortTable(text), access_cycles),
      ports_(text),
      parameters_(parameters),
      access_cycles_(access_cycles) {
    renew();
    for (const auto& [name, field] : ports_.outputs()) {
        if (ends_with(name, "_busy") || ends_with(name, "_runs")) busy_.push_back(field);
    }
    for (uint32_t cluster = 0;; cluster++) {
        size_t known = dma_.size();
        for (uint32_t number = 0; number < parameters_.channels; number++) {
            DmaWrites port(ports_, in_cluster(cluster, "dma_axi_" + std::to_string(number)));
            if (port.exists()) dma_.push_back(port);
        }
        if (dma_.size() == known) break;
    }
}

void Harness::renew() {
    host = Host(ports_, access_cycles_);
    masters.clear();
    for (uint32_t number = 0; number < parameters_.channels; number++) {
        std::string name = "m_axi" + std::to_string(number);
        masters.push_back(
            std::make_unique<AxiPort>(ports_, name, parameters_, number, memory, faults));
    }
    marked_.assign(parameters_.channels, {});
    dma_response_ = 0;
}

void Harness::begin(const Host::Command* commands, size_t count, uint64_t max_cycles,
                    uint64_t watchdog, bool stop_on_error) {
    host.load(commands, count);
    runs_program_ = false;
    stop_ = StopReason::kNone;
    start_ = last_progress_ = cycle_;
    limit_ = max_cycles;
    watchdog_ = watchdog;
    stop_on_error_ = stop_on_error;
    idle_cycles_ = 0;
}

void Harness::resume(uint64_t max_cycles) {
    limit_ = max_cycles;
    if (stop_ == StopReason::kLimit) stop_ = StopReason::kNone;
}

void Harness::add_cores(const CoreMemoryParameters& parameters) {
    auto made = std::make_unique<LoneCores>(ports_, memory, parameters);
    lone = made.get();
    cores = std::move(made);
}

void Harness::add_cluster(const ClusterCoresParameters& parameters) {
    auto made = std::make_unique<ClusterCores>(ports_, memory, parameters);
    cluster = made.get();
    cores = std::move(made);
}

void Harness::prepare(const Host::Command* commands, size_t count) {
    beginning_.assign(commands, commands + count);
}

void Harness::mirror(const MirrorSetup& setup) {
    auto made = std::make_unique<Mirror>(ports_, setup);
    mirrored = made.get();
    cores->observe(std::move(made));
}

void Harness::remove_observers() {
    mirrored = nullptr;
    cores->remove_observers();
}

void Harness::begin_cores(bool starts, uint64_t max_cycles, uint64_t watchdog) {
    cores->begin(starts, max_cycles, watchdog);
    stop_ = StopReason::kNone;
    runs_program_ = cluster != nullptr;
    if (!runs_program_ || !starts) return;
    host.load(beginning_.data(), beginning_.size());
    start_ = cycle_;
}

void Harness::archive(Archive& archive) {
    archive(memory, faults, host, beginning_, runs_program_, stop_);
    archive(cycle_, start_, limit_, watchdog_, last_progress_, idle_cycles_, stop_on_error_);
    archive(dma_response_, marked_);
    archive.same(masters.size());
    for (auto& master : masters) archive(*master);
    archive.same(cores != nullptr);
    if (cores) archive(*cores);
    archive.same(watchers_.size());
    for (auto& watcher : watchers_) archive(*watcher);
}

void Harness::step(const uint32_t* outputs, uint32_t* inputs) {
    for (auto& watcher : watchers_) watcher->step(cycle_, outputs, inputs);
    if (lone) {
        stop_ = lone->step(outputs, inputs);
        cycle_++;
        return;
    }
    bool moved = false;
    for (auto& master : masters) moved |= master->step(cycle_, outputs, inputs);
    bool progressed = host.step(cycle_, outputs, inputs);
    for (auto& master : masters) progressed |= master->wrote();
    moved |= progressed;
    watch_dma(outputs);
    if (moved) last_progress_ = cycle_;
    StopReason stop = stop_reason(outputs, moved, progressed);
    cycle_++;
    if (stopped()) return;
    if (!violation().empty()) {
        stop_ = StopReason::kViolation;
    } else if ((stop_on_error_ || runs_program_) && host.failed()) {
        stop_ = StopReason::kHostError;
    } else {
        stop_ = stop;
        return;
    }
    if (runs_program_) cluster->keep(outputs);
}

// Stop reason of this cycle, apart from AXI violations and host errors.
StopReason Harness::stop_reason(const uint32_t* outputs, bool moved, bool progressed) {
    if (runs_program_) {
        bool is_outstanding = !host.done() || !masters_idle();
        StopReason stop = cluster->step(outputs, {moved, progressed, is_outstanding});
        for (size_t k = 0; cluster->marks_begin() && k < masters.size(); k++) {
            marked_[k] = masters[k]->statistics();
        }
        return stop;
    }
    idle_cycles_ = host.done() && idle(outputs) ? idle_cycles_ + 1 : 0;
    if (idle_cycles_ >= kQuietCycles) return StopReason::kDone;
    if (cycle_ + 1 - last_progress_ > watchdog_) return StopReason::kHang;
    return cycle_ + 1 - start_ >= limit_ ? StopReason::kLimit : StopReason::kNone;
}

void Harness::watch_dma(const uint32_t* outputs) {
    for (const DmaWrites& writes : dma_) {
        if (writes.is_answered(outputs)) dma_response_ = cycle_;
    }
}

bool Harness::idle(const uint32_t* outputs) const {
    return std::all_of(busy_.begin(), busy_.end(), [&](Field f) { return !f.get(outputs); }) &&
           masters_idle();
}

bool Harness::masters_idle() const {
    return std::all_of(masters.begin(), masters.end(), [](auto& m) { return m->idle(); });
}

std::string Harness::violation() const {
    if (lone) return lone->violation();
    for (const auto& master : masters) {
        if (!master->violation().empty()) return master->violation();
    }
    return {};
}

HarnessState Harness::state() const {
    HarnessState state{};
    state.stop = static_cast<uint32_t>(stop_);
    state.current_command = static_cast<uint32_t>(host.current());
    state.last_read = host.last_read();
    state.errors = static_cast<uint32_t>(host.errors().size());
    state.cycle = cycle_;
    state.start = start_;
    state.first_command = host.first_command();
    state.last_response = dma_response_;
    // Without observation, use the responses of all masters. A cluster with observed cores but no
    // ports of a DMA has none.
    for (size_t k = 0; dma_.empty() && !cluster && k < masters.size(); k++) {
        state.last_response = std::max(state.last_response, masters[k]->last_response());
    }
    state.last_progress = last_progress_;
    state.reads = host.reads().size();
    return state;
}

}  // namespace spica

// C ABI. Every pointer refers to an object of the calling library.
using spica::Harness;

extern "C" {

Harness* harness_create(const char* ports, const spica::DramParameters* parameters,
                        uint32_t access_cycles) {
    return new Harness(ports, *parameters, access_cycles);
}

void harness_destroy(Harness* harness) { delete harness; }

void harness_begin(Harness* harness, const uint32_t* commands, uint64_t count, uint64_t max_cycles,
                   uint64_t watchdog, int stop_on_error) {
    harness->begin(reinterpret_cast<const spica::Host::Command*>(commands), count, max_cycles,
                   watchdog, stop_on_error);
}

void harness_resume(Harness* harness, uint64_t max_cycles) { harness->resume(max_cycles); }

// Returns whether the run continues.
int harness_step(Harness* harness, const uint32_t* outputs, uint32_t* inputs) {
    harness->step(outputs, inputs);
    return !harness->stopped();
}

spica::HarnessState harness_state(const Harness* harness) { return harness->state(); }

void harness_reads(const Harness* harness, uint32_t* values) {
    const auto& reads = harness->host.reads();
    std::copy(reads.begin(), reads.end(), values);
}

spica::Bytes harness_commands(const Harness* harness) {
    const auto& commands = harness->host.commands();
    return {commands.data(), commands.size() * sizeof(spica::Host::Command)};
}

void harness_error(const Harness* harness, uint32_t index, uint32_t* triple) {
    std::memcpy(triple, &harness->host.errors()[index], sizeof(spica::Host::Error));
}

uint64_t harness_violation(const Harness* harness, char* text, uint64_t size) {
    std::string violation = harness->violation();
    uint64_t count = std::min<uint64_t>(size, violation.size());
    std::memcpy(text, violation.data(), count);
    return count;
}

spica::ChannelStatistics harness_channel(const Harness* harness, uint32_t number,
                                         uint64_t* outstanding) {
    outstanding[0] = harness->masters[number]->outstanding_reads();
    outstanding[1] = harness->masters[number]->outstanding_writes();
    return harness->masters[number]->statistics();
}

spica::ChannelStatistics harness_marked(const Harness* harness, uint32_t number) {
    return harness->marked(number);
}

void harness_fault(Harness* harness, uint64_t start, uint64_t end, int reads, int writes) {
    harness->faults.push_back({start, end, reads != 0, writes != 0});
}

void harness_clear_faults(Harness* harness) { harness->faults.clear(); }

int memory_read(const Harness* harness, uint64_t address, uint8_t* data, uint64_t size) {
    if (!harness->memory.contains(address, size)) return 0;
    harness->memory.read(address, data, size);
    return 1;
}

int memory_write(Harness* harness, uint64_t address, const uint8_t* data, uint64_t size) {
    if (!harness->memory.contains(address, size)) return 0;
    harness->memory.write(address, data, size);
    return 1;
}

}  // extern "C"
