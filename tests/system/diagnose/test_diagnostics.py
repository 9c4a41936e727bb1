"""Tests of reports about faulty programs: cause and line, on one screen."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from spica.hw.presets import PRESETS
from spica.kernels.kernel import Buffer, Kernel, Problem
from spica.sim.diagnose.diagnostics import ProgramError
from spica.sim.diagnose.diagnostics_text import diagnostics_text
from spica.sim.harness.dram import DramConfig
from support.command_line import run_spica
from support.mistakes import FOLDER, LINES, checked, line_of
from support.runs import failure_of, run_kernel

CORE = PRESETS["core"]
LIMIT = 50_000


def diagnostics(name, config=CORE, optimize=3, schedule="round_robin"):
    """Return the description of a program's end, and its text."""
    options = {"optimize": optimize, "schedule": schedule, "max_instructions": LIMIT}
    return checked(failure_of(FOLDER / f"{name}.c", config, **options))


#: Faulting programs: cause, and words of the report.
FAULTS = {
    "null_pointer": ("access outside memory", "0x00000004 is a null pointer plus 4 bytes"),
    "nowhere": ("access outside memory", "0x40000000 is an unmapped address"),
    "misaligned": ("misaligned access", "which is not a multiple of 4"),
    "divergent_branch": ("divergent branch", "these lanes disagree with lane"),
    "split_overflow": ("stack overflow", "open splits: 7\n    7 at"),
    "illegal_instruction": ("illegal instruction", "0xffffffff is not an instruction"),
    "deep_recursion": ("stack exceeded", "local variables are too large: raise --stack-bytes"),
    "library_call": ("access outside memory", "0x00000000 is a null pointer"),
    "no_register": ("device", "has no register at 0x112C"),
    "dma_conflict": ("device", "called at dma_conflict.c:19 in main\n"),
    "jump_to_data": ("access outside memory", "outside the placed program"),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.quick(2)
def test_faults(name):
    # Cores alone have no registers of units.
    report, text = diagnostics(name, PRESETS["tiny"] if FAULTS[name][0] == "device" else CORE)
    cause, words = FAULTS[name]
    assert (report["stop"], report["cause"]) == ("fault", cause)
    assert text.startswith(f"{cause}: ")
    assert words in text
    number = line_of(name)
    where = rf"{name}\.c:{number} in \w+(, called at .*)?\n"
    assert re.search(rf"{where} +> +{number} \| .*/\* MISTAKE \*/", text)
    assert 1 <= len(report["history"]) <= 8
    assert all(step["assembly"] for step in report["history"])


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("iss", "device: the register window has no register at 0x1018: this machine has no DMA"),
        pytest.param("verilator", "access refused by memory to 0xff005018", marks=pytest.mark.slow),
    ],
)
@pytest.mark.full
def test_a_command_to_a_missing_dma(engine, words):
    config = replace(PRESETS["tiny"], units=(), dma=None)
    options = {"engine": engine, "memory": DramConfig(latency=10)}
    report, text = checked(failure_of(FOLDER / "missing_dma.c", config, **options))
    assert report["stop"] == "fault"
    assert text.startswith(words)
    assert f"missing_dma.c:{line_of('missing_dma')} in main" in text


def test_a_divergent_branch_without_optimization():
    """Source lines do not depend on optimisation."""
    for optimize in (1, 2):
        _, text = diagnostics("divergent_branch", optimize=optimize)
        assert f"divergent_branch.c:{line_of('divergent_branch')} in count\n" in text
        head, _, advice, *_ = text.splitlines()
        assert "use" not in head and advice.startswith("  use SPICA_IF, SPICA_WHILE or spica_sel")


def test_values_of_a_branch_are_of_all_lanes():
    report, text = diagnostics("divergent_branch")
    assert report["lanes"] == [0, 2, 4, 6]
    assert re.search(r"0x00000000 in lanes 0, 2, 4, 6; 0x00000001 in lanes 1, 3, 5, 7", text)


def test_a_fault_in_the_library_states_the_caller():
    report, text = diagnostics("library_call")
    assert "string.c:" in text.splitlines()[2]
    assert report["came_from"]["line"] == line_of("library_call")
    assert report["location"]["function"] == "memcpy"


TASK = (
    "#include <spica.h>\nstatic volatile float x[64];\nstatic volatile uint32_t word;\n"
    "static void task(uint32_t i, void *argument)\n{{ {} }}\n"
    "int main(void) {{ vx_spawn_tasks(64, task, 0); return 0; }}\n"
)


@pytest.mark.parametrize("engine", ["iss", pytest.param("verilator", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("body", "helper"),
    [
        ("x[i] = (float)(x[i] + (double)i);", "__floatunsidf"),
        ("x[i] = (float)(0x123456789ull / (((uint64_t)i << 30) + 1));", "__u"),
    ],
    ids=["double", "wide"],
)
def test_a_fault_in_compiler_arithmetic_names_the_rule(tmp_path, body, helper, engine):
    path = tmp_path / "wide.c"
    path.write_text(TASK.format(body))
    report, text = checked(failure_of(path, "core", engine=engine))
    report = report if engine == "iss" else report["program"]
    assert report["advice"].startswith(f"threads disagree in {helper}")
    assert "use float instead of double" in " ".join(text.splitlines()[2:4])
    assert "SPICA_IF" not in text and "vx_split" not in text
    assert report["came_from"]["file"].endswith("wide.c") and report["came_from"]["line"] == 5
    assert "warning: task, which every thread runs, calls __" in text


def test_a_run_that_does_not_end_has_the_warnings(tmp_path):
    path = tmp_path / "endless.c"
    path.write_text(TASK.format("volatile uint32_t a[4]; a[0] = i; while (word != 9) ;"))
    report, text = checked(failure_of(path, "core", max_instructions=LIMIT, check="none"))
    (warning,) = report["code_warnings"]
    assert warning.startswith("task, which every thread runs, stores to its stack")
    assert f"warning: {warning[:40]}" in text


def test_a_store_beyond_a_buffer():
    """A kernel has a buffer one word shorter than its writes."""
    data = np.zeros(100, np.uint32)
    problem = Problem(
        buffers={"out": Buffer(data=data, expected=np.arange(100))},
        arguments=(100, "out"),
        operations=0,
    )
    files = (FOLDER / "beyond_buffer.c",)
    kernel = Kernel(name="beyond", dimensions=("n",), pose=lambda rng, n: problem, files=files)
    with pytest.raises(ProgramError) as caught:
        run_kernel(kernel, (100,), "core")
    report, text = checked((caught.value.diagnostics, str(caught.value)))
    number = line_of("beyond_buffer")
    assert "0x90000190 is just beyond buffer out, 400 bytes at 0x90000000" in text
    assert re.search(rf"beyond_buffer\.c:{number} in \w+\n +> +{number} \|", text)
    assert report["lanes"] == [100 % 8]
    assert 0x9000_0190 in [values[0] for values in report["registers"].values()]


def test_registers_of_each_lane():
    """Lanes that differ are listed one by one, with the objects near their addresses."""
    report, text = diagnostics("scattered")
    assert report["lanes"] == [0, 1, 2, 6, 7]  # the addresses of the others are DRAM
    assert "lane 0: 0x00000000 is a null pointer\n" in text
    assert "lane 1: 0x30000000 is an unmapped address" in text
    assert "0x00000000 in lane 0; 0x30000000 in lane 1; 0x60000000 in lane 2;" in text
    assert "0x00000001 in lanes 0-2, 6-7" in text


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.quick(1)
def test_a_missing_warp(schedule):
    report, text = diagnostics("missing_warp", schedule=schedule)
    number = line_of("missing_warp")
    assert report["stop"] == "deadlock"
    assert text.startswith("deadlock: every warp that has not ended waits at a barrier")
    assert "barrier 1: core 0: 7 of 8 warps arrived" in text
    assert re.search(
        rf"core 0, warps 0-6 wait at barrier 1\n +\S*missing_warp.c:{number} in \w+\n +> ", text
    )
    assert re.search(r"core 0, warp 7 has ended", text)


@pytest.mark.full
def test_a_missing_warp_of_one_core():
    """Cluster-wide barriers report the missing core."""
    config = replace(CORE, cores=3)
    _, text = diagnostics("missing_warp", config)
    assert "barrier 1: cores 0-2: 7 of 8 warps arrived\n" in text
    assert "cores 0-2, warps 0-6 wait at barrier 1\n" in text


def test_warps_at_two_barriers():
    _, text = diagnostics("two_barriers")
    for warps, barrier, mark in (("1, 3, 5, 7", 3, "MISTAKE"), ("0, 2, 4, 6", 2, "OTHER")):
        number = line_of("two_barriers", mark)
        assert f"barrier {barrier}: core 0: 4 of 8 warps arrived" in text
        assert re.search(
            rf"core 0, warps {warps} wait at barrier {barrier}\n +\S*two_barriers.c:{number} ", text
        )


def test_an_endless_loop():
    report, text = diagnostics("endless_loop")
    number = line_of("endless_loop")
    assert (report["stop"], report["instructions"]) == ("limit", LIMIT)
    assert f"the limit was reached before the program ended, after {LIMIT:,} instructions" in text
    assert re.search(r"core 0, warps 0-7 loop in \d instructions, 0x8\w+ to 0x8\w+", text)
    assert re.search(rf"endless_loop.c:{number} in wait_for_flag\n +> +{number} \|", text)


def test_a_missing_core():
    config = replace(CORE, cores=3, barrier_scope="core")
    _, text = diagnostics("missing_core", config)
    assert "barrier 2 of the cluster: 2 of 3 arrived\n" in text
    assert "cores 0-1, warp 0 wait at barrier 2\n" in text
    assert f"missing_core.c:{line_of('missing_core')} in main\n" in text


def test_the_users_loop_precedes_start_up_code():
    report, text = diagnostics("one_loop")
    assert [group["does"] for group in report["groups"]][:2] == ["loops", "ended"]
    lines = text.splitlines()
    assert lines[1].startswith("  core 0, warp 3 loops in 2 instructions, ")
    assert f"one_loop.c:{line_of('one_loop')} in work" in lines[2]
    assert lines[4].startswith("  core 0, warp 0 loops in ")


def test_many_loops_are_still_one_screen():
    config = replace(CORE, cores=8)
    report, text = diagnostics("many_loops", config)
    assert len(report["groups"]) == 8
    for warp in range(6):
        where = rf"many_loops.c:{10 + 8 * warp}-"
        assert re.search(rf"cores 0-7, warp {warp} loop in \d+ instructions, .*\n.*{where}", text)
    assert text.endswith("\n  and 16 more warps")
    for group in report["groups"]:
        group["locations"] = 2 * group.get("locations", [])
    assert (
        diagnostics_text(report).splitlines()[-1]
        == "  truncated; --json FILE writes the complete report"
    )
    assert len(diagnostics_text(report).splitlines()) == LINES


def test_an_exit_code_is_no_mistake(capsys):
    arguments = f"run {FOLDER / 'breakpoint.c'} --preset tiny --engine iss"
    assert run_spica(arguments) == 1
    out, error = capsys.readouterr()
    assert out.startswith("about to end\n")
    assert "FAIL: " in out and "Exit code: 3" in out
    assert "spica: " not in error


def test_the_command_line_says_it_all(capsys, tmp_path):
    target = tmp_path / "result.json"
    arguments = f"run {FOLDER / 'null_pointer.c'} --preset core --engine iss"
    assert run_spica(f"{arguments} --json {target}") == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert "spica: access outside memory: load of 4 bytes at 0x00000004" in error
    written = json.loads(target.read_text())
    assert written["check"]["verdict"] == "fail"
    assert written["failure"]["diagnosis"]["location"]["line"] == line_of("null_pointer")
