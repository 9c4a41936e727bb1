"""Tests of the command line with programs for the cores: sizes, options, console, exit codes."""

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.run.options import SimtOptions, with_memory
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.request.sizes import chosen_sizes
from support.command_line import refused, run_spica
from support.fake_run import FakeRun

ISS = "--preset tiny --engine iss"
HELLO = """
#include <spica.h>
int main(void) {
    printf("no end of line");
    return 0;
}
"""


@pytest.fixture
def fake(monkeypatch):
    return FakeRun(monkeypatch, KernelWorkload, "the report\n")


def test_a_run_passes_its_options_on(fake, capsys):
    options = "--optimize 2 --schedule random --seed 7 --allow-spills"
    limits = "--max-instructions 99 --set core.warps=3"
    memory = "--allow-region 0xa0000000:64 --allow-region 0xB0000000:0x1000"
    assert run_spica(f"run sgemm {ISS} --size 64x32x16 {options} {limits} {memory}") == 0
    (call,) = fake.calls
    assert call.workload.kernel.name == "sgemm"
    assert [*call.workload.sizes.items()] == [("m", 64), ("n", 32), ("k", 16)]
    assert (call.config.cores, call.config.core.warps) == (1, 3)
    assert call.options == SimtOptions(
        engine="iss",
        optimize=2,
        schedule="random",
        seed=7,
        max_instructions=99,
        allow_spills=True,
        allow_regions=((0xA000_0000, 64), (0xB000_0000, 4096)),
    )
    assert capsys.readouterr().out == "né\nthe report\n"


def test_defaults(fake):
    assert run_spica(f"run sgemm {ISS} --size 8") == 0
    (call,) = fake.calls
    assert call.workload.sizes == {"m": 8, "n": 8, "k": 8}
    assert call.options == SimtOptions(engine="iss", seed=1)


def test_the_gateware_has_more_options(fake, tmp_path):
    timing = "--memory-latency 20 --memory-jitter 3 --memory-stall 0.5"
    trace = f"--trace {tmp_path / 'run.html'} --trace-window 10:20"
    others = "--max-cycles 99 --no-lockstep --gating random"
    assert run_spica(f"run vecadd --preset tiny -n 8 {timing} {trace} {others}") == 0
    (call,) = fake.calls
    memory = CoreMemoryConfig(latency=20, jitter=3, stall=0.5, seed=1)
    assert (call.options.engine, call.options.memory) == ("verilator", memory)
    assert (call.options.max_cycles, call.options.gating) == (99, "random")
    assert not call.options.lockstep
    assert call.options.trace.suffix == ".html"
    assert call.options.trace_window == (10, 20)


def test_what_is_behind_the_cores_follows_from_what_is_said_of_it(fake):
    run = "run vecadd --preset core -n 8"
    assert run_spica(run) == 0
    assert run_spica(f"{run} --dram-latency 30") == 0
    assert run_spica(f"{run} --memory-latency 30") == 0
    memories = [call.options.memory for call in fake.calls]
    assert memories == [None, DramConfig(latency=30), CoreMemoryConfig(latency=30, seed=1)]
    simple = with_memory(PRESETS["core"], SimtOptions(seed=4)).memory
    assert simple == CoreMemoryConfig(seed=4)
    assert with_memory(PRESETS["tiny"], SimtOptions(seed=4)).memory == DramConfig()


def test_two_memories_at_once_are_refused(capsys):
    run = "run vecadd --preset core -n 8 --dram-latency 30 --memory-latency 30"
    assert "--dram-... and --memory-... exclude each other" in refused(capsys, run)


@pytest.mark.parametrize(
    ("dimensions", "size", "single", "sizes"),
    [
        (("n",), "5", {}, {"n": 5}),
        (("rows", "columns"), "5", {}, {"rows": 5, "columns": 5}),
        (("rows", "columns"), "5x6", {}, {"rows": 5, "columns": 6}),
        (("m", "n"), None, {"m": 3, "n": 4}, {"m": 3, "n": 4}),
        (("m", "n"), "3X4", {}, {"m": 3, "n": 4}),
    ],
)
def test_sizes(dimensions, size, single, sizes):
    all_single = {"m": None, "n": None, "k": None} | single
    assert chosen_sizes(dimensions, size, all_single) == sizes


@pytest.mark.parametrize(
    ("dimensions", "size", "single", "sentence"),
    [
        (("rows", "columns"), None, {}, "sizes must be given by --size, rowsxcolumns"),
        (("rows", "columns"), "1x2x3", {}, "must have one number or 2, rowsxcolumns, not 1x2x3"),
        (("rows", "n"), "4", {"n": 4}, "sizes must be given by --size, not by -n"),
        (
            ("rows", "columns"),
            None,
            {"k": 4},
            "-k must be a dimension of the kernel, which has rows and columns",
        ),
        (("m", "n"), None, {"m": 4}, "sizes must be given by --size or by -m and -n; -n is miss"),
        (("m", "n"), None, {"m": 4, "n": 0}, "-n must be at least 1, not 0"),
        (("m", "n"), "4x", {}, "must be a number, or numbers joined by x, not '4x'"),
    ],
)
def test_sizes_that_are_refused(dimensions, size, single, sentence):
    with pytest.raises(UserError) as caught:
        chosen_sizes(dimensions, size, {"m": None, "n": None, "k": None} | single)
    assert sentence in str(caught.value)


def test_what_a_program_prints_ends_before_the_report(capsys, tmp_path):
    source = tmp_path / "hello.c"
    source.write_text(HELLO)
    assert run_spica(f"run {source} {ISS}") == 0
    assert capsys.readouterr().out.startswith(f"no end of line\nPASS: {source} on tiny\n")


def test_what_the_compiler_says_keeps_its_lines(capsys, tmp_path):
    source = tmp_path / "bad.c"
    source.write_text("int main(void) {\n    return absent;\n}\n")
    assert run_spica(f"run {source} {ISS}") == 2
    error = capsys.readouterr().err
    assert "spica: bad.c does not compile:\n" in error
    assert f"{source}:2:12: error: use of undeclared identifier 'absent'\n" in error
