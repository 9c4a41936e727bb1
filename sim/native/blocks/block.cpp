// Verilated block as a library. `block_ports.hpp` is generated for each block.
#include "block.hpp"

#include <memory>
#include <vector>

#include "block_ports.hpp"
#include "verilated_state.hpp"

#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

// Evaluation without the locks around it in `Vtop::eval`: a block runs in one thread and prints
// nothing.
void Vtop___024root___eval(Vtop___024root* root);

namespace {

struct Block {
    explicit Block(uint64_t seed) {
        context.threads(1);
        context.randReset(2);
        context.randSeed(static_cast<int>(seed + 1));
#if VM_TRACE
        context.traceEverOn(true);
#endif
        top = std::make_unique<Vtop>(&context, "top");
        ports = block_ports(*top);
        top->eval();
    }

    VerilatedContext context;
    std::unique_ptr<Vtop> top;
    std::vector<spica::BlockPort> ports;
    std::vector<uint8_t> saved;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> waveform;
#endif
};

void* create(uint64_t seed) { return new Block(seed); }

void destroy(void* block) {
    auto* self = static_cast<Block*>(block);
#if VM_TRACE
    if (self->waveform) self->waveform->close();
#endif
    delete self;
}

const spica::BlockPort* ports(void* block, uint32_t* count) {
    auto* self = static_cast<Block*>(block);
    *count = static_cast<uint32_t>(self->ports.size());
    return self->ports.data();
}

void evaluate(void* block) {
#if VM_TRACE
    static_cast<Block*>(block)->top->eval();  // also records that values may have changed
#else
    Vtop___024root___eval(static_cast<Block*>(block)->top->rootp);
#endif
}

uint64_t save(void* block, const uint8_t** bytes) {
    auto* self = static_cast<Block*>(block);
    self->saved.clear();
    spica::Archive archive(self->saved);
    spica::archive_verilated(archive, *self->top);
    *bytes = self->saved.data();
    return self->saved.size();
}

int restore(void* block, const uint8_t* bytes, uint64_t size) {
    spica::Archive archive(bytes, size);
    spica::archive_verilated(archive, *static_cast<Block*>(block)->top);
    return archive.is_whole();
}

int trace(void* block, const char* path) {
#if VM_TRACE
    auto* self = static_cast<Block*>(block);
    self->waveform = std::make_unique<VerilatedVcdC>();
    self->top->trace(self->waveform.get(), 99);
    self->waveform->open(path);
    return self->waveform->isOpen();
#else
    (void)block, (void)path;
    return 0;
#endif
}

void dump(void* block, uint64_t time) {
#if VM_TRACE
    auto* self = static_cast<Block*>(block);
    if (self->waveform) self->waveform->dump(time);
#else
    (void)block, (void)time;
#endif
}

const spica::BlockFunctions kFunctions = {create, destroy, ports,   evaluate,
                                          save,   restore, trace, dump};

}  // namespace

extern "C" const spica::BlockFunctions* block_functions() { return &kFunctions; }
