#include "cores/cluster_cores.hpp"

#include <algorithm>
#include <bit>

namespace spica {

namespace {
const std::string kEvents = "events_";
// Prefixes of the counters of units that only serve others.
const char* const kServers[] = {"l1", "l2_", "shared_"};
// Prefixes of the read ports by `CacheLevel`, without the number of the core or slice.
const char* const kReads[kCacheLevels] = {"", "l1d_reads_", "l2_reads_"};

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}
}  // namespace

void ClusterCores::Traffic::reset() {
    requesters.clear();
    has_requested = false;
    fetches = loads = stores = 0;
    pending_fetches = pending_lanes = 0;
    latency.reset();
}

ClusterCores::ClusterCores(const PortTable& ports, Memory& dram,
                           const ClusterCoresParameters& parameters)
    : Cores(ports, {dram, parameters.begin_marker, parameters.end_marker}),
      parameters_(parameters),
      dram_(dram) {
    for (const auto& core : cores_) {
        traffic_.emplace_back(size_t{1} << core->ports.data.tag.width);
        caches_[kL1Instructions].emplace_back(CacheReadPorts(core->ports.fetch));
    }
    for (uint32_t level : {kL1Data, kL2}) {
        auto name = [&](size_t number) { return kReads[level] + std::to_string(number); };
        for (size_t number = 0; ports.outputs().contains(name(number) + "_valid"); number++) {
            caches_[level].emplace_back(CacheReadPorts(ports, name(number)));
        }
    }
    std::vector<std::string> names;
    for (const auto& [name, field] : ports.outputs()) {
        bool is_busy = name.ends_with("_busy");
        if (is_busy && !name.starts_with("core")) busy_.push_back(field);
        if (name.starts_with(kEvents)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
        // Some counters count waiting cycles. Caches and shared memory serve polling as well: only
        // what the DMA and the matrix units do is progress.
        bool waits = contains(name, "wait") || contains(name, "stall") || contains(name, "idle");
        std::string counter = without_cluster(name.substr(kEvents.size()));
        bool serves = std::any_of(std::begin(kServers), std::end(kServers), [&](const char* part) {
            return counter.starts_with(part);
        });
        events_.push_back({ports.output(name), !waits, !waits && !serves});
    }
    counted_.resize(events_.size());
}

void ClusterCores::begin(bool starts, uint64_t max_cycles, uint64_t watchdog) {
    Cores::begin(starts, max_cycles, watchdog);
    starts_ = false;
    if (!starts) return;
    console_.clear();
    for (Traffic& traffic : traffic_) traffic.reset();
    for (auto& level : caches_) {
        for (CacheLatency& latency : level) latency.reset();
    }
    std::fill(counted_.begin(), counted_.end(), 0);
    has_begun_ = false;
    cores_end_ = 0;
    idle_cycles_ = 0;
}

void ClusterCores::archive(Archive& archive) {
    Cores::archive(archive);
    archive(regions_, traffic_, counted_, console_);
    archive(has_begun_, cores_end_, idle_cycles_);
    for (auto& level : caches_) {
        for (CacheLatency& latency : level) latency.archive(archive);
    }
}

StopReason ClusterCores::step(const uint32_t* outputs, const Surroundings& surroundings) {
    for (uint32_t core = 0; core < count(); core++) follow(core, outputs);
    for (auto& level : caches_) {
        for (CacheLatency& latency : level) latency.step(now_, outputs);
    }
    bool agrees = step_observers(outputs, outputs);
    Motion motion = monitor(outputs), events = count_events(outputs);
    motion.moved |= surroundings.moved || events.moved;
    motion.progressed |= surroundings.progressed || events.progressed;
    // Reads of DRAM may be those of a warp that polls.
    motion.progressed |= surroundings.moved && !repeats(outputs);
    record(motion);
    has_begun_ |= is_busy();
    if (is_busy()) cores_end_ = now_ + 1;
    StopReason stop = StopReason::kMismatch;
    if (agrees) stop = stop_reason(outputs, surroundings.is_outstanding);
    return count_cycle(stop, outputs);
}

Motion ClusterCores::count_events(const uint32_t* outputs) {
    Motion motion;
    for (size_t k = 0; k < events_.size(); k++) {
        uint32_t times = events_[k].port.get(outputs);
        counted_[k] += times;
        if (times == 0) continue;
        motion.moved |= events_[k].moves;
        motion.progressed |= events_[k].is_progress;
    }
    return motion;
}

void ClusterCores::follow(uint32_t core, const uint32_t* outputs) {
    const CorePorts& ports = cores_[core]->ports;
    Traffic& traffic = traffic_[core];
    if (ports.fetch.valid.get(outputs) && ports.fetch.ready.get(outputs)) {
        traffic.fetches++;
        traffic.pending_fetches++;
    }
    traffic.pending_fetches -= ports.fetch.answer.get(outputs);
    const PlacePorts& dispatched = ports.dispatched[parameters_.memory_port];
    if (dispatched.valid.get(outputs)) {
        traffic.requesters.push_back({dispatched.warp.get(outputs), dispatched.pc.get(outputs)});
    }
    // Responses first: a response frees its tag for a request of the same cycle.
    if (ports.data.answer.get(outputs)) follow_answer(core, outputs);
    if (ports.data.valid.get(outputs) && ports.data.ready.get(outputs)) {
        follow_request(core, outputs);
    }
    if (ports.console.moves(outputs)) {
        console_.push_back(static_cast<char>(ports.console.word.get(outputs)));
    }
}

// Requests are in order of dispatch, those of one instruction with ascending parts.
void ClusterCores::follow_request(uint32_t core, const uint32_t* outputs) {
    const DataPorts& port = cores_[core]->ports.data;
    Traffic& traffic = traffic_[core];
    uint32_t tag = port.tag.get(outputs), mask = port.mask.get(outputs);
    uint32_t slot = tag & ((1u << parameters_.slot_bits) - 1), part = tag >> parameters_.slot_bits;
    bool is_same = traffic.has_requested && slot == traffic.slot && part > traffic.part;
    if (traffic.has_requested && !is_same && !traffic.requesters.empty()) {
        traffic.requesters.pop_front();
    }
    traffic.has_requested = true;
    traffic.slot = slot;
    traffic.part = part;
    (port.is_store.get(outputs) ? traffic.stores : traffic.loads)++;
    if (!port.is_store.get(outputs)) follow_load(core, outputs);
    traffic.pending_lanes += static_cast<uint32_t>(std::popcount(mask));
    uint32_t wrong = 0, address = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
        uint32_t at = outputs[port.address.offset + lane];
        // A load may use less than a word; its size is not known here, so check one byte.
        if (!dram_.contains(at, 1) || regions_.may_touch(at, 1)) continue;
        if (wrong == 0) address = at;
        wrong |= 1u << lane;
    }
    if (wrong == 0 || traffic.requesters.empty()) return;
    const Requester& requester = traffic.requesters.front();
    cores_[core]->monitor.refuse(requester.warp, requester.pc, parameters_.refused,
                                 wrong << part * port.lanes(), address);
}

void ClusterCores::follow_load(uint32_t core, const uint32_t* outputs) {
    const DataPorts& port = cores_[core]->ports.data;
    uint32_t dram = 0, shared = 0;
    for (uint32_t rest = port.mask.get(outputs); rest != 0; rest &= rest - 1) {
        uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
        uint32_t address = outputs[port.address.offset + lane];
        if (dram_.contains(address, 1)) dram |= 1u << lane;
        if (address - parameters_.shared_base < parameters_.shared_bytes) shared |= 1u << lane;
    }
    traffic_[core].latency.request(now_, port.tag.get(outputs), dram, shared);
}

void ClusterCores::follow_answer(uint32_t core, const uint32_t* outputs) {
    const DataPorts& port = cores_[core]->ports.data;
    uint32_t lanes = port.answer_mask.get(outputs);
    traffic_[core].pending_lanes -= static_cast<uint32_t>(std::popcount(lanes));
    traffic_[core].latency.answer(now_, port.answer_tag.get(outputs), lanes);
}

StopReason ClusterCores::stop_reason(const uint32_t* outputs, bool is_outstanding) {
    if (has_fault()) return StopReason::kFault;
    bool units_busy = std::any_of(busy_.begin(), busy_.end(),
                                  [&](const Field& busy) { return busy.get(outputs) != 0; });
    bool is_idle = has_begun_ && !is_busy() && !units_busy && !is_outstanding;
    idle_cycles_ = is_idle ? idle_cycles_ + 1 : 0;
    if (idle_cycles_ >= kQuietCycles) {
        now_ -= kQuietCycles - 1;  // the run ended with the first idle cycle
        return StopReason::kDone;
    }
    bool may_wait_forever = has_begun_ && is_busy() && !units_busy && !is_outstanding;
    if (may_wait_forever && still() >= kBarrierCycles && all_at_barrier(outputs)) {
        return StopReason::kDeadlock;
    }
    return stalled() >= watchdog_ ? StopReason::kHang : StopReason::kNone;
}

CoreState ClusterCores::core_state(uint32_t number) const {
    CoreState state = Cores::core_state(number);
    const Traffic& traffic = traffic_[number];
    state.pending_fetches = traffic.pending_fetches;
    state.pending_requests = traffic.pending_lanes;
    state.fetches = traffic.fetches;
    state.loads = traffic.loads;
    state.stores = traffic.stores;
    return state;
}

}  // namespace spica
