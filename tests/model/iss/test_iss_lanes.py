"""Tests of lanes in the instruction-set model: independent results and stores, any mask."""

import numpy as np
import pytest

from bench.units.operands.floats import random_bits
from spica.hw.config.formats import FP32
from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.csr import COUNTER_NUMBERS, CSRS
from spica.hw.isa.encoding import RegisterClass
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.hw.isa.operations import Unit
from spica.sim.golden.memory.barrier.transaction_barrier import BarrierState, packed_barrier
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import OLD, give, lanes_of, machine, merged
from support.programs.code_writer import encode

A0, A1, A2, A3 = (INTEGER_NAMES.index(name) for name in ("a0", "a1", "a2", "a3"))
DATA = 0x8010_0000
BARRIERS = SHARED_BASE + 256
THREADS = 8
MASKS = (0b1111_1111, 0b0000_0001, 0b1000_0000, 0b0101_1010)
#: Instructions that write a register of each lane.
WRITING = [
    name
    for name, instruction in INSTRUCTIONS.items()
    if instruction.writes is not None and instruction.unit is not Unit.TENSOR
]


def operand_number(name, operand):
    """Return a register or an immediate that suits every instruction."""
    numbers = {"rd": 5, "fd": 5, "rs1": 10, "rs2": 11, "fs1": 10, "fs2": 11, "fs3": 12}
    numbers |= {"rm": 7, "csr": CSRS["mhartid" if name == "csrrs" else "mscratch"].number}
    numbers |= {"zimm": 0, "shamt": 7, "i": 0 if name == "jalr" else 4, "j": 8}
    return numbers.get(operand, 1)


def executed(name, mask, values):
    """Return a model after one instruction with these operands by lane."""
    instruction = INSTRUCTIONS[name]
    numbers = [operand_number(name, operand) for operand in instruction.operands]
    if name == "csrrs":
        numbers[-1] = 0
    iss = machine("nop", threads=THREADS, warps=1, atomics=True, transaction_barriers=True)
    iss.write(ENTRY, np.array([encode(name, *numbers)], "<u4").view(np.uint8))
    iss.write(DATA, np.random.default_rng(3).integers(0, 256, 4096, dtype=np.uint8))
    barriers = np.full(THREADS, packed_barrier(BarrierState(pending=1, expected=2)), "<u8")
    iss.write(BARRIERS, barriers.view(np.uint8))
    give(iss, values, mask=mask)
    retired = iss.step(0, 0)
    assert retired.fault is None, retired.fault.sentence
    assert (retired.mask, retired.pc) == (mask, ENTRY)
    return iss, retired


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", WRITING)
@pytest.mark.quick(80)
def test_only_active_lanes_write_and_each_its_own_result(name, mask):
    """A lane of a masked warp gives the same result as a single lane."""
    rng = np.random.default_rng(1)
    instruction = INSTRUCTIONS[name]
    values = {
        row: random_bits(rng, FP32, THREADS).tolist() for row in (10, 11, 32 + 10, 32 + 11, 32 + 12)
    }
    if instruction.unit in (Unit.LSU, Unit.ATOMIC):
        values[10] = [DATA + 128 * lane for lane in range(THREADS)]
    elif instruction.unit is Unit.BARRIER:
        values |= {10: [BARRIERS + 8 * lane for lane in range(THREADS)], 11: [1] * THREADS}
    elif name == "jalr":
        values[10] = [ENTRY + 8] * THREADS
    iss, retired = executed(name, mask, values)
    row = 5 + 32 * (instruction.writes is RegisterClass.FLOAT)
    for lane, result in enumerate(lanes_of(iss, row)):
        if not mask >> lane & 1:
            assert result == OLD + row
        elif instruction.unit not in (Unit.WARP, Unit.EXCHANGE):
            alone, _ = executed(name, 1 << lane, values)
            assert result == lanes_of(alone, row)[lane]
    assert retired.rd == (instruction.writes, 5)
    assert retired.values.tolist() == lanes_of(iss, row)
    # No other register has changed, in any lane.
    state = iss.warp(0, 0)
    for other in set(range(1, 64)) - {row}:
        rows = state.floats if other >= 32 else state.integers
        right = values.get(other, [OLD + other] * THREADS)
        assert rows[other % 32].tolist() == right, other


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("name", "size"), [("sb", 1), ("sh", 2), ("sw", 4), ("fsw", 4)])
def test_only_active_lanes_store(name, size, mask):
    iss = machine(f"{name} {'f' if name[0] == 'f' else 'x'}11, 8(x10)", threads=THREADS)
    before = np.arange(4096, dtype=np.uint32).astype(np.uint8)
    iss.write(DATA, before)
    places = np.array([DATA + 100 * lane for lane in range(THREADS)])
    data = np.arange(THREADS) * 0x0101_0101 + 0xF1F2_F3F4
    # Inactive lanes would fault.
    active = mask >> np.arange(THREADS) & 1 == 1
    give(iss, {A0: np.where(active, places, 3), A1: data, 32 + 11: data}, mask=mask)
    assert iss.step(0, 0).fault is None
    expected = before.copy()
    for lane in np.flatnonzero(active):
        start = 100 * lane + 8
        expected[start : start + size] = list(int(data[lane]).to_bytes(4, "little")[:size])
    assert np.array_equal(iss.read(DATA, 4096), expected)


# Control registers

IDENTITY = {
    "thread_id": lambda core, warp, lane: lane,
    "warp_id": lambda core, warp, lane: warp,
    "core_id": lambda core, warp, lane: core,
    "mhartid": lambda core, warp, lane: core << 5 | warp << 3 | lane,
    "num_threads": lambda core, warp, lane: 5,
    "num_warps": lambda core, warp, lane: 3,
    "num_cores": lambda core, warp, lane: 2,
    "warp_mask": lambda core, warp, lane: 1 << warp,
    "thread_mask": lambda core, warp, lane: 0b10110,
    "local_mem_base": lambda core, warp, lane: SHARED_BASE,
    "misa": lambda core, warp, lane: 1 << 30 | 1 << 12 | 1 << 8 | 1 << 5,
}


@pytest.mark.parametrize("name", IDENTITY)
def test_who_a_thread_is(name):
    """With numbers of warps and threads that are no powers of two: 2 + 3 bits of a hart."""
    iss = machine(f"csrr a0, {name}", cores=2, warps=3, threads=5)
    for core in range(2):
        for warp in range(3):
            iss.set_warp(core, 0, mask=0)
            give(iss, {}, core=core, warp=warp, mask=0b10110)
            iss.step(core, warp)
            for lane in (1, 2, 4):
                right = IDENTITY[name](core, warp, lane)
                assert lanes_of(iss, A0, core=core, warp=warp)[lane] == right
            iss.set_warp(core, warp, mask=0)


def test_every_register_can_be_read():
    numbers = sorted(
        {csr.number for csr in CSRS.values()} | {n for r in COUNTER_NUMBERS for n in r}
    )
    assert len(numbers) > 80
    iss = machine("\n".join(f"csrrs a0, {number}, zero" for number in numbers) + "\nvx_tmc x0")
    assert iss.run().stop is StopReason.DONE


@pytest.mark.parametrize("name", [name for name, csr in CSRS.items() if csr.access == "ignored"])
def test_ignored_registers_read_zero_whatever_was_written(name):
    iss = machine(f"li a0, -1\ncsrrw a1, {name}, a0\ncsrrs a2, {name}, a0\ncsrr a3, {name}")
    for _ in range(4):
        assert iss.step(0, 0).fault is None
    assert [lanes_of(iss, row)[0] for row in (A1, A2, A3)] == [0, 0, 0]


def test_instructions_are_counted_per_core():
    text = "nop\nnop\ncsrr a0, minstret\ncsrr a1, mcycle\ncsrr a2, minstreth\nvx_tmc x0"
    iss = machine(text, cores=2)
    assert iss.run().instructions == 12
    for core in range(2):
        assert [lanes_of(iss, row, core=core)[0] for row in (A0, A1, A2)] == [2, 3, 0]
    assert iss.statistics.core_instructions == (6, 6)


def test_writes_take_the_last_active_lane_s_value():
    text = "csrrw a1, mscratch, a0\ncsrrs a2, mscratch, a0\ncsrrc a3, mscratch, a0"
    iss = machine(text)
    give(iss, {A0: [1, 2, 4, 8]}, mask=0b0110)
    iss.set_warp(0, 0, mscratch=0x10)
    states = []
    for _ in range(3):
        iss.step(0, 0)
        states.append(iss.warp(0, 0).mscratch)
    assert states == [4, 4, 0]
    assert [lanes_of(iss, row) for row in (A1, A2, A3)] == [
        merged(0b0110, 0x10, A1),
        merged(0b0110, 4, A2),
        merged(0b0110, 4, A3),
    ]


def test_flags_of_all_active_lanes_are_gathered_in_their_warp():
    """Lane by lane: invalid, division by zero, overflow, inexact; one lane is inactive."""
    iss = machine("fdiv.s f1, f2, f3, rne", warps=2)
    one, largest, zero, three = 0x3F80_0000, 0x7F7F_FFFF, 0, 0x4040_0000
    operands = {34: [zero, one, largest, one], 35: [zero, zero, 0x0080_0000, three]}
    for mask, flags in ((1, 0x10), (2, 0x08), (4, 0x05), (8, 0x01), (0b1110, 0x0D), (15, 0x1D)):
        give(iss, operands, mask=mask)
        iss.set_warp(0, 0, fflags=0)
        iss.step(0, 0)
        assert (iss.warp(0, 0).fflags, iss.warp(0, 1).fflags) == (flags, 0)
    # They stay until they are cleared.
    give(iss, {34: one, 35: one}, mask=15)
    iss.step(0, 0)
    assert iss.warp(0, 0).fflags == 0x1D


def test_rounding_mode_belongs_to_a_warp():
    iss = machine("fadd.s f1, f2, f3", warps=2)
    tie = {34: 0x3F80_0000, 35: 0x3380_0000}
    for warp, mode in ((0, 3), (1, 0)):
        give(iss, tie, warp=warp)
        iss.set_warp(0, warp, frm=mode)
        iss.step(0, warp)
    assert lanes_of(iss, 33, warp=0) == [0x3F80_0001] * 4
    assert lanes_of(iss, 33, warp=1) == [0x3F80_0000] * 4
