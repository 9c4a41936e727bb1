"""Tests of tensor instructions on a core: hazards, masks, and neighbours, in lockstep."""

import random
from unittest.mock import patch

import numpy as np
import pytest

from spica.hw.core.control.faults import FaultCause
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.program import assemble_program
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.sim.golden.styles.register_fed.hmma import hmma
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.native_types import native_numerics
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.program_machine import ProgramMachine
from support.cluster.kept_machines import kept_machines
from support.core.core_bench import image
from support.core.tensor_bench import fragments
from support.programs.tensor import random_lines, tensor_program

ROOM = 64 * 1024
LIMIT = 50_000
VOLTA = RegisterFedConfig(numerics="nvidia(volta)")
CONFIGS = {
    "volta": {"warps": 8, "tensor": VOLTA},
    "fp32": {"warps": 2, "tensor": RegisterFedConfig(numerics="fp32_rne", operand="fp32")},
    "virgo": {"warps": 2},
    "wide": {"warps": 2, "threads": 32, "tensor": VOLTA},
    "hopper": {
        "warps": 2,
        "tensor": RegisterFedConfig(numerics="nvidia(hopper)"),
        "banks": 2,
        "bank_mapping": "thread",
        "issue_width": 2,
        "collectors": 3,
        "writeback_buses": 1,
        "snoop": False,
    },
}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("hopper", "wide")]
TREES = [pytest.param(name, marks=pytest.mark.slow) for name in ("fp32", "virgo")]

#: Directed cases by name: instructions that follow each other in every warp.
CASES = {
    "chain": ["hmma x0"] * 3,
    "both accumulators": ["hmma x0", "hmma x1"] * 3,
    "sources overwritten": [
        *("hmma x0", "fsgnj.s f0, f1, f1", "fsgnj.s f7, f6, f6", "fsgnj.s f15, f8, f8"),
        *("flw f3, 4(t1)", "hmma x1", "fadd.s f8, f8, f9", "hmma x1"),
    ],
    "destination read early": [
        *("hmma x0", "fadd.s f1, f16, f17", "fsw f23, 0(t1)", "fadd.s f2, f23, f16"),
        *("hmma x1", "fmadd.s f24, f24, f25, f31", "hmma x1"),
    ],
    "destination overwritten": ["hmma x0", "fsgnj.s f16, f0, f0", "flw f20, 8(t1)", "hmma x0"],
    "source produced": ["fadd.s f0, f1, f2", "flw f15, 8(t1)", "fdiv.s f18, f1, f2", "hmma x0"],
    "masked lanes": [
        *("hmma x0", "li t0, 0x5a", "vx_tmc t0", "fadd.s f16, f16, f0", "fadd.s f1, f0, f2"),
        *("li t0, -1", "vx_tmc t0", "hmma x0", "hmma x1", "hmma x0"),
    ],
    "neighbours": [
        *("fmadd.s f0, f1, f2, f3", "hmma x0", "mul t2, t1, t1", "fsw f5, 0(t1)", "frcp.s f6, f1"),
        *("hmma x1", "flw f7, 4(t1)", "fadd.s f8, f9, f10", "hmma x0", "div t3, t2, t1"),
    ],
}


@kept_machines
def machine_of(name):
    """Return the machine of a config."""
    config = small_config(**{"threads": 8, "tensor": RegisterFedConfig(), **CONFIGS[name]})
    return ProgramMachine(config, lockstep=True, optimize=0)


def registers_of(machine, seed: int, warps: int | None = None) -> np.ndarray:
    """Return float registers of warps, all by default."""
    core = machine.config.core
    warps = core.warps if warps is None else warps
    return fragments(RegisterFedConfig.of(core.tensor), np.random.default_rng(seed), warps)


def run(machine, lines, registers):
    """Run a program; return the outcome and the assembled program."""
    text = tensor_program(lines, registers)
    machine.allow(ENTRY, ROOM)
    machine.write(ENTRY, image(text, ROOM))
    return machine.run(LIMIT), assemble_program(text)


def execute(machine, lines, registers):
    """Run a program; return the outcome and the float registers of each warp after it."""
    outcome, program = run(machine, lines, registers)
    at = ENTRY + len(program.data) - registers.nbytes
    assert outcome.stop is StopReason.DONE, outcome
    words = machine.read(at, registers.nbytes).view(np.uint32)
    return outcome, np.swapaxes(words.reshape(len(registers), -1, 32), 1, 2)


@pytest.mark.parametrize("name", ["volta", *SLOW])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.quick(3)
def test_directed_programs(machine_of, case, name):
    machine = machine_of(name)
    outcome, _ = execute(machine, CASES[case], registers_of(machine, 1))
    assert outcome.mismatch == ""
    assert outcome.instructions == machine.iss.instructions


@pytest.mark.parametrize("name", ["volta", *SLOW[1:], *TREES])
def test_values_are_those_of_the_golden_model(machine_of, name):
    machine = machine_of(name)
    registers = registers_of(machine, 2)
    _, after = execute(machine, ["hmma x0", "hmma x1", "hmma x0"], registers)
    expected = registers
    tensor = RegisterFedConfig.of(machine.core.tensor)
    for group in (0, 1, 0):
        expected = hmma(expected, 16 + tensor.registers * group, tensor)
    assert np.array_equal(after, expected)


def test_readers_of_an_accumulator_in_use_wait_for_it(machine_of):
    """The scoreboard holds a reader until its register is written, f23 7 cycles after f16."""
    machine, stalls = machine_of("volta"), {}
    registers = registers_of(machine, 7, 1) & 0x3FFF_FFFF
    for source in (16, 23, 24, 31):
        lines = ["hmma x0", f"fsgnj.s f0, f{source}, f{source}"]
        outcome, after = execute(machine, lines, registers)
        assert outcome.mismatch == ""
        expected = hmma(registers, 16, VOLTA)
        expected[:, 0] = expected[:, source]
        assert np.array_equal(after, expected)
        stalls[source] = machine.counters()[0]["slots_scoreboard"]
    assert stalls[23] - stalls[16] == 7
    # The last set begins 24 cycles after the first step, which is 7 after the issue.
    assert min(stalls[16] - stalls[24], stalls[23] - stalls[31] - 7) > 24 + 7


@pytest.mark.parametrize("group", [2, 8, 31])
@pytest.mark.quick(1)
def test_a_wrong_accumulator_is_reported(machine_of, group):
    machine = machine_of("volta")
    outcome, _ = run(machine, [f"hmma x{group}"], registers_of(machine, 1, 1))
    assert (outcome.stop, outcome.mismatch) == (StopReason.FAULT, "")
    assert outcome.fault is not None
    assert outcome.fault.cause is FaultCause.ILLEGAL
    fault = machine.iss.step(0, 0).fault
    assert fault is not None
    assert f"the accumulator must be x0 to x1, not x{group}" in fault.sentence


@pytest.mark.parametrize("name", ["volta", *SLOW])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.quick(1)
def test_random_programs(machine_of, seed, name):
    machine = machine_of(name)
    lines = random_lines(random.Random(seed), 120)
    outcome, _ = execute(machine, lines, registers_of(machine, seed))
    assert outcome.mismatch == ""
    core = machine.counters()[0]
    products = sum(line.startswith("hmma") for line in lines) * machine.core.warps
    assert core["operations_tensor"] == products


@pytest.mark.slow
def test_lockstep_on_the_amaranth_simulator():
    fields = CONFIGS["volta"] | {"warps": 1, "collectors": 2}
    config = small_config(threads=8, **fields)
    with ProgramMachine(config, engine="amaranth", lockstep=True) as machine:
        outcome, _ = execute(machine, CASES["masked lanes"], registers_of(machine, 6))
        assert outcome.mismatch == ""
        assert machine.counters()[0]["operations_tensor"] == 4


#: Cycles of an instruction, by running warps and accumulators of each. A chain of one warp waits
#: for its last register: 7 cycles from issue to the first step, 31 to the last, 7 to the bus with a
#: dot product of 3, and 1 to the next issue. Otherwise the unit is busy in every cycle.
CYCLES = {(1, 1): 46, (1, 2): 32, (2, 1): 32, (4, 1): 32, (8, 1): 32, (8, 2): 32}


@pytest.mark.parametrize(("warps", "accumulators"), CYCLES)
@pytest.mark.quick(1)
def test_cycles_of_an_instruction(machine_of, warps, accumulators):
    machine, cycles, slots = machine_of("volta"), [], []
    lengths = (8, 24)
    registers = registers_of(machine, 5, warps) & 0x3FFF_FFFF  # no NaN, no infinities
    for length in lengths:
        lines = [f"hmma x{number % accumulators}" for number in range(length)]
        outcome, _ = execute(machine, lines, registers)
        assert outcome.mismatch == ""
        cycles.append(outcome.cycles)
        slots.append(machine.counters()[0])
    products = warps * (lengths[1] - lengths[0])
    assert slots[1]["operations_tensor"] - slots[0]["operations_tensor"] == products
    assert (cycles[1] - cycles[0]) / products == CYCLES[warps, accumulators]
    # One slot issues an instruction; seven more wait for its micro-operations.
    issued = slots[1]["slots_none"] - slots[0]["slots_none"]
    assert issued == products
    reads = slots[1]["register_reads"] - slots[0]["register_reads"]
    writes = slots[1]["register_writes"] - slots[0]["register_writes"]
    assert (reads, writes) == (24 * products, 8 * products)


#: Cycles of an instruction with these register banks: a chain of one warp, and eight warps. The
#: banks read 24 registers in 3, 6, 12, 12, 24 and 48 cycles; the unit needs 32.
BANKS = {
    ("warp", 8): (46, 32),
    ("warp", 4): (46, 32),
    ("warp", 2): (49, 32),
    ("thread", 16): (52, 32),
    ("thread", 8): (59, 32),
    ("thread", 4): (91, 48),
}


@pytest.mark.slow
@pytest.mark.parametrize(("mapping", "banks"), BANKS)
def test_cycles_by_register_banks(mapping, banks):
    fields = CONFIGS["volta"] | {"bank_mapping": mapping, "banks": banks}
    config = small_config(threads=8, **fields)
    with ProgramMachine(config, lockstep=True, optimize=0, composed=True) as machine:
        for warps, expected in zip((1, 8), BANKS[mapping, banks], strict=True):
            registers, cycles = registers_of(machine, 5, warps) & 0x3FFF_FFFF, []
            for length in (8, 24):
                outcome, _ = execute(machine, ["hmma x0"] * length, registers)
                assert outcome.mismatch == ""
                cycles.append(outcome.cycles)
            # Eight warps that share the banks do not end in the same order.
            assert (cycles[1] - cycles[0]) / (16 * warps) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("name", [*TREES, *SLOW[1:]])
def test_other_units_are_busy_too(machine_of, name):
    machine, cycles = machine_of(name), []
    registers = registers_of(machine, 5) & 0x3FFF_FFFF
    for length in (8, 24):
        outcome, _ = execute(machine, ["hmma x0"] * length, registers)
        assert outcome.mismatch == ""
        cycles.append(outcome.cycles)
    assert cycles[1] - cycles[0] == RegisterFedConfig.of(machine.core.tensor).steps * 16 * len(
        registers
    )


def product_at(row: int, column: int) -> np.ndarray:
    """Return registers whose product has one element that depends on a truncated bit.

    1 + 2**-24 + 2**-24 is 1 with 23 fraction bits of a term, and 1 + 2**-23 with 24.
    """
    one, small = 0x3C00, 0x0C00  # 1 and 2**-12
    registers = np.zeros((1, 32, 8), np.uint32)
    for first, lane in ((0, row), (8, column)):
        registers[0, first, lane] = one | small << 16
        registers[0, first + 1, lane] = small
    return registers


@pytest.mark.parametrize("register", range(8))
@pytest.mark.quick(2)
def test_a_wrong_value_of_any_register_is_reported(register):
    """The model has the numerics of another generation."""
    config = small_config(threads=8, **CONFIGS["volta"])
    other = native_numerics(RegisterFedConfig(numerics="nvidia(turing_chunk4)"))
    lane = (3 * register + 1) % 8
    row, column = (lane & 5) + (register & 2), (lane & 2) + (register & 1) + (register & 4)
    with (
        patch("spica.sim.iss.native_types.native_numerics", return_value=other),
        ProgramMachine(config, lockstep=True, optimize=0) as machine,
    ):
        report = run(machine, ["hmma x1"], product_at(row, column))[0].mismatch
    what = "result" if register == 7 else f"result {register + 1} of 8"
    first, *lines = report.splitlines()
    assert first.endswith(f": {what}")
    assert f"lane {lane:2}: 0x3f800001 of the model, 0x3f800000 of the core" in report
    assert sum(line.startswith("  lane") for line in lines) == 1


@pytest.mark.parametrize("name", ["volta", *SLOW])
@pytest.mark.parametrize("mask", [1, 0x7F, 0xFE, 0x5A])
@pytest.mark.quick(1)
def test_inactive_threads_are_a_fault(machine_of, mask, name):
    """Of a mask and of a warp that has just started, with its line, and nothing is computed."""
    machine = machine_of(name)
    lines = ["hmma x1", f"li t0, {mask:#x}", "vx_tmc t0", "wrong: hmma x0", "fadd.s f0, f16, f17"]
    outcome, program = run(machine, lines, registers_of(machine, 2, 1))
    assert (outcome.stop, outcome.mismatch) == (StopReason.FAULT, "")
    fault = outcome.fault
    assert fault is not None
    assert (fault.cause, fault.warp) == (FaultCause.INACTIVE_THREADS, 0)
    assert (fault.pc, fault.lanes) == (program.labels["wrong"], mask)
    assert machine.counters()[0]["operations_tensor"] == 1


@pytest.mark.full
def test_one_side_of_a_branch_is_a_fault(machine_of):
    """A split leaves threads inactive; after the join the warp is whole again."""
    machine = machine_of("volta")
    split = [
        "csrr t2, thread_id",
        "slti t2, t2, 3",
        "vx_split t3, t2, x0",
        "{}",
        "vx_join t3",
        "{}",
    ]
    for place, stop in ((5, StopReason.DONE), (3, StopReason.FAULT)):
        lines = [*split]
        lines[3], lines[5] = "add t4, t2, t2", "add t4, t2, t2"
        lines[place] = "wrong: hmma x0"
        outcome, program = run(machine, lines, registers_of(machine, 2, 1))
        assert (outcome.stop, outcome.mismatch) == (stop, "")
        if stop is StopReason.FAULT:
            assert outcome.fault is not None
            assert outcome.fault.cause is FaultCause.INACTIVE_THREADS
            assert outcome.fault.pc == program.labels["wrong"]
