// Control and status registers.
#pragma once
#include "instructions/access.hpp"
#include "instructions/lanes.hpp"

namespace spica {

inline constexpr uint32_t kIsa = 1u << 30 | 1u << 5 | 1u << 8 | 1u << 12;  // 32 bits, F, I, M

// Reads a CSR for one lane; returns false if the number does not exist.
inline bool read_csr(Step& step, uint32_t number, uint32_t lane, uint32_t& value) {
    const Config& config = step.machine.config;
    const Warp& warp = step.warp;
    Core& core = step.core();
    value = 0;
    switch (static_cast<Csr>(number)) {
        case Csr::Fflags: value = warp.fflags; return true;
        case Csr::Frm: value = warp.frm; return true;
        case Csr::Fcsr: value = warp.frm << 5 | warp.fflags; return true;
        case Csr::Mscratch: value = warp.mscratch; return true;
        case Csr::Mepc: value = warp.mepc; return true;
        case Csr::Misa: value = kIsa; return true;
        // The model has no clock: a cycle is an instruction of the core.
        case Csr::Mcycle:
        case Csr::Minstret: value = static_cast<uint32_t>(core.instructions); return true;
        case Csr::Mcycleh:
        case Csr::Minstreth: value = static_cast<uint32_t>(core.instructions >> 32); return true;
        case Csr::ThreadId: value = lane; return true;
        case Csr::WarpId: value = warp.number; return true;
        case Csr::CoreId: value = warp.core % cluster_cores(config); return true;
        case Csr::WarpMask: value = core.active; return true;
        case Csr::ThreadMask: value = warp.mask(); return true;
        case Csr::Mhartid:
            value = warp.core << (config.warp_width + config.thread_width) |
                    warp.number << config.thread_width | lane;
            return true;
        case Csr::NumThreads: value = config.threads; return true;
        case Csr::NumWarps: value = config.warps; return true;
        case Csr::NumCores: value = cluster_cores(config); return true;
        case Csr::LocalMemBase: value = SHARED_BASE; return true;
        case Csr::ClusterId: value = step.cluster(); return true;
        case Csr::NumClusters: value = config.clusters; return true;
        case Csr::Arguments: value = step.machine.launches[step.cluster()].arguments; return true;
        case Csr::Satp:
        case Csr::Mstatus:
        case Csr::Medeleg:
        case Csr::Mideleg:
        case Csr::Mie:
        case Csr::Mtvec:
        case Csr::Pmpcfg0:
        case Csr::Pmpaddr0:
        case Csr::Mnstatus:
        case Csr::AccelCisc:
        case Csr::Mvendorid:
        case Csr::Marchid:
        case Csr::Mimpid: return true;
    }
    return is_counter(number);
}

// Writes a writable CSR; returns false on a fault of a unit.
inline bool write_csr(Step& step, uint32_t number, uint32_t value) {
    Warp& warp = step.warp;
    if (number == static_cast<uint32_t>(Csr::Fflags)) warp.fflags = value & 0x1F;
    if (number == static_cast<uint32_t>(Csr::Frm)) warp.frm = value & 7;
    if (number == static_cast<uint32_t>(Csr::Mscratch)) warp.mscratch = value;
    if (number == static_cast<uint32_t>(Csr::Mepc)) warp.mepc = value & ~3u;
    if (number == static_cast<uint32_t>(Csr::Fcsr)) {
        warp.fflags = value & 0x1F;
        warp.frm = value >> 5 & 7;
    }
    if (number == static_cast<uint32_t>(Csr::AccelCisc)) {
        step.machine.sent.add({value, warp.core, warp.number, warp.pc});
        if (!step.devices().cisc(value)) {
            return step.fault(Reason::Device, 1u << warp.last_lane());
        }
        step.machine.wake(warp.cluster);
    }
    return true;
}

enum class CsrWrite { Replace, Set, Clear };

// rd = CSR; CSR = combination of its value and `operand` according to `how`.
inline bool access_csr(Step& step, CsrWrite how, uint32_t operand, bool writes) {
    Warp& warp = step.warp;
    uint32_t number = step.code.immediate, values[kMaxThreads];
    bool exists = true;
    for_lanes(warp.mask(), [&](uint32_t lane) {
        exists &= read_csr(step, number, lane, values[lane]);
    });
    if (!exists) return step.fault(Reason::UnknownCsr, warp.mask(), number);
    if (writes) {
        if (!is_writable(number)) return step.fault(Reason::ReadOnlyCsr, warp.mask(), number);
        uint32_t old = values[warp.last_lane()];
        uint32_t value = how == CsrWrite::Replace ? operand
                         : how == CsrWrite::Set   ? old | operand
                                                  : old & ~operand;
        if (!write_csr(step, number, value)) return false;
    }
    uint32_t* destination = warp.row(step.code.d);
    for_lanes(warp.mask(), [&](uint32_t lane) { destination[lane] = values[lane]; });
    return true;
}

inline bool csr_register(Step& step, CsrWrite how) {
    // With x0 as the operand nothing is written, except by a replacement.
    bool writes = how == CsrWrite::Replace || step.code.a != 0;
    return access_csr(step, how, step.warp.scalar(step.code.a), writes);
}

inline bool csr_immediate(Step& step, CsrWrite how) {
    bool writes = how == CsrWrite::Replace || step.code.zimm != 0;
    return access_csr(step, how, step.code.zimm, writes);
}

}  // namespace spica
