"""Tests of cluster lockstep with units that write memory: no false alarm, no missed difference."""

import re

import pytest

from spica.hw.isa.assembly import assemble
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.hw.isa.program import assemble_program
from spica.sim.harness.binding import Layout
from spica.sim.harness.dram import DramConfig, Fault
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import END, small_config
from spica.sim.machine.program_machine import ProgramMachine
from support.cluster.kept_machines import kept_machines
from support.cluster.two_cores import TWO, two_cores
from support.programs.cluster_programs import (
    DATA,
    FLAGS,
    LOADED,
    ROOM,
    TARGET,
    WORDS,
    host_loads,
    place,
    unit_program,
)
from support.programs.samples import SAMPLES, sample

pytestmark = pytest.mark.full

SLOW = DramConfig(latency=40, stall=0.3, seed=3)
SUM = int(DATA.sum())
LIMIT = 50_000
#: Value that core 0 leaves in gp, and core 1.
LEFT = {
    "dma": (2 * SUM + 3 * WORDS, 0),
    "meeting": (77, 154),
    "host": (int(DATA[0] + DATA[-1] + DATA[1]), 0),
}


@kept_machines
def machine_of(dram=None):
    """Return the machine with a given memory."""
    machine = two_cores(lockstep=True, memory=dram or DramConfig(), watchdog=5000)
    machine.allow(ENTRY, ROOM)
    return machine


def execute(machine, name, commands=None):
    place(machine, unit_program(name, machine.config, ENTRY))
    return machine.run(LIMIT, commands or (host_loads(ENTRY) if name == "host" else None))


def test_a_program_and_a_host_that_loads_beside_it_agree_on_amaranths_simulator():
    config = small_config(warps=1, threads=1)
    with ProgramMachine(
        config, engine="amaranth", lockstep=True, memory=DramConfig(latency=10)
    ) as machine:
        machine.allow(ENTRY, ROOM)
        outcome = execute(machine, "host")
        assert (outcome.stop, outcome.mismatch) == (StopReason.DONE, "")
        assert outcome.exit_codes == LEFT["host"][:1]
        assert machine.iss.instructions == outcome.instructions > 10


@pytest.mark.slow
@pytest.mark.parametrize("dram", [None, SLOW])
@pytest.mark.parametrize("name", LEFT)
def test_what_units_and_other_cores_write_is_loaded_alike(machine_of, name, dram):
    machine = machine_of(dram)
    outcome = execute(machine, name)
    assert (outcome.stop, outcome.mismatch) == (StopReason.DONE, "")
    assert outcome.exit_codes == LEFT[name]
    assert outcome.instructions == machine.iss.instructions
    if name == "meeting":
        assert sorted(machine.console) == sorted(b"AaBb")
        assert machine.console.index(b"A") < machine.console.index(b"a")


@pytest.mark.slow
@pytest.mark.parametrize("dram", [None, SLOW])
@pytest.mark.parametrize("name", SAMPLES)
def test_samples_agree(machine_of, name, dram):
    machine = machine_of(dram)
    place(machine, sample(name).replace(END, "\n        li gp, 0" + END))
    outcome = machine.run(LIMIT)
    assert (outcome.stop, outcome.mismatch) == (StopReason.DONE, "")
    assert outcome.instructions == machine.iss.instructions > 0


#: A program, the instruction at ``here`` for the cores and for the model, and the report.
PLANTED = (
    ("dma", "sw t1, 4(s0)", "sw t1, 8(s0)", "address"),
    ("dma", "sw t1, 4(s0)", "sw s1, 4(s0)", "data stored"),
    ("dma", "lw a2, 36(s0)", "lw a2, 40(s0)", "address"),
    ("dma", "sw t1, 4(s0)", "lw t1, 4(s0)", "request is a store"),
    ("meeting", "csrrw zero, 0xACC, a4", "csrrw zero, 0xACC, a3", "command word"),
    ("meeting", "csrrw zero, 0xACC, a4", "addi zero, zero, 0", "does not send"),
    ("meeting", "addi zero, zero, 0", "csrrw zero, 0xACC, a4", "never sends"),
    ("meeting", "sb a3, 0(s3)", "sb a4, 0(s3)", "data stored"),
    ("meeting", "sb a3, 0(s3)", "sb a3, 0(s1)", "address"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "core", "model", "what"), PLANTED)
def test_another_instruction_of_the_model_is_found(machine_of, name, core, model, what):
    machine = machine_of()
    text = unit_program(name, TWO, ENTRY)
    place(machine, text)
    at = assemble_program(text).labels["here"]
    machine.harness.write(at, assemble(core).to_bytes(4, "little"))
    machine.iss.write(at, assemble(model).to_bytes(4, "little"))
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.MISMATCH
    assert what in outcome.mismatch.splitlines()[0]
    assert outcome.mismatch.startswith("core 0, warp 0 differs from the model in cycle ")


def run_until(machine, counter, count):
    """Continue until a unit's counter reaches a value."""
    while machine.cluster.events()[counter] < count:
        outcome = machine.run(20)
        assert outcome.stop is StopReason.LIMIT, outcome.mismatch


#: Time and place of a change in the model's memory, and the report.
CHANGED = {
    "what the DMA loads": ("dma", "dma_descriptors", 1, SHARED_BASE + LOADED + 4 * WORDS - 4),
    "what the DMA stores": ("dma", "dma_descriptors", 2, ENTRY + TARGET + 4 * WORDS - 4),
    "what another core writes": ("meeting", "shared_row_write_words", 6, SHARED_BASE + FLAGS + 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CHANGED)
def test_memory_that_is_changed_is_found_where_it_is_loaded(machine_of, case):
    name, counter, count, address = CHANGED[case]
    machine = machine_of(SLOW)
    place(machine, unit_program(name, TWO, ENTRY))
    assert machine.run(1).stop is StopReason.LIMIT
    run_until(machine, counter, count)
    machine.iss.write(address, b"\xcc")
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.MISMATCH
    assert outcome.mismatch.splitlines()[0].endswith(": result")
    assert outcome.mismatch.splitlines()[1].split()[2] in ("lw", "lb")


@pytest.mark.slow
def test_memory_that_nobody_loads_is_compared_at_the_end(machine_of):
    machine = machine_of()
    place(machine, unit_program("dma", TWO, ENTRY))
    assert machine.run(100).stop is StopReason.LIMIT
    machine.iss.write(ENTRY + ROOM - 4, b"\x11\x22")
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.MISMATCH
    assert outcome.mismatch == (
        "after the run, 2 bytes of DRAM differ from the model, the first at "
        f"{ENTRY + ROOM - 4:#010x}: 0x11 of the model, 0x00 of the RTL"
    )


#: A program, a port hidden from the monitor, and the report.
HIDDEN = (
    ("dma", "shared_write_0_valid", "result"),
    ("dma", "dma_axi_0_awvalid", "result"),
    ("dma", "dma_axi_1_wvalid", "result"),
    ("meeting", "core1_console_valid", "a byte that the core never prints"),
    ("meeting", "core1_console_byte", "byte printed"),
    ("meeting", "core0_command_word", "command word"),
    ("meeting", "core0_command_valid", "a command word that the core never sends"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "port", "what"), HIDDEN)
def test_what_is_not_seen_is_missed(monkeypatch, name, port, what):
    table = Layout.table
    monkeypatch.setattr(Layout, "table", lambda self: table(self).replace(f"o {port} ", "o x "))
    options = {"memory": DramConfig(), "lockstep": True, "watchdog": 5000}
    with two_cores(**options) as machine:
        machine.allow(ENTRY, ROOM)
        outcome = execute(machine, name)
    assert outcome.stop is StopReason.MISMATCH
    assert outcome.mismatch.splitlines()[0].endswith(f": {what}")


@pytest.mark.slow
@pytest.mark.parametrize("dram", [None, SLOW])
def test_what_dram_refuses_of_the_dma_is_not_written(machine_of, dram):
    machine = machine_of(dram)
    refused = 2  # refused lines of the four
    machine.harness.inject([
        Fault(start=ENTRY + TARGET, end=ENTRY + TARGET + 64 * refused, reads=False)
    ])
    outcome = execute(machine, "dma")
    machine.harness.inject([])
    assert (outcome.stop, outcome.mismatch) == (StopReason.DONE, "")
    copied = DATA[16 * refused :]
    assert outcome.exit_codes == (SUM + int(copied.sum()) + 3 * len(copied), 0)


#: Core 1 loads a word, core 0 writes it, and core 1 loads it again, after a fence or at once; gp
#: holds the value that core 1 found.
COPIES = """
        csrr s2, core_id
        li s1, {target}
        li t1, 1
        li gp, 0
        beqz s2, first
        lw a0, 0(s1)
        add gp, gp, a0
first:  vx_bar zero, t1
        bnez s2, second
        li a1, 77
        sw a1, 0(s1)
        fence 3, 3
second: vx_bar zero, t1
        beqz s2, end
        {fence}
        lw a0, 0(s1)
        add gp, gp, a0
end:    vx_tmc zero
"""


def copies(fence):
    return COPIES.format(target=ENTRY + TARGET, fence=fence)


def stored_by_the_dma(fence):
    """Return the program of the DMA; its core has a cached copy of the stored data."""
    text, target = unit_program("dma", TWO, ENTRY), f"li s1, {ENTRY + TARGET}\n"
    first = target + "        lw a3, 0(s1)\n        add a3, a3, a3\n"
    assert target in text and "sum:" in text and "beqz t2, store\n" in text
    text = text.replace(target, first)
    return text.replace("beqz t2, store\n", f"beqz t2, store\n        {fence}\n")


def raced():
    """Return the program of the DMA; core 1 polls the stored data until it is there."""
    text = unit_program("dma", TWO, ENTRY)
    head, end, tail = text.partition("end:    li gp, 0")
    assert end
    return f"""{head}
end:    li s1, {ENTRY + TARGET}
look:   fence 3, 3
        lw a3, 0(s1)
        lw a4, 64(s1)
        lw a5, 128(s1)
        lw a6, 192(s1)
        beqz a3, look
        beqz a4, look
        beqz a5, look
        beqz a6, look
        li gp, 0{tail}"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_load_that_races_with_the_dma_may_find_either(seed):
    dram = DramConfig(latency=10 + 15 * seed, stall=0.1 * seed, seed=seed)
    with two_cores(lockstep=True, memory=dram, watchdog=5000) as machine:
        machine.allow(ENTRY, ROOM)
        place(machine, raced())
        outcome = machine.run(LIMIT)
    assert (outcome.stop, outcome.mismatch) == (StopReason.DONE, "")
    assert outcome.exit_codes == LEFT["dma"]


WRITERS = {"core 0": (copies, (0, 77)), "the DMA": (stored_by_the_dma, LEFT["dma"])}


@pytest.mark.slow
@pytest.mark.parametrize("writer", WRITERS)
def test_what_others_wrote_is_found_after_a_fence(machine_of, writer):
    program, left = WRITERS[writer]
    for dram in (None, SLOW):
        machine = machine_of(dram)
        place(machine, program("fence 3, 3"))
        outcome = machine.run(LIMIT)
        assert (outcome.stop, outcome.mismatch) == (StopReason.DONE, "")
        assert outcome.exit_codes == left


@pytest.mark.slow
@pytest.mark.parametrize("writer", WRITERS)
def test_an_old_copy_is_named_as_such(machine_of, writer):
    machine = machine_of()
    place(machine, WRITERS[writer][0]("nop"))
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.MISMATCH
    stored = "core 0, warp 0" if writer == "core 0" else writer
    first, where, lane, values, *_ = outcome.mismatch.splitlines()
    assert first.endswith(": result") and ": lw a" in where
    assert "of the model, 0x00000000 of the core" in lane
    assert re.fullmatch(
        f"  the core loaded the bytes from before the store of {stored} that completed in cycle "
        r"\d+; call vx_fence before the load",
        values,
    )
