// Context of one instruction under execution: its operands, and how a unit reports a fault.
#pragma once
#include "machine.hpp"

namespace spica {

// Units return whether the instruction was executed; if not, no state has changed.
struct Step {
    Machine& machine;
    Warp& warp;
    const Decoded& code;
    uint32_t next;  // pc of the next instruction

    bool fault(Reason reason, uint32_t lanes, uint32_t first = 0, uint32_t second = 0) {
        machine.fault = {reason, warp.core, warp.number, warp.pc, code.word,
                         lanes,  0,         0,           first,   second};
        return false;
    }
    bool fault_at(Reason reason, uint32_t lanes, uint32_t address, uint32_t first = 0,
                  uint32_t second = 0) {
        fault(reason, lanes, first, second);
        machine.fault.has_address = 1;
        machine.fault.address = address;
        return false;
    }
    Core& core() { return machine.cores[warp.core]; }
    uint32_t cluster() const { return warp.cluster; }
    // Address of the machine for one of the program, and its memory: see `Memory`.
    uint32_t placed(uint32_t address) const { return Memory::placed(address, cluster()); }
    uint8_t* span(uint32_t first, uint32_t last) {
        return machine.memory.span(first, last, cluster());
    }
    const uint8_t* shared(uint32_t address, uint32_t size) const {
        return machine.memory.shared(address, size, cluster());
    }
    bool is_checked(uint32_t address, uint32_t size) {
        return machine.memory.is_checked(address, size, cluster());
    }
    Devices& devices() { return machine.devices[cluster()]; }
};

}  // namespace spica
