// C ABI of the cores in a harness.
#include <algorithm>

#include "harness.hpp"

using spica::Harness;

extern "C" {

void harness_cores(Harness* harness, const spica::CoreMemoryParameters* parameters) {
    harness->add_cores(*parameters);
}

void harness_cluster(Harness* harness, const spica::ClusterCoresParameters* parameters) {
    harness->add_cluster(*parameters);
}

void harness_prepare(Harness* harness, const uint32_t* commands, uint64_t count) {
    harness->prepare(reinterpret_cast<const spica::Host::Command*>(commands), count);
}

void harness_renew(Harness* harness) { harness->renew(); }

void harness_cores_begin(Harness* harness, int starts, uint64_t max_cycles, uint64_t watchdog) {
    harness->begin_cores(starts != 0, max_cycles, watchdog);
}

void harness_remove_observers(Harness* harness) { harness->remove_observers(); }

spica::CoresState harness_cores_state(const Harness* harness) { return harness->cores->state(); }

spica::CoreState harness_core_state(const Harness* harness, uint32_t core) {
    return harness->cores->core_state(core);
}

spica::CoreMarks harness_cores_marks(const Harness* harness, uint32_t core) {
    return harness->cores->marks(core);
}

uint64_t harness_cluster_cores_end(const Harness* harness) { return harness->cluster->cores_end(); }

spica::LoadCounts harness_cluster_latency(const Harness* harness, uint32_t core, uint32_t place) {
    return harness->cluster->latency(core).counts(place);
}

spica::LoadCounts harness_cluster_cache_latency(const Harness* harness, uint32_t level,
                                                uint32_t number) {
    return harness->cluster->cache_latency(level, number).counts();
}

// Sums of the ports ``events_{counter}``, in order of their names.
void harness_cluster_events(const Harness* harness, uint64_t* sums) {
    const auto& counted = harness->cluster->counted();
    std::copy(counted.begin(), counted.end(), sums);
}

spica::Bytes harness_console(const Harness* harness) {
    return {harness->cores->console().data(), harness->cores->console().size()};
}

void harness_allow(Harness* harness, uint64_t first, uint64_t last) {
    harness->cores->allow(first, last);
}

int harness_cores_read(const Harness* harness, uint64_t address, uint8_t* data, uint64_t size) {
    return harness->lone->image.read(address, data, size);
}

int harness_cores_write(Harness* harness, uint64_t address, const uint8_t* data, uint64_t size) {
    return harness->lone->image.write(address, data, size);
}

}  // extern "C"
