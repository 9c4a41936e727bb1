"""Tests of programs for the bare machine mode of RISC-V: `mret`, ``tohost``, parked harts."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spica.hw.presets import PRESETS
from spica.kernels.program import Program
from spica.sim.diagnose.diagnostics import ProgramError
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import ProgramWorkload
from spica.sim.run.workload import run_workload
from support.cluster.two_cores import TWO
from support.programs.bare_machine import built, environment_program, linked
from support.runs import run_program

#: Checkout of riscv-tests with its submodule; its published tests run if it is given.
CHECKOUT = "SPICA_RISCV_TESTS"
SOUND = """
    li gp, 2
    li a0, 20
    addi a1, a0, 22
    li t2, 42
    bne a1, t2, fail
test_3:
    li gp, 3
    lw a3, data
    li t2, 0xff00ff
    bne a3, t2, fail
    li gp, 4
    csrr a0, mideleg
    bnez a0, fail
    csrr a0, mepc
    la a1, begin
    bne a0, a1, fail
"""
#: Engines and memories: the model, a cluster in lockstep and without, cores alone.
MACHINES = {
    "model": {"engine": "iss"},
    "cluster": {"engine": "verilator", "memory": DramConfig(latency=20)},
    "no lockstep": {"engine": "verilator", "memory": DramConfig(latency=20), "lockstep": False},
    "cores alone": {"engine": "verilator", "memory": CoreMemoryConfig()},
}
on_every_machine = pytest.mark.parametrize("name", MACHINES)


def run(path, name="model", config=TWO, **options):
    limits = {"max_cycles": 40_000, "max_instructions": 40_000}
    return run_program(path, config, **limits | MACHINES[name] | options)


@pytest.fixture
def sound(tmp_path):
    return built(tmp_path, environment_program(SOUND))


@on_every_machine
@pytest.mark.quick("model*")
def test_a_test_passes_and_other_harts_are_parked(sound, name):
    result = run(sound, name)
    assert (result["check"]["verdict"], result["check"]["exit_code"]) == ("pass", 0)
    loop = Program.load(sound).symbols["reset"] + 4 * 32
    assert result["notes"] == [f"Parked: core 1, warp 0 at {loop:#010x}, in reset"]


def test_one_core_parks_nothing(sound):
    result = run(sound, config=replace(TWO, cores=1))
    assert result["check"]["verdict"] == "pass" and result["notes"] == []


@pytest.mark.parametrize("name", ["model", "cluster"])
@pytest.mark.quick("model*")
def test_the_exit_code_is_the_number_of_the_failed_test(tmp_path, name):
    path = built(tmp_path, environment_program(SOUND.replace("addi a1, a0, 22", "addi a1, a0, 21")))
    check = run(path, name)["check"]
    assert (check["verdict"], check["exit_code"]) == ("fail", 2)


@on_every_machine
@pytest.mark.quick("model*")
def test_the_run_ends_when_tohost_is_written(tmp_path, name):
    """As by the handler of traps; the RTL without lockstep holds the word in its caches."""
    test = "    li gp, 7\n    la t0, traps\n    jr t0\n"
    path = built(tmp_path, environment_program(test))
    if name == "no lockstep":
        with pytest.raises(ProgramError, match="had not ended when its limit of cycles"):
            run(path, name)
        return
    check = run(path, name)["check"]
    assert (check["verdict"], check["exit_code"]) == ("fail", 3)


#: Words that a program writes, and their place.
WORDS, PLACE = 2048, 0x8010_0000
FILL = f"""
    li a0, {PLACE}
    li a1, {{words}}
    li a2, 0
    li a3, 0x9e3779b1
1:  mul a4, a2, a3
    sw a4, 0(a0)
    addi a0, a0, 4
    addi a2, a2, 1
    bne a2, a1, 1b
"""
#: Ends of a program: by itself, by itself after a store to ``tohost``, and by that store alone.
ENDS = {
    "ecall": "",
    "tohost and ecall": "    li gp, 1\n    sw gp, tohost, t5\n",
    "tohost": "    li gp, 1\n    la t0, traps\n    jr t0\n",
}


def assert_dumped(folder, end, words, name, config, **options):
    """Run a program that fills memory; its dump has every word."""
    text = environment_program(FILL.format(words=words) + ENDS[end])
    dumped = {}
    chosen = SimtOptions(
        **{"max_cycles": 400_000, "dumps": (f"{PLACE:#x}:{4 * words}",)} | MACHINES[name] | options,
        allow_regions=((PLACE, 4 * words),),
    )
    workload = ProgramWorkload([built(folder, text)])
    result = run_workload(workload, "tiny", config, chosen, results=dumped)
    (data,) = dumped.values()
    check = result["check"]
    assert (check["verdict"], check["exit_code"]) == ("pass", 0)
    expected = np.arange(words, dtype=np.uint32) * np.uint32(0x9E37_79B1)
    assert np.array_equal(data, expected), f"{np.count_nonzero(data != expected)} words differ"


#: Machine, end of the program and latency of DRAM. The model has no latency, and without lockstep
#: a store to ``tohost`` ends no cluster.
DUMPED = [
    (name, end, latency)
    for name in ("model", "cluster", "no lockstep")
    for end in ENDS
    for latency in ((20,) if name == "model" else (20, 400))
    if (name, end) != ("no lockstep", "tohost")
]


@pytest.mark.parametrize("config", [PRESETS["tiny"], TWO], ids=["one core", "parked core"])
@pytest.mark.parametrize(("name", "end", "latency"), DUMPED)
@pytest.mark.quick("model-*")
def test_every_word_of_a_dump_is_there(tmp_path, name, end, config, latency):
    """All writes reach DRAM before the dump, with any end of the program."""
    memory = {} if name == "model" else {"memory": DramConfig(latency=latency)}
    assert_dumped(tmp_path, end, WORDS, name, config, **memory)


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
def test_every_word_of_a_dump_is_there_on_the_amaranth_engine(tmp_path, end):
    options = {"memory": DramConfig(latency=200), "engine": "amaranth"}
    assert_dumped(tmp_path, end, 64, "cluster", PRESETS["tiny"], **options)


@pytest.mark.parametrize("name", ["model", "cluster", "no lockstep"])
def test_the_exit_code_is_that_of_tohost_however_the_program_ends(tmp_path, name):
    test = "    li t0, 7\n    sw t0, tohost, t5\n"
    path = built(tmp_path, environment_program(test))
    check = run(path, name, PRESETS["tiny"])["check"]
    assert (check["verdict"], check["exit_code"]) == ("fail", 3)


#: Ends of programs of newlib: system calls by ``ecall``, and by ``tohost`` with an exit code or the
#: address of a call; their exit codes, and the number in a note.
NEWLIB = {
    "exit": ("    li a7, 93\n    li a0, 5\n    la gp, data\n    ecall\n", 5, None),
    "exit of 0": ("    li a7, 93\n    li a0, 0\n    la gp, data\n    ecall\n", 0, None),
    "write": ("    li a7, 64\n    li a0, 1\n    li gp, 9\n    ecall\n", 4, 64),
    "word": ("    li t0, 11\n    sw t0, tohost, t5\n1:  j 1b\n", 5, None),
    "call of exit": ("    la t0, call\n    sw t0, tohost, t5\n1:  j 1b\n", 6, None),
    "call of write": ("    la t0, print\n    sw t0, tohost, t5\n1:  j 1b\n", None, 64),
}
CALL_BLOCKS = "    .balign 64\ncall: .dword 93, 6\n    .balign 64\nprint: .dword 64, 1\n"


@pytest.mark.parametrize("machine", ["model", "cluster"])
@pytest.mark.parametrize("name", NEWLIB)
@pytest.mark.quick("*-model")
def test_programs_of_newlib_end_with_their_exit_code(tmp_path, name, machine):
    test, code, call = NEWLIB[name]
    path = built(tmp_path, environment_program(test) + CALL_BLOCKS)
    result = run(path, machine, PRESETS["tiny"])
    assert result["check"]["exit_code"] == code or (code is None and result["check"]["exit_code"])
    notes = " ".join(result["notes"])
    assert (f"ended at system call {call}, write: there is no host" in notes) == (call is not None)


def test_main_that_ends_its_warp_has_no_exit_code(tmp_path):
    path = tmp_path / "ended.c"
    path.write_text("#include <spica.h>\nint main(void) { vx_tmc(0); return 3; }\n")
    for config in (PRESETS["tiny"], TWO):
        check = run(path, config=config)["check"]
        assert (check["verdict"], check["exit_code"]) == ("pass", 0)


def test_a_loop_of_several_instructions_is_not_parked(tmp_path):
    """A hart that can still do something is waited for."""
    text = environment_program(SOUND).replace("1:  bnez a0, 1b", "    bnez a0, other")
    text = text.replace("fail:\n", "other: addi a1, a1, 1\n    bnez a0, other\nfail:\n", 1)
    with pytest.raises(ProgramError, match="limit was reached"):
        run(built(tmp_path, text))


@pytest.mark.full
def test_a_program_without_tohost_that_parks_hangs(tmp_path):
    text = environment_program(SOUND).replace("tohost", "other_word")
    path = built(tmp_path, text.replace(".other_word", ".tohost"))
    with pytest.raises(ProgramError, match="limit was reached"):
        run(path)


@pytest.mark.parametrize("line", ["jal x0, loop", "beq a0, a0, loop", "bgeu a0, x0, loop"])
@pytest.mark.quick(1)
def test_branches_to_themselves_park(tmp_path, line):
    text = environment_program(SOUND).replace(
        "1:  bnez a0, 1b", f"    beqz a0, 2f\nloop: {line}\n2:"
    )
    result = run(built(tmp_path, text))
    assert result["check"]["verdict"] == "pass"
    (remark,) = result["notes"]
    assert remark.endswith(", in loop")


def published():
    """Return the sources of the published tests for the instructions of the cores."""
    root = os.environ.get(CHECKOUT)
    if not root:
        return []
    folders = [Path(root) / "isa" / name for name in ("rv32ui", "rv32um", "rv32uf")]
    return [path for folder in folders for path in sorted(folder.glob("*.S"))]


#: Published tests of something that the cores do not have.
NOT_FOR_CORES = {
    "ma_data": "accesses must be aligned",
    "ldst": "has instructions of extension D",
}


@pytest.mark.slow
@pytest.mark.skipif(not published(), reason=f"{CHECKOUT} names no checkout of riscv-tests")
@pytest.mark.parametrize("name", ["model", "cluster"])
@pytest.mark.parametrize("source", published(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_published(tmp_path, source, name):
    if source.stem in NOT_FOR_CORES:
        pytest.skip(NOT_FOR_CORES[source.stem])
    root = source.parents[2]
    folders = (root / "env" / "p", root / "isa" / "macros" / "scalar", source.parent)
    path = linked(source, folders[0] / "link.ld", tmp_path / "test.elf", folders)
    result = run(path, name, max_cycles=400_000, max_instructions=400_000)
    assert (result["check"]["verdict"], result["check"]["exit_code"]) == ("pass", 0)
