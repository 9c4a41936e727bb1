"""Tests of cores on both engines: programs end as on the model, or with a diagnosis."""

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.core.control.faults import FaultCause
from spica.hw.isa.memory_map import (
    CONSOLE_BASE,
    COUNTER_DUMP,
    DMA_BASE,
    DRAM_BASE,
    ENTRY,
    SHARED_BASE,
)
from spica.hw.isa.program import assemble_program
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import END, START, small_config
from spica.sim.machine.program_machine import ProgramMachine
from support.cluster.kept_machines import AWFUL, kept_machines
from support.core.core_bench import image, run_model
from support.programs.samples import ROOM, SAMPLES, sample

#: Cores, warps, threads.
SHAPES = {"one thread": (1, 1, 1), "one core": (1, 2, 4), "two cores": (2, 2, 2)}
NEAR = 256
LIMIT = 50_000


def config_of(shape):
    cores, warps, threads = SHAPES[shape]
    return small_config(cores=cores, warps=warps, threads=threads)


@kept_machines
def machine_of(shape, memory=None):
    """Return the machine of a shape."""
    return ProgramMachine(config_of(shape), memory=memory, optimize=0)


def execute(machine, text, limit=LIMIT):
    """Run a program from reset, in otherwise empty memory."""
    machine.write(ENTRY, image(text, ROOM))
    machine.write(SHARED_BASE, bytes(NEAR))
    return machine.run(limit)


def assert_ends_as_on_the_model(machine, text, outcome):
    expected = run_model(machine.config, text, ROOM)
    assert outcome.stop is StopReason.DONE
    assert machine.read(ENTRY, ROOM).tobytes() == expected.read(ENTRY, ROOM).tobytes()
    near = expected.read(SHARED_BASE, NEAR).tobytes()
    assert machine.read(SHARED_BASE, NEAR).tobytes() == near
    assert outcome.core_instructions == expected.statistics.core_instructions
    assert outcome.issued == outcome.core_instructions
    assert outcome.exit_code == expected.exit_code
    # The order in which warps print depends on timing.
    assert sorted(machine.console) == sorted(expected.console)


@pytest.mark.parametrize("memory", [CoreMemoryConfig(), CoreMemoryConfig(latency=20), AWFUL])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.quick("*s-one core-memory1")
def test_programs_end_as_on_the_model(machine_of, name, shape, memory):
    machine = machine_of(shape, memory)
    outcome = execute(machine, sample(name))
    assert_ends_as_on_the_model(machine, sample(name), outcome)
    for state, slots, cycles in zip(
        machine.core_states(), outcome.slots, outcome.core_cycles, strict=True
    ):
        assert sum(slots.values()) == cycles <= outcome.cycles
        assert slots["NONE"] == state.collected == state.instructions
        assert (state.pending_fetches, state.pending_requests, state.active) == (0, 0, 0)
        assert not any(state.under_way)
    assert max(outcome.core_cycles) == outcome.cycles


@pytest.mark.parametrize(
    ("shape", "memory", "name"),
    [
        ("one thread", AWFUL, "parts of words"),
        pytest.param("one core", CoreMemoryConfig(), "floats", marks=pytest.mark.slow),
        pytest.param("two cores", AWFUL, "shared memory", marks=pytest.mark.slow),
    ],
)
@pytest.mark.full
def test_engines_take_the_same_cycles(machine_of, shape, memory, name):
    text = sample(name)
    verilated = execute(machine_of(shape, memory), text)
    with ProgramMachine(config_of(shape), engine="amaranth", memory=memory) as machine:
        outcome = execute(machine, text)
        assert_ends_as_on_the_model(machine, text, outcome)
        with pytest.raises(UserError, match="runs one program only"):
            machine.run()
    for figure in ("cycles", "core_cycles", "slots", "issued"):
        assert getattr(outcome, figure) == getattr(verilated, figure)


@pytest.mark.parametrize("memory", [CoreMemoryConfig(), AWFUL])
@pytest.mark.full
def test_gating_changes_nothing_but_clocks(memory):
    text = sample("divergence")
    outcomes = {}
    for gating in ("ungated", "gated", "random"):
        with ProgramMachine(
            config_of("two cores"), memory=memory, optimize=0, gating=gating, seed=3
        ) as machine:
            outcomes[gating] = outcome = execute(machine, text)
            assert_ends_as_on_the_model(machine, text, outcome)
    ungated, gated, random = (outcomes[name] for name in ("ungated", "gated", "random"))
    for outcome in (gated, random):
        assert (outcome.cycles, outcome.slots) == (ungated.cycles, ungated.slots)
    assert gated.clocked["core0"] == gated.core_cycles[0]
    assert gated.clocked["core0"] < random.clocked["core0"] < ungated.clocked["core0"]
    assert gated.clocked["sync"] == ungated.clocked["sync"] == ungated.clocked["core0"]


def chase(count):
    """Return a program of dependent loads."""
    return (
        "la a0, here\nhere: nop\n"
        + "lw a1, 0(a0)\nadd a1, a1, zero\nand a2, a1, zero\nadd a0, a0, a2\n" * count
        + END
    )


def test_latency_is_what_each_load_waits(machine_of):
    config = config_of("one core")
    fast, slow = (machine_of("one core", CoreMemoryConfig(latency=latency)) for latency in (1, 20))
    loads = {
        machine: execute(machine, chase(9)).cycles - execute(machine, chase(5)).cycles
        for machine in (fast, slow)
    }
    # Four loads, and the fetch of eight more pairs of instructions in turn.
    assert config.core is not None
    assert loads[slow] - loads[fast] >= 4 * 19
    assert fast.core_states()[0].loads == 5


def test_a_run_continues_at_its_limit(machine_of):
    machine = machine_of("one core")
    text = sample("floats")
    whole = execute(machine, text)
    part = execute(machine, text, 50)
    assert (part.stop, part.cycles) == (StopReason.LIMIT, 50)
    assert part.instructions < whole.instructions
    for stop in range(100, whole.cycles, 50):
        part = machine.run(50)
        assert (part.stop, part.cycles) == (StopReason.LIMIT, stop)
    rest = machine.run()
    assert_ends_as_on_the_model(machine, text, rest)
    assert (rest.cycles, rest.slots) == (whole.cycles, whole.slots)
    assert rest.clocked["core0"] == whole.clocked["core0"]


PRINTING = f"""{START}
        li a0, {CONSOLE_BASE:#x}
        csrr a1, mhartid
        add a0, a0, a1
        addi a2, a1, 65
        sb a2, 0(a0)
        csrr a3, warp_id
        bnez a3, end
        li gp, 7
end:    nop
{END}"""


def test_what_programs_print_is_shown_while_they_run(machine_of):
    machine = machine_of("one core")
    said = []
    machine.on_console = said.append
    outcome = execute(machine, PRINTING)
    machine.on_console = None
    assert machine.console == b"".join(said)
    assert sorted(machine.console) == list(b"ABCDEFGH")
    assert machine.console.index(b"A") == machine.console.index(b"BCD") - 1
    assert outcome.exit_code == 7


def access(address, instruction):
    return f"li a0, {address:#x}\nli a1, 0x12345678\n{instruction}\nlw a3, 0(a0)\n{END}"


@pytest.mark.parametrize("where", ["shared", "print", "dump"])
@pytest.mark.full
def test_what_lies_behind_dram_is_memory(machine_of, where):
    machine = machine_of("two cores")
    size = machine.config.shared.size
    address = {
        "shared": SHARED_BASE + size - 4,
        "print": SHARED_BASE + size + DMA_BASE - 4,
        "dump": COUNTER_DUMP + 4,
    }[where]
    assert execute(machine, access(address, "sw a1, 0(a0)")).stop is StopReason.DONE
    assert machine.read(address, 4).view(np.uint32).tolist() == [0x12345678]


REGISTERS = SHARED_BASE + small_config().shared.size + DMA_BASE
FAULTS = {
    "nothing there": ("li a0, 0x90000000\njr a0", FaultCause.FETCH, None),
    "underflow": ("li a0, 1\nvx_join a0", FaultCause.STACK_UNDERFLOW, None),
    "misaligned": ("li a0, 0x80000402\nlw a1, 0(a0)", MemoryFault.MISALIGNED, 0x80000402),
    "below memory": ("lw a1, 64(zero)", MemoryFault.UNADDRESSABLE, 64),
    "above memory": ("li a0, 0xFFFFF000\nsw a1, 0(a0)", MemoryFault.REFUSED, 0xFFFFF000),
    "registers": (f"li a0, {REGISTERS:#x}\nlw a1, 0(a0)", MemoryFault.REFUSED, REGISTERS),
    "console load": (f"li a0, {CONSOLE_BASE:#x}\nlbu a1, 0(a0)", MemoryFault.REFUSED, CONSOLE_BASE),
    "console word": (f"li a0, {CONSOLE_BASE:#x}\nsw a1, 0(a0)", MemoryFault.REFUSED, CONSOLE_BASE),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_state_what_where_and_why(machine_of, name):
    body, cause, address = FAULTS[name]
    text = f"li t0, 0xD\nvx_tmc t0\n{body}\n{END}"
    machine = machine_of("one core")
    outcome = execute(machine, text)
    assert outcome.stop is StopReason.FAULT
    fault = outcome.fault
    assert fault is not None
    assert (fault.core, fault.warp, fault.cause, fault.lanes) == (0, 0, cause, 0xD)
    words = len(assemble_program(f"li t0, 0xD\nvx_tmc t0\n{body}").data) // 4
    expected = 0x9000_0000 if cause is FaultCause.FETCH else ENTRY + 4 * (words - 1)
    assert fault.pc == expected
    if address is not None:
        assert fault.address == address


def test_only_what_was_placed_may_be_touched():
    at = DRAM_BASE + 0x10000
    text = access(at, "sw a1, 0(a0)")
    program = assemble_program(text).data
    with ProgramMachine(config_of("one core"), optimize=0) as machine:
        machine.write(ENTRY, program)
        machine.allow(ENTRY, len(program))
        outcome = machine.run()
        assert outcome.fault is not None
        assert (outcome.fault.cause, outcome.fault.address) == (MemoryFault.REFUSED, at)
        assert not machine.read(at, 4).any()
        machine.allow(at, 4)
        assert machine.run().stop is StopReason.DONE
        machine.write(ENTRY, assemble_program(access(at, "sw a1, 4(a0)")).data)
        outcome = machine.run()
        assert outcome.fault is not None
        assert outcome.fault.address == at + 4


@pytest.mark.full
def test_a_core_that_faults_is_named(machine_of):
    text = f"csrr a0, core_id\nbeqz a0, end\n.word 0\nend: j end\n{END}"
    outcome = execute(machine_of("two cores"), text)
    assert outcome.stop is StopReason.FAULT
    assert outcome.fault is not None
    assert (outcome.fault.core, outcome.fault.pc) == (1, ENTRY + 8)


@pytest.mark.parametrize("memory", [CoreMemoryConfig(), CoreMemoryConfig(latency=100)])
@pytest.mark.full
def test_warps_that_wait_for_each_other_are_a_deadlock(machine_of, memory):
    machine = machine_of("two cores", memory)
    # The second core's warps never arrive.
    text = f"""{START}
        csrr a0, core_id
        bnez a0, end
        li a1, 1
        csrr a2, num_warps
        vx_bar a1, a2
end:    nop
{END}"""
    outcome = execute(machine, text)
    assert outcome.stop is StopReason.DEADLOCK
    states = machine.core_states()
    assert [(state.active, state.at_barrier) for state in states] == [(3, 3), (0, 0)]
    # Long before the watchdog.
    assert outcome.cycles - max(state.last_done for state in states) < 300


@pytest.mark.full
def test_a_barrier_that_opens_late_is_no_deadlock(machine_of):
    text = f"""{START}
        csrr a0, core_id
        li a1, 400
wait:   addi a1, a1, -1
        mul a0, a0, a1
        bnez a0, wait
        li a1, 1
        csrr a2, num_warps
        vx_bar a1, a2
{END}"""
    assert execute(machine_of("two cores"), text).stop is StopReason.DONE


def test_nothing_moving_is_a_hang():
    memory = CoreMemoryConfig(latency=2000)
    config = config_of("one core")
    with ProgramMachine(config, memory=memory, optimize=0, watchdog=500) as machine:
        outcome = execute(machine, sample("integers"))
        assert outcome.stop is StopReason.HANG
        assert 500 <= outcome.cycles < 510
        (state,) = machine.core_states()
        assert (state.pending_fetches, state.instructions, state.active) == (2, 0, 1)
    with ProgramMachine(config, memory=memory, optimize=0, watchdog=2100) as machine:
        assert execute(machine, sample("integers"), 1 << 20).stop is StopReason.DONE


@pytest.mark.full
def test_an_endless_loop_reaches_its_limit(machine_of):
    outcome = execute(machine_of("one thread"), "end: j end", 3000)
    assert (outcome.stop, outcome.cycles) == (StopReason.LIMIT, 3000)
    assert outcome.instructions > 300


@pytest.mark.full
def test_bad_requests_are_one_sentence(machine_of):
    config = config_of("one thread")
    with pytest.raises(UserError, match="needs cores; this cluster has none"):
        ProgramMachine(type(config)())
    with pytest.raises(UserError, match="engine must be one of verilator, amaranth, not 'x'"):
        ProgramMachine(config, engine="x")
    with pytest.raises(UserError, match=r"gating must be one of .*, not 'x'"):
        ProgramMachine(config, gating="x")
    machine = machine_of("one thread")
    for address in (0, 0xFFFF_FFFF, REGISTERS, -1):
        with pytest.raises(UserError, match="address must be in DRAM or shared memory for 4"):
            machine.write(address, b"1234")
    with pytest.raises(UserError, match="region must be 1 byte or more"):
        machine.allow(ENTRY, 0)
