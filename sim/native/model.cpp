// Cycle loop around a Verilated model. `binding.hpp` is generated for each top module.
#include <algorithm>
#include <memory>
#include <vector>

#include "binding.hpp"
#include "gating.hpp"
#include "harness.hpp"
#include "recorded_cycles.hpp"
#include "verilated_state.hpp"

#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

struct Model {
    explicit Model(uint64_t seed) : first_random(seed * 2 + 1), random(first_random) {
        context.threads(1);
        context.randReset(2);
        context.randSeed(static_cast<int>(seed + 1));
#if VM_TRACE
        context.traceEverOn(true);
#endif
        top = std::make_unique<Vtop>(&context, "top");
    }

    // Latches the inputs and settles the logic that depends on them.
    void take_inputs() {
        binding::clocks(*top, {}, true);
        settle(false);
    }

    void clock(const binding::Domains& clocks) {
        binding::clocks(*top, clocks, false);
        settle(clocks.any());
    }

    void settle(bool clocked) {
        top->eval();
#if VM_TRACE
        if (trace && recorded.contains(cycle)) trace->dump(2 * cycle + clocked);
#endif
    }

    binding::Domains choose(int gating) {
        return spica::chosen(gating, binding::busy(*top), binding::kDomains, random);
    }

    void archive(spica::Archive& archive) {
        archive(inputs, outputs, random, cycle, clocked);
        spica::archive_verilated(archive, *top);
    }

    VerilatedContext context;
    std::unique_ptr<Vtop> top;
    uint32_t inputs[binding::kInputWords + 1] = {};
    uint32_t outputs[binding::kOutputWords + 1] = {};
    const uint64_t first_random;
    uint64_t random, cycle = 0;
    uint64_t clocked[binding::kDomains + 1] = {};
    std::vector<uint8_t> saved;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> trace;
    spica::RecordedCycles recorded;
#endif
};

}  // namespace

extern "C" {

// A single model needs no plan.
Model* model_create(uint64_t seed, const char*) { return new Model(seed); }

void model_destroy(Model* model) { delete model; }

void model_reset(Model* model, uint32_t cycles) {
    for (uint32_t word = 0; word < binding::kInputWords; word++) model->inputs[word] = 0;
    binding::drive(*model->top, model->inputs);
    binding::resets(*model->top, 1);
    for (uint32_t k = 0; k < cycles; k++) {
        model->take_inputs();
        model->clock(binding::Domains().set());
    }
    binding::resets(*model->top, 0);
    model->random = model->first_random;
}

void model_run(Model* model, spica::Harness* harness, uint64_t cycles, int gating) {
    for (uint64_t k = 0; k < cycles && !harness->stopped(); k++) {
        model->cycle = harness->cycle();
        binding::drive(*model->top, model->inputs);
        model->take_inputs();
        binding::sample(*model->top, model->outputs);
        binding::Domains clocks = model->choose(gating);
        for (int domain = 0; domain < binding::kDomains; domain++) {
            model->clocked[domain] += clocks[domain];
        }
        model->clock(clocks);
        harness->step(model->outputs, model->inputs);
    }
}

// Drives each of `count` rows for `interval` cycles, clocking the listed domains. The results of a
// row are sampled before the clock edge, `latency` cycles after it was first driven. Rows hold the
// first words of all inputs or outputs; the other inputs are 0. The input word `start`, if not
// negative, is driven only in the first cycle of each row and is 0 in the others.
void model_vectors(Model* model, uint64_t count, uint32_t interval, uint32_t latency, int start,
                   const uint32_t* domains, uint32_t domain_count, const uint32_t* inputs,
                   uint32_t input_columns, uint32_t* outputs, uint32_t output_columns) {
    std::vector<uint8_t*> clocks;
    for (uint32_t k = 0; k < domain_count; k++) {
        clocks.push_back(binding::clock(*model->top, domains[k]));
    }
    binding::clocks(*model->top, {}, false);
    std::fill_n(model->inputs, binding::kInputWords, 0);
    uint64_t sampled = 0;
    for (uint64_t row = 0, phase = 0, now = 0; sampled < count; now++, model->cycle++) {
        if (row < count) {
            if (phase == 0) {
                std::copy_n(inputs + row * input_columns, input_columns, model->inputs);
            } else if (start >= 0) {
                model->inputs[start] = 0;
            }
            if (phase <= 1) binding::drive(*model->top, model->inputs);
            if (++phase == interval) phase = 0, row++;
        } else if (start >= 0 && phase == 0) {
            model->inputs[start] = 0;
            binding::drive(*model->top, model->inputs);
            phase = 1;
        }
        for (uint8_t* clock : clocks) *clock = 0;
        binding::drive_clock(*model->top) = 1;
        model->settle(false);
        if (now == latency + sampled * interval) {
            binding::sample(*model->top, model->outputs);
            std::copy_n(model->outputs, output_columns, outputs + sampled++ * output_columns);
        }
        for (uint8_t* clock : clocks) *clock = 1;
        binding::drive_clock(*model->top) = 0;
        model->settle(true);
    }
}

// Saves the state of a model and its harness.
spica::Bytes model_save(Model* model, spica::Harness* harness) {
    model->saved.clear();
    spica::Archive archive(model->saved);
    archive(*model, *harness);
    return {model->saved.data(), model->saved.size()};
}

// Restores a state; returns whether the bytes fit this model and harness.
int model_restore(Model* model, spica::Harness* harness, const uint8_t* bytes, uint64_t size) {
    spica::Archive archive(bytes, size);
    archive(*model, *harness);
    return archive.is_whole();
}

void model_outputs(const Model* model, uint32_t* outputs) {
    for (uint32_t k = 0; k < binding::kOutputWords; k++) outputs[k] = model->outputs[k];
}

void model_clocked(const Model* model, uint64_t* cycles) {
    for (int domain = 0; domain < binding::kDomains; domain++) {
        cycles[domain] = model->clocked[domain];
    }
}

// Writes a waveform of the cycles of `count` windows, `bounds` being start and stop of each, in
// ascending order. Returns 0 if the model was built without tracing.
int model_trace(Model* model, const char* path, const uint64_t* bounds, uint64_t count) {
#if VM_TRACE
    model->trace = std::make_unique<VerilatedVcdC>();
    model->top->trace(model->trace.get(), 99);
    model->trace->open(path);
    model->recorded.assign(bounds, count);
    return model->trace->isOpen();
#else
    (void)model, (void)path, (void)bounds, (void)count;
    return 0;
#endif
}

void model_trace_close(Model* model) {
#if VM_TRACE
    if (model->trace) model->trace->close();
    model->trace.reset();
#else
    (void)model;
#endif
}

}  // extern "C"
