// The C ABI of the cores in a harness.
#include <algorithm>

#include "harness.hpp"

using spica::Harness;

extern "C" {

void harness_cores(Harness* harness, const spica::CoreMemoryParameters* parameters) {
    harness->add_cores(*parameters);
}

void harness_cores_begin(Harness* harness, int starts, uint64_t max_cycles, uint64_t watchdog) {
    harness->begin_cores(starts != 0, max_cycles, watchdog);
}

void harness_forget_observers(Harness* harness) { harness->cores->forget_observers(); }

void harness_cores_state(const Harness* harness, spica::CoresState* state) {
    *state = harness->cores->state();
}

void harness_core_state(const Harness* harness, uint32_t core, spica::CoreState* state) {
    *state = harness->cores->core_state(core);
}

uint64_t harness_console(const Harness* harness, const char** text) {
    *text = harness->cores->image.console.data();
    return harness->cores->image.console.size();
}

void harness_allow(Harness* harness, uint64_t first, uint64_t last) {
    harness->cores->image.allow(first, last);
}

int harness_cores_read(const Harness* harness, uint64_t address, uint8_t* data, uint64_t size) {
    return harness->cores->image.read(address, data, size);
}

int harness_cores_write(Harness* harness, uint64_t address, const uint8_t* data, uint64_t size) {
    return harness->cores->image.write(address, data, size);
}

}  // extern "C"
