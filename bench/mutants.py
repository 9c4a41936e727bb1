"""The faults that `mutate.py` plants, each of another kind."""

from dataclasses import dataclass

__all__ = ["MUTANTS", "Mutant"]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One edit of one file, and the tests that must notice it."""

    name: str
    fault: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="rounding",
        fault="ties round up instead of to even",
        file="hw/float/round.py",
        old="return guard & (last | rest)",
        new="return guard",
        tests=("tests/test_float_pieces.py::test_round_at_every_exponent",),
    ),
    Mutant(
        name="operand",
        fault="the element multiplies with the weight that is being loaded",
        file="hw/matrix/element.py",
        old="multiply_add.b.eq(active)",
        new="multiply_add.b.eq(shadow)",
        tests=("tests/test_matrix_element.py",),
    ),
    Mutant(
        name="infinity",
        fault="an infinite product counts as a number",
        file="hw/float/product.py",
        old="is_special=exponent[-1] & self.config.operand.has_nan,",
        new="is_special=C(0, 1),",
        tests=("tests/test_matrix_array.py::test_floats_match_golden_model",),
    ),
    Mutant(
        name="first_pass",
        fault="off by one: the second pass over K overwrites as the first does",
        file="hw/matrix/issue.py",
        old="target.accumulate.eq(work.accumulate | k_block.any())",
        new="target.accumulate.eq(work.accumulate | (k_block > 1))",
        tests=("tests/test_matrix_sequencer.py::test_random_operations",),
    ),
    Mutant(
        name="drain_hazard",
        fault="a row may be overwritten before the drain has read it",
        file="hw/matrix/issue.py",
        old="(self.target.address >= self.drain_pointer)",
        new="(self.target.address > self.drain_pointer)",
        tests=("tests/test_matrix_sequencer.py", "tests/test_matrix_unit.py"),
    ),
    Mutant(
        name="zero_beyond",
        fault="elements beyond K enter as they lie in memory",
        file="hw/matrix/fetch.py",
        old="beyond.eq(C(-1, self.elements) << arrived.count)",
        new="beyond.eq(0)",
        tests=("tests/test_matrix_sequencer.py::test_random_operations",),
    ),
    Mutant(
        name="credits",
        fault="reads are asked for without room for what they bring",
        file="hw/memory/line_reader.py",
        old="request.valid.eq(active & (asked != depth))",
        new="request.valid.eq(active)",
        tests=("tests/test_dma.py::test_one_side_is_slow",),
    ),
    Mutant(
        name="ready",
        fault="a segment counts as taken whether the channel is ready or not",
        file="hw/memory/walker.py",
        old="with m.If(self.o.valid & self.o.ready):",
        new="with m.If(self.o.valid):",
        tests=("tests/test_dma.py::test_random_jobs",),
    ),
    Mutant(
        name="bank_select",
        fault="the answer comes from the bank of the request that follows",
        file="hw/memory/shared.py",
        old="with m.Switch(Cat(offset, self.bank_of(where))):",
        new="with m.Switch(Cat(offset, self.bank_of(address))):",
        tests=("tests/test_shared.py::test_mixed_sizes_match_golden_model",),
    ),
    Mutant(
        name="same_line",
        fault="a line is read in the cycle in which it is written",
        file="hw/memory/bank.py",
        old="reader.taken.eq(reader.requests.any() & ~(clash & ~read_first))",
        new="reader.taken.eq(reader.requests.any())",
        tests=("tests/test_shared.py::test_reads_and_writes_of_one_line_yield_in_turn",),
    ),
    Mutant(
        name="strobes",
        fault="transfers end at a whole beat and overwrite the neighbour",
        file="hw/memory/realigner.py",
        old="(bytes_up_to(at.end, size) | ~last.replicate(size))",
        new="Const((1 << size) - 1, size)",
        tests=("tests/test_dma.py::test_random_jobs",),
    ),
    Mutant(
        name="asleep",
        fault="the DMA sleeps while an answer of its registers is on its way",
        file="hw/memory/dma.py",
        old="inputs = [registers.registers.response.valid, self.registers.request.valid]",
        new="inputs = [self.registers.request.valid]",
        tests=("tests/test_engines_agree.py::test_withheld_clocks_change_nothing",),
    ),
    Mutant(
        name="carry",
        fault="the cycle counter carries one cycle late",
        file="hw/control.py",
        old="carry.eq(cycle.low == 0xFFFF_FFFE)",
        new="carry.eq(cycle.low == 0xFFFF_FFFF)",
        tests=("tests/test_control.py",),
    ),
    Mutant(
        name="tininess",
        fault="tininess is detected before rounding",
        file="hw/float/round.py",
        old="is_tiny = is_low & ~(is_half & self.rounds_to_power(self.significand))",
        new="is_tiny = is_low",
        tests=("tests/test_float_round.py::test_tininess_is_detected_after_rounding",),
    ),
    Mutant(
        name="cancellation",
        fault="an exact zero is positive when rounding down, too",
        file="hw/float/fused_sum.py",
        old='is_down = added["rounding"] == Rounding.DOWN if config.dynamic else C(0)',
        new="is_down = C(0)",
        tests=("tests/test_float_fma.py::test_unit_matches_golden_model",),
    ),
    Mutant(
        name="remainder",
        fault="a remainder of division is forgotten",
        file="hw/float/divide_sqrt_finish.py",
        old="Cat(self.is_inexact, self.digits)",
        new="Cat(C(0, 1), self.digits)",
        tests=("tests/test_float_division.py::test_results_keep_order_and_tags",),
    ),
    Mutant(
        name="minimum",
        fault="a NaN is the minimum and the maximum of itself and a number",
        file="hw/float/compare.py",
        old="picks_a = b_is_nan | ~a_is_nan & (",
        new="picks_a = b_is_nan | (",
        tests=("tests/test_float_compare.py::test_compare",),
    ),
    Mutant(
        name="sticky",
        fault="a conversion forgets all but the first bit that it drops",
        file="hw/float/convert.py",
        old="Cat(significand[: surplus + 1].any(), significand[surplus + 1 :])",
        new="Cat(significand[surplus], significand[surplus + 1 :])",
        tests=("tests/test_float_convert.py::test_every_pair_to_nearest_even",),
    ),
    Mutant(
        name="logarithm",
        fault="the sign of a logarithm is that of its fraction",
        file="hw/float/special/special_function.py",
        old="Mux(reduced.is_far, is_below, reduced.is_upper)",
        new="Value.cast(reduced.is_upper)",
        tests=("tests/test_float_special.py::test_unit_matches_golden_model",),
    ),
    Mutant(
        name="alignment",
        fault="products far below the largest one come back",
        file="hw/tensor/fused_align.py",
        old="places.eq(distance[:places_width] | is_far.replicate(places_width))",
        new="places.eq(distance[:places_width])",
        tests=("tests/test_dot_product.py::test_hardware_matches_golden_model",),
    ),
    Mutant(
        name="tree_product",
        fault="infinity times zero is infinite",
        file="hw/tensor/tree_product.py",
        old="(a.is_infinite & b.is_zero) | (b.is_infinite & a.is_zero)",
        new="(a.is_infinite & b.is_zero)",
        tests=("tests/test_dot_tree.py::test_product",),
    ),
    Mutant(
        name="narrow_result",
        fault="results of bf16 operands leave as fp16",
        file="hw/matrix/drain.py",
        old="narrow = config.narrow_format\n",
        new="narrow = FloatFormat(name='fp16', exponent_width=5, significand_width=11)\n",
        tests=("tests/test_matrix_unit.py::test_loops_two_in_flight",),
    ),
    Mutant(
        name="model_join",
        fault="the second join of a split leaves the lanes of one side off",
        file="sim/iss/native/control.hpp",
        old="warp.set_mask(top.both);",
        new="warp.set_mask(top.rest);",
        tests=("tests/test_iss_simt.py",),
    ),
    Mutant(
        name="model_quotient",
        fault="the remainder of the most negative number by -1 is not 0",
        file="sim/iss/native/execute.hpp",
        old="case Op::Rem: return map2(s, remainder_signed);",
        new="case Op::Rem: return map2(s, remainder_unsigned);",
        tests=("tests/test_iss_scalar.py::test_random_programs_end_in_the_state_of_qemu",),
    ),
    Mutant(
        name="model_scalar",
        fault="scalar operands come from the first active lane",
        file="sim/iss/native/warp.hpp",
        old="31 - static_cast<uint32_t>(std::countl_zero(mask_))",
        new="static_cast<uint32_t>(std::countr_zero(mask_))",
        tests=("tests/test_iss_warps.py", "tests/test_iss_simt.py"),
    ),
    Mutant(
        name="runtime_wait",
        fault="a launch does not wait for the other warps of its core",
        file="kernels/runtime/launch.S",
        old="2:  csrr t1, SPICA_CSR_WARP_MASK\n    bne t1, t0, 2b",
        new="2:  csrr t1, SPICA_CSR_WARP_MASK",
        tests=("tests/test_runtime.py",),
    ),
    Mutant(
        name="kernel_bound",
        fault="a kernel's result may lie anywhere",
        file="sim/buffers.py",
        old="right = _close(found, buffer.expected, bound)",
        new="right = _close(found, buffer.expected, np.full(found.shape, np.inf))",
        tests=("tests/test_buffers.py",),
    ),
    Mutant(
        name="core_zeros",
        fault="minus zero is less than zero",
        file="hw/core/float_simple.py",
        old="(accepts_less & is_less & ~are_zeros)",
        new="(accepts_less & is_less)",
        tests=(
            "tests/test_core_fp32.py::"
            "test_operations_that_round_nothing_of_every_class_with_every_other",
        ),
    ),
    Mutant(
        name="core_twice",
        fault="the first of two results of a register frees who waits for the second",
        file="hw/core/warp_scoreboard.py",
        old="gated(self.release, self.released) & ~twice",
        new="gated(self.release, self.released)",
        tests=("tests/test_core_scoreboard.py",),
    ),
    Mutant(
        name="core_order",
        fault="an instruction overwrites what an older one has yet to read",
        file="hw/core/collectors.py",
        old="Cat(one.complete for one in collectors) & order.first",
        new="Cat(one.complete for one in collectors)",
        tests=("tests/test_core_collectors.py",),
    ),
)
