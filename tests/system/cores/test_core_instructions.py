"""Tests of every instruction, every fault and random programs on cores, in lockstep."""

from dataclasses import replace
from itertools import count

import pytest

from spica.base.errors import MachineError
from spica.hw.core.control.faults import FaultCause
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import CONSOLE_BASE
from spica.hw.isa.operations import PORTS, Unit
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from support.cluster.kept_machines import kept_machines
from support.core.lockstep_fuzz import (
    FUZZ_CONFIGS,
    SWEEP_CONFIGS,
    TIMINGS,
    Tally,
    check,
    fuzz_machine,
    random_program,
    run_programs,
    shape_name,
)
from support.programs.accesses import branch_program, memory_program, register_program
from support.programs.faults import FAULTS
from support.programs.instructions import arithmetic_program
from support.programs.placed_program import PlacedProgram, place
from support.programs.reduction import reduce_program
from support.programs.warp_control import (
    changed_code_program,
    control_program,
    rejoin_program,
    spawn_program,
)
from support.slow_cases import fast_only

EXECUTED = {
    name
    for name, item in INSTRUCTIONS.items()
    if item.unit not in (Unit.TENSOR, Unit.ATOMIC, Unit.BARRIER)
    and name not in ("pause", "vx_wait")
}
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


def test_what_is_printed_appears_in_order():
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
            item.read(place_of_results, 20).view("<u4").tolist() for item in (machine, iss)
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
    # Those of units: `test_core_tensor`, `test_cluster_hgmma`, `test_cluster_waits`.
    of_units = {FaultCause.NO_PRODUCT, FaultCause.INACTIVE_THREADS, FaultCause.NO_PROGRESS}
    assert {item.cause for item in FAULTS.values()} == {*FaultCause, *MemoryFault} - of_units


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


#: Instructions that end a whole core; random programs have none.
ENDING = {"ecall", "ebreak"}
CONTINUING = EXECUTED - ENDING
#: Shares of the instructions for each of `TIMINGS`: few for slow timings.
SHARES = (0.7, 0.15, 0.1, 0.05)


def programs_until(tally, instructions, config, seeds, rounds):
    """Return random programs until this many instructions were counted."""
    for seed in seeds:
        if tally.instructions >= instructions:
            return
        yield random_program(seed, config, rounds)


def fuzz(config, instructions, first_seed, rounds, **options):
    """Run random programs with every memory; return the counts."""
    tally, seeds, total = Tally(), count(first_seed), 0
    for number, (memory, share) in enumerate(zip(TIMINGS, SHARES, strict=True)):
        total += share * instructions
        gating = ("gated", "random", "ungated", "gated")[number]
        programs = programs_until(tally, total, config, seeds, rounds)
        run_programs(config, programs, tally, memory, gating=gating, seed=number, **options)
    assert tally.instructions >= instructions
    return tally


def require_variety(tally, config):
    """Require enough of every kind of difficulty, relative to the number of instructions."""
    core, thousands = config.core, tally.instructions // 1000
    assert tally.programs >= len(TIMINGS)
    assert tally.barriers >= thousands
    assert tally.mnemonics["vx_wspawn"] >= thousands // 10
    assert tally.mnemonics["vx_pred"] >= 3 * thousands
    assert tally.mnemonics["vx_tmc"] >= 3 * thousands
    assert tally.divergent_splits >= (thousands if core.threads > 1 else 0)
    floats = sum(tally.mnemonics[name] for name in CONTINUING if name.endswith(".s"))
    accesses = sum(n for name, n in tally.mnemonics.items() if INSTRUCTIONS[name].unit is Unit.LSU)
    assert floats >= 50 * thousands
    assert accesses >= 50 * thousands


#: The fast tests have every number of cores and issue slots, scheduler, mapping and arbiter.
QUICK = FUZZ_CONFIGS[:5]


@pytest.mark.parametrize("config", fast_only(QUICK, FUZZ_CONFIGS), ids=shape_name)
@pytest.mark.quick("1x2x4")
def test_random_programs(config):
    tally = fuzz(config, 30_000, first_seed=1, rounds=1)
    require_variety(tally, config)


def test_random_programs_are_of_200_000_instructions_on_cores_of_all_kinds():
    assert len(FUZZ_CONFIGS) * 30_000 >= 200_000
    cores = [config.core for config in FUZZ_CONFIGS]
    for name, values in {
        "warps": {1, 2, 3, 4, 8},
        "threads": {1, 2, 3, 4, 5, 8},
        "issue_width": {1, 2},
        "banks": {1, 2, 4, 8, 16},
        "bank_mapping": {"warp", "thread"},
        "bank_arbiter": {"round_robin", "age"},
        "collectors": {1, 2, 4, 5, 6, 8},
        "snoop": {True, False},
        "writeback_buses": {1, 2, 3, 4},
        "scheduler": {"round_robin", "greedy_then_oldest", "oldest", "two_level"},
        "accesses": {1, 2, 4, 8, 16, 32},
        "divergent_branch": {"error", "vortex"},
        "fma_latency": {3, 4, 5, 6},
        "multiply_latency": {2, 3, 4},
    }.items():
        assert {getattr(core, name) for core in cores} == values, name
    for port in (port for port, info in PORTS.items() if info.lanes is not None):
        assert any(core.lanes(port) < core.threads for core in cores), port
    assert {config.cores for config in FUZZ_CONFIGS} == {1, 2}


def test_programs_are_the_same_for_a_seed_and_others_for_another():
    config = FUZZ_CONFIGS[0]
    for seed in (6, 7):
        assert random_program(seed, config, 2) == random_program(seed, config, 2)
        assert random_program(seed, config, 2) != random_program(seed + 4, config, 2)


def test_a_program_is_reduced_to_what_shows_something():
    """Only a quotient with its operands and its address remains."""
    config = FUZZ_CONFIGS[0]
    iss = Iss(config)

    def shows(program):
        iss.reset()
        place(iss, program)
        ends = iss.run(50_000).stop is StopReason.DONE
        return ends and bool((iss.read(*program.regions[1])[:4].view("<u4") == 77).any())

    program = random_program(4, config, 1)
    marked = program.text.replace(
        "vx_tmc x0",
        "li a0, 539\nli a1, 7\nli a2, 0x80800000\ndiv a0, a0, a1\nsw a0, 0(a2)\nvx_tmc x0",
    )
    assert marked != program.text
    reduced = reduce_program(replace(program, text=marked), shows)
    assert shows(reduced)
    lines = reduced.text.splitlines()
    assert {"div a0, a0, a1", "sw a0, 0(a2)"} <= set(lines)
    # Operands, address, quotient, store and an end.
    assert len(lines) == 6


@pytest.mark.slow
@pytest.mark.parametrize("config", (*FUZZ_CONFIGS, *SWEEP_CONFIGS), ids=shape_name)
def test_many_random_programs(config):
    """Ten million instructions in total, on sixteen kinds of cores."""
    tally = fuzz(config, 650_000, first_seed=10_000, rounds=2, optimize=1)
    require_variety(tally, config)
    assert set(tally.mnemonics) == CONTINUING
