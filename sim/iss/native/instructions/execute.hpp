// Semantics of all instructions, one line each. The switch has no default, so that the compiler
// reports an instruction of the table without a case.
#pragma once
#include "instructions/access.hpp"
#include "instructions/atomic.hpp"
#include "instructions/barrier.hpp"
#include "instructions/branch.hpp"
#include "instructions/control.hpp"
#include "instructions/csr.hpp"
#include "instructions/exchange.hpp"
#include "instructions/floating.hpp"
#include "instructions/integer.hpp"
#include "instructions/styles/registry.hpp"

namespace spica {

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

inline bool execute(Step& s) {
    using U = uint32_t;
    using R = Rounding;
    const U i = s.code.immediate;
    switch (s.code.op) {
        case Op::Undecoded: return false;

        case Op::Add: return map2(s, [](U a, U b) { return a + b; });
        case Op::Sub: return map2(s, [](U a, U b) { return a - b; });
        case Op::Sll: return map2(s, [](U a, U b) { return a << (b & 31); });
        case Op::Srl: return map2(s, [](U a, U b) { return a >> (b & 31); });
        case Op::Sra: return map2(s, [](U a, U b) { return U(as_signed(a) >> (b & 31)); });
        case Op::Slt: return map2(s, [](U a, U b) { return U(as_signed(a) < as_signed(b)); });
        case Op::Sltu: return map2(s, [](U a, U b) { return U(a < b); });
        case Op::Xor: return map2(s, [](U a, U b) { return a ^ b; });
        case Op::Or: return map2(s, [](U a, U b) { return a | b; });
        case Op::And: return map2(s, [](U a, U b) { return a & b; });
        case Op::Addi: return map1(s, [=](U a) { return a + i; });
        case Op::Slti: return map1(s, [=](U a) { return U(as_signed(a) < as_signed(i)); });
        case Op::Sltiu: return map1(s, [=](U a) { return U(a < i); });
        case Op::Xori: return map1(s, [=](U a) { return a ^ i; });
        case Op::Ori: return map1(s, [=](U a) { return a | i; });
        case Op::Andi: return map1(s, [=](U a) { return a & i; });
        case Op::Slli: return map1(s, [=](U a) { return a << i; });
        case Op::Srli: return map1(s, [=](U a) { return a >> i; });
        case Op::Srai: return map1(s, [=](U a) { return U(as_signed(a) >> i); });
        case Op::Lui: return fill(s, i << 12);
        case Op::Auipc: return fill(s, s.warp.pc + (i << 12));
        case Op::Mul: return map2(s, [](U a, U b) { return a * b; });
        case Op::Mulh: return map2(s, high_signed);
        case Op::Mulhsu: return map2(s, high_mixed);
        case Op::Mulhu: return map2(s, high_unsigned);
        case Op::Div: return map2(s, divide_signed);
        case Op::Divu: return map2(s, divide_unsigned);
        case Op::Rem: return map2(s, remainder_signed);
        case Op::Remu: return map2(s, remainder_unsigned);

        case Op::Beq: return branch(s, [](U a, U b) { return a == b; });
        case Op::Bne: return branch(s, [](U a, U b) { return a != b; });
        case Op::Blt: return branch(s, [](U a, U b) { return as_signed(a) < as_signed(b); });
        case Op::Bge: return branch(s, [](U a, U b) { return as_signed(a) >= as_signed(b); });
        case Op::Bltu: return branch(s, [](U a, U b) { return a < b; });
        case Op::Bgeu: return branch(s, [](U a, U b) { return a >= b; });
        case Op::Jal: return jump_and_link(s);
        case Op::Jalr: return jump_to_register(s);

        // Stores are visible immediately to loads and to instruction fetch.
        case Op::Pause: return true;
        case Op::Fence: return true;
        case Op::FenceI: return true;
        case Op::Ecall: return end_of_core(s);
        case Op::Ebreak: return end_of_core(s);
        case Op::Mret: return jump_to_mepc(s);

        case Op::Lb: return load_lanes<int8_t>(s);
        case Op::Lh: return load_lanes<int16_t>(s);
        case Op::Lw: return load_lanes<uint32_t>(s);
        case Op::Lbu: return load_lanes<uint8_t>(s);
        case Op::Lhu: return load_lanes<uint16_t>(s);
        case Op::Flw: return load_lanes<uint32_t>(s);
        case Op::Sb: return store_lanes<uint8_t>(s);
        case Op::Sh: return store_lanes<uint16_t>(s);
        case Op::Sw: return store_lanes<uint32_t>(s);
        case Op::Fsw: return store_lanes<uint32_t>(s);

        case Op::LrW: return load_reserved_lanes(s);
        case Op::ScW: return store_conditional_lanes(s);
        case Op::AmoaddB: return update_lanes<int8_t>(s, kAdd);
        case Op::AmoswapB: return update_lanes<int8_t>(s, kSwap);
        case Op::AmoxorB: return update_lanes<int8_t>(s, kXor);
        case Op::AmoorB: return update_lanes<int8_t>(s, kOr);
        case Op::AmoandB: return update_lanes<int8_t>(s, kAnd);
        case Op::AmominB: return update_lanes<int8_t>(s, kMin);
        case Op::AmomaxB: return update_lanes<int8_t>(s, kMax);
        case Op::AmominuB: return update_lanes<int8_t>(s, kMinu);
        case Op::AmomaxuB: return update_lanes<int8_t>(s, kMaxu);
        case Op::AmocasB: return compare_and_swap_lanes<int8_t>(s);
        case Op::LbAq: return load_acquire_lanes<int8_t>(s);
        case Op::SbRl: return store_release_lanes<int8_t>(s);
        case Op::AmoaddH: return update_lanes<int16_t>(s, kAdd);
        case Op::AmoswapH: return update_lanes<int16_t>(s, kSwap);
        case Op::AmoxorH: return update_lanes<int16_t>(s, kXor);
        case Op::AmoorH: return update_lanes<int16_t>(s, kOr);
        case Op::AmoandH: return update_lanes<int16_t>(s, kAnd);
        case Op::AmominH: return update_lanes<int16_t>(s, kMin);
        case Op::AmomaxH: return update_lanes<int16_t>(s, kMax);
        case Op::AmominuH: return update_lanes<int16_t>(s, kMinu);
        case Op::AmomaxuH: return update_lanes<int16_t>(s, kMaxu);
        case Op::AmocasH: return compare_and_swap_lanes<int16_t>(s);
        case Op::LhAq: return load_acquire_lanes<int16_t>(s);
        case Op::ShRl: return store_release_lanes<int16_t>(s);
        case Op::AmoaddW: return update_lanes<int32_t>(s, kAdd);
        case Op::AmoswapW: return update_lanes<int32_t>(s, kSwap);
        case Op::AmoxorW: return update_lanes<int32_t>(s, kXor);
        case Op::AmoorW: return update_lanes<int32_t>(s, kOr);
        case Op::AmoandW: return update_lanes<int32_t>(s, kAnd);
        case Op::AmominW: return update_lanes<int32_t>(s, kMin);
        case Op::AmomaxW: return update_lanes<int32_t>(s, kMax);
        case Op::AmominuW: return update_lanes<int32_t>(s, kMinu);
        case Op::AmomaxuW: return update_lanes<int32_t>(s, kMaxu);
        case Op::AmocasW: return compare_and_swap_lanes<int32_t>(s);
        case Op::LwAq: return load_acquire_lanes<int32_t>(s);
        case Op::SwRl: return store_release_lanes<int32_t>(s);

        case Op::MbarrierInit: return barrier_lanes(s);
        case Op::MbarrierInval: return barrier_lanes(s);
        case Op::MbarrierArrive: return barrier_lanes(s);
        case Op::MbarrierArriveDrop: return barrier_lanes(s);
        case Op::MbarrierArriveExpectTx: return barrier_lanes(s);
        case Op::MbarrierArriveDropExpectTx: return barrier_lanes(s);
        case Op::MbarrierExpectTx: return barrier_lanes(s);
        case Op::MbarrierCompleteTx: return barrier_lanes(s);
        case Op::MbarrierTestWaitParity: return barrier_lanes(s);
        // The model has no cycles: the time limit of its wait is 0.
        case Op::MbarrierTryWaitParity: return barrier_lanes(s);
        case Op::MbarrierWaitParity: return await_phases(s);

        case Op::Csrrw: return csr_register(s, CsrWrite::Replace);
        case Op::Csrrs: return csr_register(s, CsrWrite::Set);
        case Op::Csrrc: return csr_register(s, CsrWrite::Clear);
        case Op::Csrrwi: return csr_immediate(s, CsrWrite::Replace);
        case Op::Csrrsi: return csr_immediate(s, CsrWrite::Set);
        case Op::Csrrci: return csr_immediate(s, CsrWrite::Clear);

        case Op::FmaddS: return rounded_lanes<MultiplyAdd<>>(s);
        case Op::FmsubS: return rounded_lanes<MultiplyAdd<0, kSign>>(s);
        case Op::FnmsubS: return rounded_lanes<MultiplyAdd<kSign, 0>>(s);
        case Op::FnmaddS: return rounded_lanes<MultiplyAdd<kSign, kSign>>(s);
        case Op::FaddS: return rounded_lanes<Add<>>(s);
        case Op::FsubS: return rounded_lanes<Add<kSign>>(s);
        case Op::FmulS: return rounded_lanes<Multiply>(s);
        case Op::FdivS: return rounded_lanes<Divide>(s);
        case Op::FsqrtS: return rounded_lanes<SquareRoot>(s);
        case Op::FcvtWS:
            return rounded_map(s, [](U a, U, U, R r, U& f) { return to_int32(a, true, r, f); });
        case Op::FcvtWuS:
            return rounded_map(s, [](U a, U, U, R r, U& f) { return to_int32(a, false, r, f); });
        case Op::FcvtSW:
            return rounded_map(s, [](U a, U, U, R r, U& f) { return from_int32(a, true, r, f); });
        case Op::FcvtSWu:
            return rounded_map(s, [](U a, U, U, R r, U& f) { return from_int32(a, false, r, f); });

        case Op::FcvtHS:
            return rounded_map(s, [](U a, U, U, R r, U& f) { return boxed16<kFp16>(a, r, f); });
        case Op::FcvtBf16S:
            return rounded_map(s, [](U a, U, U, R r, U& f) { return boxed16<kBf16>(a, r, f); });
        case Op::FpackHS:
            return rounded_map(s, [](U a, U b, U, R r, U& f) { return packed16<kFp16>(a, b, r, f); });
        case Op::FpackBf16S:
            return rounded_map(s, [](U a, U b, U, R r, U& f) { return packed16<kBf16>(a, b, r, f); });
        case Op::FcvtSH:
            return rounded_map(s, [](U a, U, U, R, U& f) { return unboxed16<kFp16>(a, f); });
        case Op::FcvtSBf16:
            return rounded_map(s, [](U a, U, U, R, U& f) { return unboxed16<kBf16>(a, f); });
        case Op::FunpacklSH:
            return float_map(s, [](U a, U, U, U& f) { return widen16<kFp16>(a & 0xFFFF, f); });
        case Op::FunpackhSH:
            return float_map(s, [](U a, U, U, U& f) { return widen16<kFp16>(a >> 16, f); });
        case Op::FunpacklSBf16:
            return float_map(s, [](U a, U, U, U& f) { return widen16<kBf16>(a & 0xFFFF, f); });
        case Op::FunpackhSBf16:
            return float_map(s, [](U a, U, U, U& f) { return widen16<kBf16>(a >> 16, f); });

        case Op::FsgnjS: return map2(s, [](U a, U b) { return (a & kMagnitude) | (b & kSign); });
        case Op::FsgnjnS: return map2(s, [](U a, U b) { return (a & kMagnitude) | (~b & kSign); });
        case Op::FsgnjxS: return map2(s, [](U a, U b) { return a ^ (b & kSign); });
        case Op::FminS: return float_map(s, [](U a, U b, U, U& f) { return min32(a, b, f); });
        case Op::FmaxS: return float_map(s, [](U a, U b, U, U& f) { return max32(a, b, f); });
        case Op::FleS: return float_map(s, [](U a, U b, U, U& f) { return U(le32(a, b, f)); });
        case Op::FltS: return float_map(s, [](U a, U b, U, U& f) { return U(lt32(a, b, f)); });
        case Op::FeqS: return float_map(s, [](U a, U b, U, U& f) { return U(eq32(a, b, f)); });
        case Op::FclassS: return map1(s, class32);
        case Op::FmvXW: return map1(s, [](U a) { return a; });
        case Op::FmvWX: return map1(s, [](U a) { return a; });

        case Op::VxTmc: return change_mask(s, s.warp.scalar(s.code.a));
        case Op::VxWspawn: return spawn_warps(s);
        case Op::VxSplit: return split(s);
        case Op::VxJoin: return join(s);
        case Op::VxBar: return barrier(s);
        case Op::VxPred: return predicate(s);
        case Op::VxWait: return wait_for_unit(s);

        case Op::VxVoteAll: return vote(s, [](Ballot v) { return U(v.set == v.active); });
        case Op::VxVoteAny: return vote(s, [](Ballot v) { return U(v.set != 0); });
        case Op::VxVoteUni: return vote(s, [](Ballot v) { return U(v.set == 0 || v.set == v.active); });
        case Op::VxVoteBallot: return vote(s, [](Ballot v) { return v.set; });
        case Op::VxShflUp: return shuffle(s, shuffle_up);
        case Op::VxShflDown: return shuffle(s, shuffle_down);
        case Op::VxShflBfly: return shuffle(s, shuffle_xor);
        case Op::VxShflIdx: return shuffle(s, shuffle_index);
        case Op::FshflUpS: return shuffle(s, shuffle_up);
        case Op::FshflDownS: return shuffle(s, shuffle_down);
        case Op::FshflBflyS: return shuffle(s, shuffle_xor);
        case Op::FshflIdxS: return shuffle(s, shuffle_index);

        case Op::FrcpS: return map1(s, [](U a) { return special32(Special::Rcp, a); });
        case Op::FrsqrtS: return map1(s, [](U a) { return special32(Special::Rsqrt, a); });
        case Op::Fexp2S: return map1(s, [](U a) { return special32(Special::Exp2, a); });
        case Op::Flog2S: return map1(s, [](U a) { return special32(Special::Log2, a); });
        case Op::FsinS: return map1(s, [](U a) { return special32(Special::Sin, a); });
        case Op::FcosS: return map1(s, [](U a) { return special32(Special::Cos, a); });

        case Op::Hgmma: return multiply_tiles(s);
        case Op::HgmmaWait: return wait_for_products(s);
        case Op::Hmma: return multiply_fragments(s);
    }
    return false;
}

#pragma GCC diagnostic pop

}  // namespace spica
