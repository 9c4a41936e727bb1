"""Tests of every instruction with boundary operands, and of every fault, in lockstep."""

import pytest

from spica.hw.base.errors import MachineError
from spica.hw.core.control.faults import FaultCause
from spica.hw.core.units.lsu.memory_layouts import MemoryFault
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import CONSOLE_BASE
from spica.hw.isa.operations import Unit
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from support.cluster.kept_machines import kept_machines
from support.core.lockstep_fuzz import (
    FUZZ_CONFIGS,
    TIMINGS,
    Tally,
    check,
    fuzz_machine,
    run_programs,
    shape_name,
)
from support.programs.accesses import branch_program, memory_program, register_program
from support.programs.faults import FAULTS
from support.programs.instructions import arithmetic_program
from support.programs.placed_program import PlacedProgram, place
from support.programs.warp_control import (
    changed_code_program,
    control_program,
    rejoin_program,
    spawn_program,
)

EXECUTED = {name for name, each in INSTRUCTIONS.items() if each.unit is not Unit.TENSOR}
#: Shapes of the slow tier.
SLOW = ("1x2x5", "1x2x8")
BARRIER_OF_CORES = next(config for config in FUZZ_CONFIGS if config.cores > 1)


def directed_programs(config):
    """Return programs that together contain every instruction in every form."""
    operands = max(4, 32 // (config.core.warps * config.core.threads))
    return [
        arithmetic_program(config, rounds=operands, seed=1, reads_flags=True),
        arithmetic_program(config, rounds=operands, seed=2),
        *(memory_program(config, seed=seed) for seed in range(4)),
        branch_program(config, rounds=12),
        register_program(config),
        control_program(config),
        rejoin_program(config),
        spawn_program(config),
        changed_code_program("ecall"),
        changed_code_program("ebreak", rounds=5),
    ]


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(config, marks=pytest.mark.slow if shape_name(config) in SLOW else ())
        for config in FUZZ_CONFIGS
    ],
    ids=shape_name,
)
@pytest.mark.quick("1x2x4")
def test_every_instruction_does_what_it_does_on_the_model(config):
    tally = Tally()
    run_programs(config, directed_programs(config), tally)
    assert set(tally.mnemonics) == EXECUTED
    threads = config.core.threads
    # Two nests, with a split for each thread but the last, in every warp.
    nests = 2 * (threads - 1) * config.core.warps * config.cores
    assert tally.divergent_splits >= nests
    assert tally.barriers >= 16 * config.core.warps * config.cores


@pytest.mark.parametrize("memory", TIMINGS[1:], ids=lambda memory: f"latency {memory.latency}")
@pytest.mark.full
def test_every_instruction_with_slow_memory(memory):
    tally = Tally()
    config = FUZZ_CONFIGS[0]
    programs = directed_programs(config)[2:]
    run_programs(config, programs, tally, memory, gating="random", seed=5)
    assert tally.programs == len(programs)


def test_what_is_printed_comes_out_in_order():
    text = "\n".join(
        [f"li s0, {CONSOLE_BASE}", "li gp, 3", "csrr t1, core_id", "bnez t1, end"]
        + [f"li t0, {byte}\nsb t0, 0(s0)" for byte in b"warp 0\n"]
        + ["end: vx_tmc zero"]
    )
    with fuzz_machine(FUZZ_CONFIGS[0]) as machine:
        outcome = check(machine, PlacedProgram(text))
        assert machine.console == b"warp 0\n"
        assert outcome.exit_code == 3


def test_instructions_are_counted_as_the_model_counts_them():
    """In lockstep, counters are copied from the core; here the model runs separately."""
    place_of_results = 0x8010_0000
    text = f"""
        li t0, -1
        vx_tmc t0
        li s0, {place_of_results}
        csrr a0, minstret
        fcvt.s.w fa0, a0
        fdiv.s fa1, fa0, fa0
        lw a1, 64(s0)
        mul a2, a0, a0
        csrr a3, minstret
        csrr a4, mcycle
        sw a0, 0(s0)
        csrr a5, minstret
        csrr a6, mcycle
        sw a3, 4(s0)
        sw a5, 8(s0)
        sub a6, a6, a4
        sw a6, 12(s0)
        csrr a0, minstreth
        sw a0, 16(s0)
        vx_tmc zero
    """
    program = PlacedProgram(text, (), ((place_of_results, 256),))
    iss = Iss(FUZZ_CONFIGS[0])
    place(iss, program)
    iss.run()
    with fuzz_machine(FUZZ_CONFIGS[0], lockstep=False) as machine:
        place(machine, program)
        outcome = machine.run()
        counted, expected = (
            each.read(place_of_results, 20).view("<u4").tolist() for each in (machine, iss)
        )
    elapsed = counted.pop(3)
    expected.pop(3)
    assert counted == expected
    assert 3 <= elapsed < outcome.cycles


# Faults


machine_of = kept_machines(fuzz_machine)


@pytest.mark.parametrize("memory", [None, TIMINGS[1]], ids=["at once", "by chance"])
@pytest.mark.parametrize("program", FAULTS.values(), ids=FAULTS)
@pytest.mark.quick(6)
def test_a_fault_is_that_of_the_model(machine_of, program, memory):
    config = BARRIER_OF_CORES if program.cores > 1 else FUZZ_CONFIGS[0]
    machine, iss = machine_of(config, memory), Iss(config)
    place(machine, program.placed)
    place(iss, program.placed)
    outcome = machine.run()
    expected = iss.run(100_000).fault
    assert outcome.stop is StopReason.FAULT, outcome
    fault = outcome.fault
    assert (fault.cause, fault.pc) == (program.cause, program.pc)
    assert (fault.core, fault.warp, fault.pc, fault.lanes) == (
        *(expected.core, expected.warp, expected.pc),
        expected.lanes,
    )
    if isinstance(fault.cause, MemoryFault) or fault.cause is FaultCause.MISALIGNED_JUMP:
        assert fault.address == expected.address


def test_there_is_a_program_for_every_cause():
    # Those of tensor units: `test_core_tensor` and `test_cluster_hgmma`.
    of_tensor_units = {FaultCause.NO_PRODUCT, FaultCause.INACTIVE_THREADS}
    assert {each.cause for each in FAULTS.values()} == {*FaultCause, *MemoryFault} - of_tensor_units


# Detection of differences


@pytest.mark.full
def test_a_difference_of_one_register_is_found():
    program = PlacedProgram("li a0, 3\nli a1, 4\nadd a2, a0, a1\nvx_tmc zero")
    changed = PlacedProgram(program.text.replace("add", "sub"))
    with fuzz_machine(FUZZ_CONFIGS[0]) as machine:
        check(machine, program)
        place(machine, program)
        assert machine.iss is not None
        place(machine.iss, changed)
        assert machine.run().stop is StopReason.MISMATCH
        with pytest.raises(MachineError, match="fault"):
            check(machine, PlacedProgram(".word 0"))
