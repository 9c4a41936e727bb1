"""Tests of lockstep of cores and model: programs agree, and the first difference is reported."""

import pytest

from spica.hw.core.control.faults import FaultCause
from spica.hw.isa.assembly import assemble, disassemble
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.hw.isa.program import assemble_program
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.faults import REASONS, Reason
from spica.sim.iss.program_bench import END, small_config
from spica.sim.lockstep import causes
from spica.sim.machine.program_machine import ProgramMachine
from support.cluster.kept_machines import AWFUL, kept_machines
from support.core.core_bench import image
from support.core.lockstep_fuzz import FUZZ_CONFIGS
from support.programs.faults import FAULTS
from support.programs.placed_program import place as place_program
from support.programs.samples import BEGIN, RESULTS, ROOM, SAMPLES, sample

CONFIGS = {
    "one thread": small_config(warps=1, threads=1),
    "one core": small_config(warps=2, threads=4),
    "two cores": small_config(cores=2, warps=2, threads=2),
    "two issued, three requests": FUZZ_CONFIGS[2],
}
STALLING = CoreMemoryConfig(stall=0.9, seed=2)
LIMIT = 50_000
#: In every thread: s0 its number, s1 its memory area, a0 and a1 numbers.
PREPARED = f"""{BEGIN}
        addi a0, s0, 5
        addi a1, s0, 9
        li a2, 0
        li a3, 0
        li gp, 0
        sw a0, 0(s1)
"""


@kept_machines
def machine_of(name, memory=None):
    """Return the machine of a config."""
    return ProgramMachine(CONFIGS[name], memory=memory, lockstep=True, optimize=0)


def place(machine, text):
    machine.allow(ENTRY, ROOM)
    machine.write(ENTRY, image(text, ROOM))
    machine.write(SHARED_BASE, bytes(256))


def execute(machine, text):
    place(machine, text)
    return machine.run(LIMIT)


@pytest.mark.parametrize("memory", [None, AWFUL, STALLING])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("program", SAMPLES)
@pytest.mark.quick("*s-one core-memory1")
def test_programs_agree(machine_of, program, name, memory):
    machine = machine_of(name, memory)
    # The value that a warp leaves in gp is compared.
    outcome = execute(machine, sample(program).replace(END, "\n        li gp, 0" + END))
    assert (outcome.stop, outcome.mismatch) == (StopReason.DONE, "")
    assert outcome.instructions == machine.iss.instructions > 0
    assert machine.read(ENTRY, ROOM).tobytes() == machine.iss.read(ENTRY, ROOM).tobytes()


def test_counters_are_taken_over_from_the_core(machine_of):
    machine = machine_of("one core", AWFUL)
    body = """
        csrr a4, mcycle
        sw a4, 0(s1)
        csrr a5, minstret
        add a5, a5, a4
        sw a5, 4(s1)
        csrr zero, mcycle
        csrr a6, fflags
        sw a6, 8(s1)
    """
    outcome = execute(machine, PREPARED + body + RESULTS)
    assert (outcome.stop, outcome.mismatch) == (StopReason.DONE, "")
    memory = machine.read(ENTRY, ROOM)
    assert memory.tobytes() == machine.iss.read(ENTRY, ROOM).tobytes()
    registers = machine.iss.warp(0, 1).integers
    # The model counts instructions as cycles; these are far more.
    assert (registers[14] > 2 * machine.iss.instructions).all()
    assert (registers[14] < outcome.cycles).all()


@pytest.mark.parametrize("memory", [None, AWFUL])
@pytest.mark.full
def test_parts_of_an_instruction_that_are_refused_fault_alike(machine_of, memory):
    text = "        slli a4, s0, 28\n        add a4, a4, s1\n        lw a2, 0(a4)"
    machine = machine_of("two issued, three requests", memory)
    outcome = execute(machine, PREPARED + text + RESULTS)
    assert (outcome.stop, outcome.mismatch) == (StopReason.FAULT, "")
    assert outcome.fault.cause is MemoryFault.REFUSED


#: A program for each cause of a fault on one core.
OF_CAUSE = {item.cause.name: item for item in FAULTS.values() if item.cores == 1}


@pytest.mark.parametrize("name", OF_CAUSE)
@pytest.mark.quick(3)
def test_a_fault_of_another_cause_is_a_difference(monkeypatch, machine_of, name):
    program = OF_CAUSE[name]
    others = tuple(item for item in causes.CAUSES if item[0] is not program.cause)
    assert len(others) == len(causes.CAUSES) - 1
    monkeypatch.setattr(causes, "CAUSES", others)
    machine = machine_of("one core")
    place_program(machine, program.placed)
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.MISMATCH
    first, _, model, core, *_ = outcome.mismatch.splitlines()
    assert first.endswith("cause of the fault")
    assert model.startswith("  the model: ") and core == f"  the core: {name}"


def test_every_cause_has_reasons_and_every_reason_a_cause():
    assert [cause for cause, _ in causes.CAUSES] == [*FaultCause, *MemoryFault]
    explained = {reason for _, reasons in causes.CAUSES for reason in reasons}
    of_model = {reason for reason in REASONS if reason.cause in causes.OF_MODEL}
    of_model.update(causes.REASONS_OF_MODEL)
    assert set(REASONS) - explained == {Reason.DEVICE, *of_model}


#: An instruction of the cores, its replacement in the model, and the report.
PLANTED = (
    ("add a2, a0, a1", "sub a2, a0, a1", "result"),
    ("fcvt.s.w fa0, a0", "fcvt.s.wu fa0, a1", "result"),
    ("div a2, a1, a0", "rem a2, a1, a0", "result"),
    ("lw a2, 0(s1)", "lh a2, 2(s1)", "address"),
    ("lw a2, 0(s1)", "lw a2, 8(s1)", "address"),
    ("csrrs a2, thread_id, zero", "csrrs a2, mhartid, zero", "result"),
    ("add a2, a0, a1", "add a3, a0, a1", "destination"),
    ("lw a2, 0(s1)", "flw fa2, 0(s1)", "destination"),
    ("add a2, a0, a1", "add zero, a0, a1", "result is written"),
    ("sw a0, 0(s1)", "sb a0, 0(s1)", "bytes stored"),
    ("sh a0, 2(s1)", "sw a0, 0(s1)", "address"),
    ("sb a0, 3(s1)", "sb a1, 3(s1)", "data stored"),
    ("sw a0, 0(s1)", "lw a0, 0(s1)", "request is a store"),
    ("lw a2, 0(s1)", "addi a2, s1, 0", "sent to memory, but neither load nor store"),
    ("addi a2, s1, 0", "lw a2, 0(s1)", "a load or store that is not sent to memory"),
    ("vx_tmc a0", "vx_tmc a1", "mask"),
    ("jal zero, 8", "jal zero, 4", "pc"),
    ("jal zero, 4", "jal zero, 8", "pc"),
    ("addi zero, zero, 0", "vx_tmc zero", "the model's warp has ended or waits at a barrier"),
    ("addi zero, zero, 0", "vx_join s0", "the model faults, but the core continues"),
    ("addi zero, zero, 0", "csrrs a0, 0x123, zero", "the model faults, but the core continues"),
    ("vx_join s0", "addi zero, zero, 0", "the core faults, but the model does not"),
    ("lw a2, 1(s1)", "lw a2, 0(s1)", "the core faults, but the model does not"),
    ("lw a2, 0(a0)", "lw a2, 0(s1)", "the core faults, but the model does not"),
    ("lw a2, 0(s1)", "lw a2, 1(s1)", "requested, but the model faults"),
    ("sw a0, 0(s1)", "sw a0, 0(a0)", "requested, but the model faults"),
    ("lw a2, 0(a0)", "sw a2, 1(s1)", "lanes of the fault"),
    ("lw a2, 0(zero)", "lw a2, 1(s1)", "cause of the fault"),
    ("lw a2, 0(zero)", "lw a2, 4(zero)", "address of the fault"),
)


@pytest.mark.parametrize("memory", [None, AWFUL])
@pytest.mark.parametrize(("core", "model", "what"), PLANTED)
@pytest.mark.quick(6)
def test_the_first_difference_is_reported(machine_of, core, model, what, memory):
    machine = machine_of("one core", memory)
    text = PREPARED + "here:   nop\n" + 3 * "        addi a4, a0, 1\n" + RESULTS
    place(machine, text)
    at = assemble_program(text).labels["here"]
    machine.harness.write(at, assemble(core).to_bytes(4, "little"))
    machine.iss.write(at, assemble(model).to_bytes(4, "little"))
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.MISMATCH
    first, place_line, *lines = outcome.mismatch.splitlines()
    assert first.endswith(f": {what}")
    assert len(lines) < 38
    # A difference in control, jumps or faults of the model is found one instruction later.
    last = int(place_line.split()[1].rstrip(":"), 16)
    assert at <= last <= at + 8
    assert any(f"  {at:#010x}  {assembly(model)}" in line for line in lines) or "ault" in what


def assembly(line):
    return disassemble(assemble(line))


LOOP = """
loop:   addi a2, a2, 1
        lw a3, 0(s1)
        j loop
"""


@pytest.fixture
def looping(machine_of):
    """Return a machine inside a loop, and all of the model's registers of warp 1."""
    machine = machine_of("one core")
    place(machine, PREPARED + LOOP + RESULTS)
    assert machine.run(400).stop is StopReason.LIMIT
    yield machine, machine.iss.warp(0, 1).integers.copy()
    # Changed state is no longer compared.
    execute(machine, sample("integers"))


def test_a_register_that_is_changed_is_found_where_it_is_read(looping):
    machine, integers = looping
    integers[12, 2] ^= 0x100
    machine.iss.set_warp(0, 1, integers=integers)
    outcome = machine.run(100)
    assert outcome.stop is StopReason.MISMATCH
    first, place_line, values, before, *rest = outcome.mismatch.splitlines()
    assert first.startswith("core 0, warp 1 differs from the model in cycle 4")
    assert first.endswith(": result")
    assert place_line.endswith("addi a2, a2, 1")
    assert values.split()[:2] == ["lane", "2:"]
    expected, got = (int(word, 16) for word in values.split() if word.startswith("0x"))
    assert expected ^ got == 0x100
    assert before == "  last instructions of warp 1 on the model"
    assert sum(line.endswith("lanes 0-3") for line in rest) == 10
    assert any("the oldest first" in line for line in rest)
    assert len(rest) < 36


def test_a_mask_that_is_changed_is_found_at_once(looping):
    machine, _ = looping
    machine.iss.set_warp(0, 1, mask=0b0111)
    lines = machine.run(100).mismatch.splitlines()
    assert lines[0].endswith(": mask")
    assert lines[2:4] == ["  the model has 0x00000007", "  the core has  0x0000000f"]


def test_a_word_of_memory_that_is_changed_is_found_where_it_is_loaded(looping):
    machine, integers = looping
    address = int(integers[9, 3])
    machine.iss.write(address, bytes([0xFF]))
    lines = machine.run(100).mismatch.splitlines()
    assert lines[0].startswith("core 0, warp 1") and lines[0].endswith(": result")
    assert lines[1].endswith("lw a3, 0(s1)")
    assert lines[2].split() == [
        *("lane", "3:", "0x000000ff", "of", "the", "model,"),
        *("0x0000000c", "of", "the", "core"),
    ]


def test_a_warp_that_continues_only_in_the_model_is_found_at_the_end(machine_of):
    machine = machine_of("one core")
    place(machine, "        li gp, 0\n" + 30 * "        nop\n" + END)
    assert machine.run(30).stop is StopReason.LIMIT
    machine.iss.set_warp(0, 1, mask=1, pc=ENTRY)
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.MISMATCH
    assert outcome.mismatch == (
        "all cores are idle, but core 0, warp 1 of the model has not ended: continues at "
        "0x80000000: addi gp, zero, 0"
    )


def test_exit_codes_and_what_was_printed_are_compared(machine_of):
    machine = machine_of("one core")
    outcome = execute(machine, PREPARED + "        li gp, 3" + RESULTS)
    assert (outcome.stop, outcome.exit_code, outcome.mismatch) == (StopReason.DONE, 3, "")
    finish = machine.lockstep.finish
    assert finish(StopReason.DONE, exit_codes=[4]) == "exit code of core 0 is 4, in the model 3"
    assert finish(StopReason.DONE, console=b"x") == "the cores printed b'x', the model b''"
