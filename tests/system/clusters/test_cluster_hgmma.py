"""Tests of products with operands in shared memory on a cluster, in lockstep."""

import random
from dataclasses import replace

import numpy as np
import pytest

from spica.hw.config import SharedMemoryConfig
from spica.hw.core.control.faults import FaultCause
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.hw.isa.program import assemble_program
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.golden.styles.shared_fed.hgmma import hgmma, hgmma_operands
from spica.sim.golden.styles.shared_fed.operand_layout import operand_places
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.program_machine import ProgramMachine
from support.cluster.kept_machines import kept_machines
from support.core.core_bench import image
from support.core.hgmma_operands import random_tiles
from support.programs.hgmma import PLACES, hgmma_program, random_lines

ROOM = 64 * 1024
LIMIT = 100_000
A, B = (f"{place:#x}" for place in PLACES[:2])
AT = [f"li a0, {A}", f"li a1, {B}"]
HOPPER = SharedFedConfig(numerics="nvidia(hopper)")
CONFIGS = {
    "hopper": {"warps": 4, "tensor": HOPPER},
    "other": {
        **{
            "warps": 2,
            "tensor": SharedFedConfig(numerics="nvidia(ampere)", operand="tf32", queue=1),
        },
        **{"banks": 2, "bank_mapping": "thread", "issue_width": 2},
        **{"collectors": 3, "writeback_buses": 1, "snoop": False},
    },
    "virgo": {"warps": 2},
    "fp32": {"warps": 2, "tensor": SharedFedConfig(numerics="fp32_rne", operand="fp32")},
    "swizzled": {"warps": 2, "tensor": replace(HOPPER, layout="swizzle128")},
}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in CONFIGS if name != "hopper"]

#: Directed cases by name: instructions that follow each other in every warp.
CASES = {
    "chain": [*AT, "hgmma a0, a1", "hgmma a1, a0", "hgmma a0, a0", "hgmma_wait"],
    "c read early": [
        *(*AT, "hgmma a0, a1", "fadd.s f1, f0, f31", "hgmma a0, a1", "fsw f15, 0(t1)"),
        *("hgmma_wait", "fadd.s f2, f1, f0"),
    ],
    "c overwritten": [
        *(*AT, "fdiv.s f3, f1, f2", "flw f4, 8(t1)", "hgmma a0, a1", "fsgnj.s f31, f0, f0"),
        *("flw f0, 8(t1)", "hgmma a1, a0", "hgmma_wait"),
    ],
    "integers meanwhile": [
        *(*AT, "hgmma a0, a1", "li a0, 5", "mul a1, a0, a0", "lw t2, 0(t1)", "div t2, t2, a0"),
        *("hgmma_wait", *AT, "hgmma a0, a1", "hgmma_wait"),
    ],
    "masked lanes": [
        *(*AT, "hgmma a0, a1", "li t0, 0x5a", "vx_tmc t0", "fadd.s f16, f16, f0", "li t0, -1"),
        *("vx_tmc t0", "hgmma a0, a1", "hgmma_wait", "hgmma a1, a0", "hgmma_wait"),
    ],
}


def config_of(name: str):
    fields = {"threads": 8, "tensor": SharedFedConfig(), **CONFIGS[name]}
    return replace(
        small_config(**fields), shared=SharedMemoryConfig(size=16 * 1024, banks=2, subbanks=8)
    )


@kept_machines
def machine_of(name):
    """Return the machine of a config."""
    memory = DramConfig(latency=10)
    return ProgramMachine(config_of(name), memory=memory, lockstep=True, optimize=0)


def operands_of(machine, seed: int, warps: int | None = None):
    """Return eight operands and the registers of warps, of products in which extremes meet."""
    count = machine.core.warps if warps is None else warps
    memory, registers = random_tiles(
        SharedFedConfig.of(machine.core.tensor), np.random.default_rng(seed), 4
    )
    return memory.swapaxes(0, 1).reshape(8, 1024), registers[np.arange(count) % 4]


def place(machine, lines, pool, registers) -> str:
    """Place a program; return its text."""
    text = hgmma_program(lines, pool, registers)
    machine.begins = True
    machine.allow(ENTRY, ROOM)
    machine.write(ENTRY, image(text, ROOM))
    return text


def execute(machine, lines, pool, registers):
    """Run a program; return the outcome and the float registers of each warp after it."""
    text = place(machine, lines, pool, registers)
    outcome = machine.run(LIMIT)
    assert (outcome.stop, outcome.mismatch) == (StopReason.DONE, "")
    at = ENTRY + len(assemble_program(text).data) - registers.nbytes
    words = machine.read(at, registers.nbytes).view(np.uint32)
    return outcome, np.swapaxes(words.reshape(len(registers), -1, 32), 1, 2)


def fault_of(machine, lines, pool, registers):
    """Run a program with an instruction ``wrong``; return its fault, of this instruction."""
    text = place(machine, lines, pool, registers)
    outcome = machine.run(LIMIT)
    assert (outcome.stop, outcome.mismatch) == (StopReason.FAULT, "")
    assert outcome.fault is not None
    assert outcome.fault.pc == assemble_program(text).labels["wrong"]
    return outcome.fault


@pytest.mark.parametrize("name", ["hopper", *SLOW])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.quick(2)
def test_directed_programs(machine_of, case, name):
    machine = machine_of(name)
    outcome, _ = execute(machine, CASES[case], *operands_of(machine, 1))
    assert outcome.instructions == machine.iss.instructions


@pytest.mark.parametrize("name", ["hopper", *SLOW])
def test_values_are_those_of_the_golden_model(machine_of, name):
    machine = machine_of(name)
    tile: SharedFedConfig = SharedFedConfig.of(machine.core.tensor)
    pool, registers = operands_of(machine, 2)
    _, after = execute(machine, CASES["chain"], pool, registers)
    expected = registers
    memory = pool.ravel()
    for a, b in ((0, 1), (1, 0), (0, 0)):
        places = (operand_places(tile, PLACES[k], is_a) for k, is_a in ((a, True), (b, False)))
        factors = hgmma_operands(*(memory[place - SHARED_BASE] for place in places), tile)
        expected = hgmma(*factors, expected, tile)
    assert np.array_equal(after, expected)


@pytest.mark.parametrize("name", ["hopper", *SLOW])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.full
def test_random_programs(machine_of, seed, name):
    machine = machine_of(name)
    lines = random_lines(random.Random(seed), 60)
    execute(machine, lines, *operands_of(machine, seed))
    products = sum(line.startswith("hgmma a") for line in lines) * machine.core.warps
    assert machine.counters()[0]["operations_tensor"] == products
    events = machine.cluster.events()
    assert events["tensor_active_cycles"] == 128 * products
    assert events["shared_read_words_tensor0"] == 512 * products


#: Last instructions of a program, and cause and address of the fault.
FAULTS = {
    "a outside": (["li a0, 0xFEFFFFE0"], MemoryFault.NOT_SHARED, 0xFEFF_FFE0),
    "b beyond the end": (
        [f"li a1, {SHARED_BASE + 15 * 1024 + 32:#x}"],
        MemoryFault.NOT_SHARED,
        SHARED_BASE + 15 * 1024 + 32,
    ),
    "a misaligned": ([f"li a0, {PLACES[1] + 16:#x}"], MemoryFault.MISALIGNED, PLACES[1] + 16),
    "b misaligned": ([f"li a1, {PLACES[1] + 4:#x}"], MemoryFault.MISALIGNED, PLACES[1] + 4),
    "both, a first": (
        ["li a0, 0x80000010", f"li a1, {PLACES[1] + 4:#x}"],
        MemoryFault.NOT_SHARED,
        0x8000_0010,
    ),
}


@pytest.mark.parametrize("case", FAULTS)
@pytest.mark.quick(1)
def test_operands_outside_shared_memory_are_reported(machine_of, case):
    """With pc, warp and the last active lane; products of other warps are complete."""
    lines, cause, address = FAULTS[case]
    machine = machine_of("hopper")
    pool, registers = operands_of(machine, 4, 2)
    # Warp 1 has the fault, after a product of each warp.
    skip = ["csrr t2, warp_id", "beq t2, zero, others"]
    text = [*AT, "hgmma a0, a1", "hgmma_wait", *skip, *lines]
    lines = [*text, "wrong: hgmma a0, a1", "hgmma_wait", "others:"]
    fault = fault_of(machine, lines, pool, registers)
    assert (fault.cause, fault.core, fault.warp) == (cause, 0, 1)
    assert (fault.lanes, fault.address) == (0x80, address)


def test_a_wait_without_a_product_is_reported(machine_of):
    machine = machine_of("hopper")
    pool, registers = operands_of(machine, 5, 1)
    lines = [*AT, "hgmma a0, a1", "hgmma_wait", "wrong: hgmma_wait"]
    assert fault_of(machine, lines, pool, registers).cause is FaultCause.NO_PRODUCT


@pytest.mark.full
def test_a_store_to_an_operand_before_the_wait_is_reported(machine_of):
    machine = machine_of("hopper")
    pool, registers = operands_of(machine, 6, 1)
    address = PLACES[1] + 1000
    lines = [*AT, f"li a2, {address:#x}", "start: hgmma a0, a1", "sw t0, 0(a2)", "hgmma_wait"]
    text = place(machine, lines, pool, registers)
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.MISMATCH
    start = assemble_program(text).labels["start"]
    for part in ("race", f"{address:#010x}", f"{start:#010x}", "warp 0", f"{start + 4:#010x}"):
        assert part in outcome.mismatch, outcome.mismatch
    # After the wait it is no race.
    lines[-2:] = reversed(lines[-2:])
    execute(machine, lines, pool, registers)


@pytest.mark.full
def test_an_early_reader_of_c_waits_and_an_integer_does_not(machine_of):
    machine, cycles = machine_of("hopper"), {}
    pool, registers = operands_of(machine, 7, 1)
    for name, line in (("integer", "addi t3, t2, 1"), ("float", "fsgnj.s f31, f31, f31")):
        lines = [*AT, "hgmma a0, a1", line, *["addi t3, t3, 1"] * 100, "hgmma_wait"]
        cycles[name] = execute(machine, lines, pool, registers)[0].cycles
    assert cycles["float"] - cycles["integer"] >= 90


@pytest.mark.full
def test_serialising_instructions_do_not_wait_for_products(machine_of):
    """A barrier of one warp, a mask and a control register, while a product is under way."""
    machine, cycles = machine_of("hopper"), []
    pool, registers = operands_of(machine, 10, 1)
    between = ["vx_bar s2, s3", "li t0, -1", "vx_tmc t0", "csrr t2, warp_id"]
    work = ["addi t3, t3, 1"] * 60
    for lines in ([*between, *work, "hgmma_wait"], ["hgmma_wait", *between, *work]):
        start = [*AT, "li s2, 0", "li s3, 1", "hgmma a0, a1"]
        cycles.append(execute(machine, [*start, *lines], pool, registers)[0].cycles)
    assert cycles[1] - cycles[0] >= 60


#: Cycles of a product by the warps that run chains of them: one warp gathers C, multiplies and
#: writes C back; two are enough to keep the unit busy.
CYCLES = {1: 209, 2: 128, 4: 128}


@pytest.mark.parametrize("warps", [1, 2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.full
def test_cycles_of_a_product(machine_of, warps):
    machine, cycles = machine_of("hopper"), []
    pool, registers = operands_of(machine, 8, warps)
    registers = registers & 0x3FFF_FFFF  # no NaN, no infinities
    for length in (8, 32):
        loop = ["again: hgmma a0, a1", "addi t3, t3, -1", "bnez t3, again"]
        lines = [*AT, f"li t3, {length}", *loop, "hgmma_wait"]
        outcome, _ = execute(machine, lines, pool, registers)
        cycles.append(outcome.cycles)
    # The warps end in another order, which shifts the end of the run by up to a product.
    assert (cycles[1] - cycles[0]) / (24 * warps) == pytest.approx(CYCLES[warps], abs=2)


@pytest.mark.slow
def test_lockstep_on_the_amaranth_simulator():
    config = config_of("hopper")
    config = replace(config, core=replace(config.core, warps=1, collectors=2))
    with ProgramMachine(
        config, engine="amaranth", memory=DramConfig(latency=10), lockstep=True
    ) as machine:
        execute(machine, CASES["masked lanes"], *operands_of(machine, 9))
        assert machine.counters()[0]["operations_tensor"] == 3


@pytest.mark.parametrize("mask", [1, 0x7F, 0xFE])
@pytest.mark.parametrize("line", ["hgmma a1, a0", "hgmma_wait"])
@pytest.mark.quick(1)
def test_inactive_threads_are_a_fault(machine_of, line, mask):
    """Also while a product is under way; its results are complete at the end of the warp."""
    machine = machine_of("hopper")
    pool, registers = operands_of(machine, 7, 1)
    lines = [*AT, "hgmma a0, a1", f"li t0, {mask:#x}", "vx_tmc t0", f"wrong: {line}"]
    fault = fault_of(machine, lines, pool, registers)
    assert (fault.cause, fault.lanes) == (FaultCause.INACTIVE_THREADS, mask)
