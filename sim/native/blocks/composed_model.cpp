// Cycle loop around a composition of Verilated blocks.
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "../gating.hpp"
#include "../harness.hpp"
#include "../recorded_cycles.hpp"
#include "composition.hpp"

namespace {

struct Model {
    Model(const char* plan, uint64_t seed)
        : design(plan, seed), first_random(seed * 2 + 1), random(first_random) {
        inputs.assign(design.input_words() + 1, 0);
        outputs.assign(design.output_words() + 1, 0);
        clocked.assign(design.domains() + 1, 0);
    }

    void archive(spica::Archive& archive) {
        archive(inputs, outputs, random, cycle, clocked);
        design.archive(archive);
    }

    spica::Composition design;
    spica::RecordedCycles recorded;
    std::vector<uint32_t> inputs, outputs;
    const uint64_t first_random;
    uint64_t random, cycle = 0;
    std::vector<uint64_t> clocked;
    std::vector<uint8_t> saved;
};

std::string error;

}  // namespace

extern "C" {

// Returns null if a library of the plan cannot be loaded; `model_error` has the reason.
Model* model_create(uint64_t seed, const char* plan) {
    try {
        return new Model(plan, seed);
    } catch (const std::exception& reason) {
        error = reason.what();
        return nullptr;
    }
}

const char* model_error() { return error.c_str(); }

void model_destroy(Model* model) { delete model; }

void model_reset(Model* model, uint32_t cycles) {
    std::fill(model->inputs.begin(), model->inputs.end(), 0);
    model->design.reset(true);
    for (uint32_t k = 0; k < cycles; k++) {
        model->design.settle(model->inputs.data(), model->outputs.data());
        model->design.clock(~spica::Domains());
    }
    model->design.reset(false);
    model->random = model->first_random;
}

void model_run(Model* model, spica::Harness* harness, uint64_t cycles, int gating) {
    uint32_t domains = model->design.domains();
    for (uint64_t k = 0; k < cycles && !harness->stopped(); k++) {
        model->cycle = harness->cycle();
        model->design.settle(model->inputs.data(), model->outputs.data());
        bool is_recorded = model->recorded.contains(model->cycle);
        if (is_recorded) model->design.dump(2 * model->cycle, false);
        spica::Domains clocks =
            spica::chosen(gating, model->design.busy(), domains, model->random);
        for (uint32_t domain = 0; domain < domains; domain++) {
            model->clocked[domain] += clocks[domain];
        }
        model->design.clock(clocks);
        if (is_recorded) model->design.dump(2 * model->cycle + 1, true);
        harness->step(model->outputs.data(), model->inputs.data());
    }
}

spica::Bytes model_save(Model* model, spica::Harness* harness) {
    model->saved.clear();
    spica::Archive archive(model->saved);
    archive(*model, *harness);
    return {model->saved.data(), model->saved.size()};
}

int model_restore(Model* model, spica::Harness* harness, const uint8_t* bytes, uint64_t size) {
    spica::Archive archive(bytes, size);
    archive(*model, *harness);
    return archive.is_whole();
}

void model_outputs(const Model* model, uint32_t* outputs) {
    std::copy_n(model->outputs.data(), model->design.output_words(), outputs);
}

void model_clocked(const Model* model, uint64_t* cycles) {
    std::copy_n(model->clocked.data(), model->design.domains(), cycles);
}

// Writes a waveform of each block to a folder, of the cycles of `count` windows, `bounds` being
// start and stop of each, in ascending order. Returns 0 if a block was built without tracing or a
// file cannot be written.
int model_trace(Model* model, const char* folder, const uint64_t* bounds, uint64_t count) {
    model->recorded.assign(bounds, count);
    return model->design.trace(folder);
}

// Waveforms are closed with their blocks.
void model_trace_close(Model*) {}

}  // extern "C"
