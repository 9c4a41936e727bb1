"""Tests of DRAM coherence between cores, DMA and host through the caches of a cluster."""

from dataclasses import replace

import numpy as np
import pytest

from spica.base.errors import MachineError
from spica.hw.isa.memory_map import CORES, CORES_BASE, ENTRY
from spica.hw.isa.program import assemble_program
from spica.kernels.commands import CommandList
from spica.sim.harness.dram import DramConfig, Fault
from spica.sim.iss.program_bench import END
from spica.sim.machine.command_machine import CommandMachine
from support.cluster.host_run import RUNS, run_program
from support.cluster.small_caches import SMALL_CACHES
from support.core.core_bench import image, run_model
from support.programs.unit_programs import alone, load, store, wait, zeros

ROOM = 8192
WORDS = 64
TWO = SMALL_CACHES
STATE, FLUSH = (CORES_BASE + CORES[name].offset for name in ("state", "flush"))
REFUSED = 1 << 5

#: Stores words over more lines than any cache holds.
WRITES = f"""
        la a0, room
        li a1, {WORDS}
store:  sw a1, 0(a0)
        addi a0, a0, 68
        addi a1, a1, -1
        bnez a1, store
"""
PLACE = "        .word 0\nroom:   .word 0\n"
#: Both cores hold a line that core 0 then changes; core 1 keeps its copy until it fences.
SHARES = f"""
        la a0, word
        la a1, found
        csrr t0, core_id
        slli t1, t0, 3
        add a1, a1, t1
        li a3, 1
        li a4, 1
        lw t2, 0(a0)
        fence rw, rw
        lw t2, 0(a0)
        vx_bar a3, a4
        bnez t0, meets
        li t2, 77
        sw t2, 0(a0)
        fence rw, rw
meets:  vx_bar a3, a4
        lw t2, 0(a0)
        sw t2, 0(a1)
        fence rw, rw
        lw t2, 0(a0)
        sw t2, 4(a1)
        {END}
        .word 0
word:   .word 5
        {zeros(15)}
found:  .word 0
"""


def size_of(text: str) -> int:
    """Return the bytes of a program."""
    return len(assemble_program(text).data)


def written(memory, text: str) -> list[int]:
    """Return the words that `WRITES` stored after a program."""
    first = size_of(text) // 4
    return np.frombuffer(memory, np.uint32)[first:][: 17 * WORDS].tolist()


def start() -> CommandList:
    """Return commands that start the cores first."""
    commands = CommandList()
    commands.write(CORES_BASE + CORES["start"].offset, 1)
    return commands


def flush(commands: CommandList) -> CommandList:
    """Append a flush to a command list."""
    commands.write(FLUSH, 1)
    commands.wait_equal(FLUSH, 0)
    return commands


def expected(text: str, config=TWO) -> bytes:
    """Return the model's final DRAM contents."""
    return run_model(config, text, ROOM).read(ENTRY, ROOM).tobytes()


@pytest.fixture(scope="module")
def machine():
    """Return a cluster of two cores with small caches and a matrix unit; DRAM stalls."""
    dram = DramConfig(latency=30, stall=0.2, seed=3)
    with CommandMachine(
        TWO, name="small_caches", optimize=1, memory=dram, watchdog=5000
    ) as machine:
        yield machine


@pytest.mark.slow
def test_another_core_sees_a_write_after_its_fence(machine):
    machine.reset()
    run = run_program(machine, SHARES, ROOM)
    words = np.frombuffer(run.memory, np.uint32)[-ROOM // 4 :]
    at = size_of(SHARES) // 4 - 1
    assert words[at : at + 4].tolist() == [77, 77, 5, 77]


@pytest.mark.slow
def test_a_run_after_a_reset_is_the_same(machine):
    """The first cycles reveal state that is not reset; compared with another run."""
    text, runs = WRITES + END + PLACE, []
    for _ in range(3):
        machine.reset()
        runs.append(run_program(machine, text, ROOM))
        assert runs[-1].memory == expected(text)
    assert runs[1].execution.cycles == runs[2].execution.cycles


@pytest.mark.slow
@pytest.mark.parametrize("allocates", [False, True])
def test_the_dma_reads_what_a_core_wrote_and_a_core_what_the_dma_wrote(machine, allocates):
    text = (
        alone(TWO)
        + f"""
        la a2, source
        la a3, target
        li a4, {WORDS}
write:  slli a5, a4, 3
        sw a5, 0(a2)
        lw a6, 0(a3)        # in the caches as it is before the DMA comes
        addi a2, a2, 4
        addi a3, a3, 4
        addi a4, a4, -1
        bnez a4, write
        fence rw, rw
"""
        + load(0, "source", 1, 4 * WORDS)
        + wait("loaded", "dma_loads_done", "bltu", 1)
        + store("dma_dram", "target")
        + store("dma_start", 1)
        + wait("stored", "dma_stores_done", "bltu", 1)
        + f"""
        fence rw, rw
        la a3, target
        la a7, copy
        li a4, {WORDS}
read:   lw a5, 0(a3)
        sw a5, 0(a7)
        addi a3, a3, 4
        addi a7, a7, 4
        addi a4, a4, -1
        bnez a4, read
        {END}
        .word 0
source: {zeros(WORDS)}target: {zeros(WORDS)}copy:   .word 0
"""
    )
    if not allocates:
        machine.reset()
        assert run_program(machine, text, ROOM).memory == expected(text)
        return
    config = replace(TWO, l2=replace(TWO.l2, no_allocate_sources=()))
    with CommandMachine(config, name="dma_allocates", optimize=0) as other:
        assert run_program(other, text, ROOM).memory == expected(text)


@pytest.mark.slow
@pytest.mark.parametrize("gating", ["gated", "random"])
def test_the_host_flushes_while_cores_run(gating):
    """Stores before the flush are in DRAM before the run ends, later ones at its end."""
    text = f"""
        la a0, word
        li a1, 1234
        sw a1, 0(a0)
        fence rw, rw
        li a2, 1500
again:  sw a2, 64(a0)
        addi a2, a2, -1
        bnez a2, again
        {END}
        .word 0
word:   .word 0
"""
    at = ENTRY + size_of(text) - 4
    dram = DramConfig(latency=30, stall=0.2, seed=3)
    with CommandMachine(
        TWO, name="small_caches", optimize=1, memory=dram, gating=gating
    ) as machine:
        machine.write(ENTRY, image(text, ROOM))
        commands = start()
        for _ in range(40):
            commands.read(STATE)  # until the word is stored
        flush(commands).read(STATE)
        commands.wait_equal(STATE, 0, RUNS)
        flush(flush(commands)).read(STATE)
        machine.begin(commands.array())
        while len(machine.harness.reads()) < 41:
            assert machine.cycles < 50_000
            machine.advance(machine.cycles + 20)
        assert machine.harness.reads()[-1] & RUNS
        assert machine.read(at, 4).view(np.uint32).tolist() == [1234]
        assert machine.read(at + 64, 4).view(np.uint32)[0] > 1
        machine.advance(200_000)
        assert machine.execution().reads[-1] == 0
        assert machine.read(at, 128).view(np.uint32)[::16].tolist() == [1234, 1]


@pytest.mark.slow
def test_dram_has_everything_when_the_run_is_over():
    """Checked when the host reads the end, although writes take long to reach this DRAM."""
    dram, text = DramConfig(latency=400, jitter=300, seed=1), WRITES + END + PLACE
    with CommandMachine(
        TWO, name="small_caches", optimize=1, memory=dram, watchdog=5000
    ) as machine:
        machine.write(ENTRY, image(text, ROOM))
        commands = start()
        commands.wait_equal(STATE, 0, RUNS)
        commands.read(STATE)
        machine.begin(commands.array())
        while not len(machine.harness.reads()):
            assert machine.cycles < 100_000
            machine.advance(machine.cycles + 5)
        assert machine.read(ENTRY, ROOM).tobytes() == expected(text)


@pytest.mark.slow
def test_after_a_fault_the_host_flushes(machine):
    machine.reset()
    text = WRITES + "        fence rw, rw\n        .word 0\n" + PLACE
    machine.write(ENTRY, image(text, ROOM))
    commands = start()
    commands.wait_equal(STATE, 0, RUNS)
    with pytest.raises(MachineError, match="raised fault ILLEGAL in threads 0x1 of warp 0"):
        machine.execute(flush(commands).array(), 50_000)
    model = WRITES + END + PLACE
    assert written(machine.read(ENTRY, ROOM), text) == written(expected(model), model)


@pytest.mark.slow
def test_a_refused_write_back_is_an_error(machine):
    machine.reset()
    text = WRITES + END + PLACE
    last = ENTRY + size_of(text) - 4 + 68 * (WORDS - 1)
    machine.inject([Fault(start=last, end=last + 4, reads=False)])
    machine.write(ENTRY, image(text, ROOM))
    commands = start()
    commands.wait_equal(STATE, 0, RUNS)
    commands.read(STATE)
    commands.read(0x0008)
    state, status = machine.execute(commands.array(), check=False).reads
    assert state == REFUSED and status == 1 << 2
