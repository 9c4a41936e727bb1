// Verilated block as a library. `block_ports.hpp` is generated for each block.
#include "block.hpp"

#include <memory>
#include <vector>

#include "block_ports.hpp"
#include "verilated_state.hpp"

// Evaluation without the locks around it in `Vtop::eval`: a block runs in one thread and prints
// nothing.
void Vtop___024root___eval(Vtop___024root* root);

namespace {

struct Block {
    explicit Block(uint64_t seed) {
        context.threads(1);
        context.randReset(2);
        context.randSeed(static_cast<int>(seed + 1));
        top = std::make_unique<Vtop>(&context, "top");
        ports = block_ports(*top);
        top->eval();
    }

    VerilatedContext context;
    std::unique_ptr<Vtop> top;
    std::vector<spica::BlockPort> ports;
    std::vector<uint8_t> saved;
};

void* create(uint64_t seed) { return new Block(seed); }

void destroy(void* block) { delete static_cast<Block*>(block); }

const spica::BlockPort* ports(void* block, uint32_t* count) {
    auto* self = static_cast<Block*>(block);
    *count = static_cast<uint32_t>(self->ports.size());
    return self->ports.data();
}

void evaluate(void* block) { Vtop___024root___eval(static_cast<Block*>(block)->top->rootp); }

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

const spica::BlockFunctions kFunctions = {create, destroy, ports, evaluate, save, restore};

}  // namespace

extern "C" const spica::BlockFunctions* block_functions() { return &kFunctions; }
