// The cycle loop around a Verilated model. `binding.hpp` is generated for each top module.
#include <memory>

#include "binding.hpp"
#include "harness.hpp"

#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

enum Gating { kUngated, kGated, kRandom };

struct Model {
    explicit Model(uint64_t seed) : random(seed * 2 + 1) {
        context.threads(1);
        context.randReset(2);
        context.randSeed(static_cast<int>(seed + 1));
#if VM_TRACE
        context.traceEverOn(true);
#endif
        top = std::make_unique<Vtop>(&context, "top");
    }

    void evaluate(uint32_t clocks) {
        binding::clocks(*top, clocks);
        top->eval();
#if VM_TRACE
        if (trace && cycle >= trace_start && cycle < trace_stop) {
            trace->dump(2 * cycle + (clocks != 0));
        }
#endif
    }

    uint32_t choose(int gating) {
        uint32_t busy = binding::busy(*top);
        if (gating == kUngated) return binding::kAllClocks;
        if (gating == kGated) return busy;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return busy | (static_cast<uint32_t>(random >> 20) & binding::kAllClocks);
    }

    VerilatedContext context;
    std::unique_ptr<Vtop> top;
    uint32_t inputs[binding::kInputWords + 1] = {};
    uint32_t outputs[binding::kOutputWords + 1] = {};
    uint64_t random, cycle = 0;
    uint64_t clocked[32] = {};
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> trace;
    uint64_t trace_start = 0, trace_stop = 0;
#endif
};

}  // namespace

extern "C" {

Model* model_create(uint64_t seed) { return new Model(seed); }

void model_destroy(Model* model) { delete model; }

void model_reset(Model* model, uint32_t cycles) {
    for (uint32_t word = 0; word < binding::kInputWords; word++) model->inputs[word] = 0;
    binding::drive(*model->top, model->inputs);
    binding::resets(*model->top, 1);
    for (uint32_t k = 0; k < cycles; k++) {
        model->evaluate(0);
        model->evaluate(binding::kAllClocks);
    }
    binding::resets(*model->top, 0);
}

void model_run(Model* model, spica::Harness* harness, uint64_t cycles, int gating) {
    for (uint64_t k = 0; k < cycles && !harness->stopped(); k++) {
        model->cycle = harness->cycle();
        binding::drive(*model->top, model->inputs);
        model->evaluate(0);
        binding::sample(*model->top, model->outputs);
        uint32_t clocks = model->choose(gating);
        for (int domain = 0; domain < binding::kDomains; domain++) {
            model->clocked[domain] += clocks >> domain & 1;
        }
        model->evaluate(clocks);
        harness->step(model->outputs, model->inputs);
    }
}

// One row of `inputs` per cycle; `outputs` are sampled before the clock edge of that cycle.
void model_vectors(Model* model, uint64_t count, const uint32_t* inputs, uint32_t* outputs) {
    for (uint64_t k = 0; k < count; k++, model->cycle++) {
        binding::drive(*model->top, inputs + k * binding::kInputWords);
        model->evaluate(0);
        binding::sample(*model->top, outputs + k * binding::kOutputWords);
        model->evaluate(binding::kAllClocks);
    }
}

void model_outputs(const Model* model, uint32_t* outputs) {
    for (uint32_t k = 0; k < binding::kOutputWords; k++) outputs[k] = model->outputs[k];
}

void model_clocked(const Model* model, uint64_t* cycles) {
    for (int domain = 0; domain < binding::kDomains; domain++) {
        cycles[domain] = model->clocked[domain];
    }
}

// Write a waveform of cycles start..stop-1. Returns 0 where the model was built without.
int model_trace(Model* model, const char* path, uint64_t start, uint64_t stop) {
#if VM_TRACE
    model->trace = std::make_unique<VerilatedVcdC>();
    model->top->trace(model->trace.get(), 99);
    model->trace->open(path);
    model->trace_start = start;
    model->trace_stop = stop;
    return model->trace->isOpen();
#else
    (void)model, (void)path, (void)start, (void)stop;
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
