// One instruction on its way: what every unit works on, and how it says that something is wrong.
#pragma once
#include "machine.hpp"

namespace spica {

// Units return whether the instruction was executed; if not, nothing has changed.
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
    bool fault_at(Reason reason, uint32_t lanes, uint32_t address, uint32_t first = 0) {
        fault(reason, lanes, first);
        machine.fault.has_address = 1;
        machine.fault.address = address;
        return false;
    }
    Core& core() { return machine.cores[warp.core]; }
};

}  // namespace spica
