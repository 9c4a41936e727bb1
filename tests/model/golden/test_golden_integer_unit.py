"""Tests of the golden model of the integer unit: arithmetic against QEMU, branches by hand."""

import numpy as np

from bench.units.operands.floats import crossed
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import EXCHANGES
from spica.hw.isa.operations import IntegerOperation as Op
from spica.hw.isa.program import assemble_program
from spica.sim.golden.core.units.integer_unit import BRANCHES, JUMPS, compute, execute, is_taken
from support.core.integer_operands import CORNERS, one_warp, random_words
from support.oracle.qemu_rv32 import Rv32

ARITHMETIC = tuple(op for op in Op if op not in (*BRANCHES, *JUMPS, *EXCHANGES))
#: Operands of the oracle's program, and its results.
WINDOW, WINDOW_BYTES = 0x9000_0000, 0x4_0000
RESULTS = WINDOW + 0x4000


def oracle_program(pairs: int):
    """Return a program that stores the results of all operations on pairs of words."""
    lines = [f"lui s0, {WINDOW >> 12:#x}", f"lui s1, {RESULTS >> 12:#x}", f"addi s2, zero, {pairs}"]
    lines += ["again:", "lw a0, 0(s0)", "lw a1, 4(s0)"]
    for op in ARITHMETIC:
        lines += [f"{op.name.lower()} a2, a0, a1", "sw a2, 0(s1)", "addi s1, s1, 4"]
    for op in BRANCHES:
        lines += ["addi a2, zero, 1", f"{op.name.lower()} a0, a1, over_{op.name}", "mv a2, zero"]
        lines += [f"over_{op.name}:", "sw a2, 0(s1)", "addi s1, s1, 4"]
    return assemble_program(
        "\n".join([*lines, "addi s0, s0, 8", "addi s2, s2, -1", "bnez s2, again"])
    )


def test_golden_model_is_qemu():
    rng = np.random.default_rng(2)
    a, b = crossed(CORNERS, CORNERS)
    a = np.concatenate([a, random_words(rng, 1000)])
    b = np.concatenate([b, random_words(rng, 1000)])
    a[-100:] = b[-100:]
    program = oracle_program(len(a))
    oracle = Rv32((ENTRY, 0x1000), (WINDOW, WINDOW_BYTES))
    data = np.stack([a, b], axis=1).astype("<u4").tobytes()
    assert len(data) <= RESULTS - WINDOW
    oracle.load(list(program), data.ljust(WINDOW_BYTES, b"\0"))
    memory = oracle.run(ENTRY + 4 * len(program)).memory[RESULTS - WINDOW :]
    columns = len(ARITHMETIC) + len(BRANCHES)
    got = np.frombuffer(memory, "<u4", len(a) * columns).reshape(-1, columns).T
    expected = [compute(op, a, b) for op in ARITHMETIC] + [is_taken(op, a, b) for op in BRANCHES]
    for op, ours, theirs in zip((*ARITHMETIC, *BRANCHES), expected, got, strict=True):
        np.testing.assert_array_equal(ours, theirs, op.name)


def bits(flags) -> int:
    """Return an array of bool as a mask."""
    return sum(1 << k for k, flag in enumerate(flags) if flag)


def executed(operation, *, threads=4, **fields):
    """Return the golden model's result of one instruction, as plain numbers."""
    got = execute(one_warp(threads, operation, **fields))
    return got.values[0].tolist(), int(got.target[0]), bits(got.disagree[0])


def test_golden_model_of_a_branch_follows_the_last_active_thread():
    fields = {"pc": 0x1000, "immediate": 0x100, "a": [5, 6, 5, 6], "b": [5, 5, 5, 5]}
    for mask, target, disagree in (
        ([1, 1, 1, 0], 0x1100, 0b0010),
        ([1, 1, 1, 1], 0x1004, 0b0101),
        ([1, 0, 1, 0], 0x1100, 0),
        ([0, 1, 0, 1], 0x1004, 0),
        ([1, 0, 0, 0], 0x1100, 0),
    ):
        mask = np.array(mask, bool)
        assert executed(Op.BEQ, mask=mask, **fields)[1:] == (target, disagree)
    # The decision counts, even if both ways lead to the next instruction.
    assert executed(Op.BNE, **fields | {"immediate": 4})[1:] == (0x1004, 0b0101)


def test_golden_model_of_jumps():
    fields = {"pc": 0xFFFF_FFFC, "immediate": np.uint32(-8 & 0xFFFF_FFFF)}
    assert executed(Op.JAL, **fields) == ([0] * 4, 0xFFFF_FFF4, 0)
    fields = {"pc": 0x2000, "immediate": 0, "a": [0x3001, 0x3000, 0x3002, 0x3001]}
    assert executed(Op.JALR, **fields) == ([0x2004] * 4, 0x3000, 0b0100)
    assert executed(Op.JALR, **fields | {"immediate": 1}) == ([0x2004] * 4, 0x3002, 0b0010)


def test_golden_model_of_what_stands_for_operands():
    fields = {"pc": 0x1000, "immediate": 0x7000, "a": [1] * 4, "b": [2] * 4}
    for a_is_pc, b_is_immediate, value in (
        (0, 0, 3),
        (1, 0, 0x1002),
        (0, 1, 0x7001),
        (1, 1, 0x8000),
    ):
        flags = {"a_is_pc": bool(a_is_pc), "b_is_immediate": bool(b_is_immediate)}
        assert executed(Op.ADD, **fields, **flags)[0] == [value] * 4
