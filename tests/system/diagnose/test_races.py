"""Tests of races between harts: on the model, and in lockstep."""

import itertools
import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.kernel import every_kernel
from spica.kernels.program import Program
from spica.sim.diagnose.diagnostics import ProgramError
from spica.sim.harness.dram import DramConfig
from spica.sim.iss.machine import Iss
from spica.sim.report.result import PASS
from spica.sim.run.difference_trace import BEFORE
from spica.sim.run.exact_kernels import EXACT_KERNELS, kernel_of
from spica.sim.run.iss_executor import IssExecutor
from spica.sim.run.loading import memory_layout_of
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.rtl_executor import RtlExecutor
from spica.sim.run.workload import run_workload
from support.cluster.two_cores import TWO, two_cores
from support.mistakes import line_of
from support.runs import planted, run_kernel, run_program

FOLDER = Path(__file__).parents[2] / "support" / "c_programs" / "races"
#: Program, preset, and words of the report.
PLANTED = {
    "shared_word": ("core", "nothing orders the two"),
    "dram_bytes": ("core", "nothing orders the two"),
    "missing_fence": ("virgo", "call vx_fence after it, in core 0, warp 0"),
    "stale_copy": ("virgo", "call vx_fence before the load"),
    "early_load": ("virgo", "load 1 of the DMA"),
    "early_store": ("virgo", "call vx_fence between the two"),
    "early_spill": ("virgo", "the store of matrix command 2"),
    "flag": ("core", "nothing orders the two"),
}


def run(name, preset, **options):
    return run_program(FOLDER / f"{name}.c", preset, check="races", **options)


def marked(name, mark):
    """Return the numbers of the program lines with a comment that contains `mark`."""
    lines = (FOLDER / f"{name}.c").read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if mark in line.partition("/* ")[2]]


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.quick(2)
def test_a_planted_race_is_reported(name, seed):
    preset, words = PLANTED[name]
    with pytest.raises(ProgramError) as caught:
        run(name, preset, schedule="random", seed=seed)
    report, text = caught.value.diagnostics, str(caught.value)
    assert report["cause"] == "race" and text.startswith("race: ")
    partner = report["partner"]
    lines = {partner["location"]["line"], report["location"]["line"]}
    pairs = itertools.product(marked(name, "FIRST"), marked(name, "SECOND"))
    assert lines in [set(pair) for pair in pairs]
    assert all(f"{name}.c:{line} in " in text for line in lines)
    if not name.startswith("early_"):
        assert (partner["core"], partner["warp"]) != (report["core"], report["warp"])
    assert words in " ".join(text.split())
    assert f"core {partner['core']}, warp {partner['warp']}" in text
    assert json.loads(json.dumps(report))


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.quick(2)
def test_the_right_program_has_no_race(name):
    for seed in range(1, 6):
        result = run(name, PLANTED[name][0], schedule="random", seed=seed, defines=("CORRECT",))
        assert result["check"]["verdict"] == PASS
        assert result["options"]["check"] == "races"


#: Small sizes by number of dimensions, and of kernels whose dimensions are not sides.
SIZES = {1: (61,), 2: (9, 11), 3: (17, 20, 19)}
SIZES_OF = {"attention": (70, 64), "chase": (5, 3, 2), "random_access": (61, 7), "strided": (61, 7)}
SHIPPED = [kernel.name for kernel in every_kernel()] + list(EXACT_KERNELS)
MACHINES = ("core", "tiny", "virgo", "virgo_hetero", "hopper", "ampere", "volta")
SEVERAL = {
    ("gemm", "virgo"): (130, 70, 200),
    ("gemm_bias_gelu", "virgo"): (130, 70, 20),
    ("gemm", "hopper"): (70, 70, 100),
    ("gemm", "ampere"): (70, 130, 200),
    ("gemm", "volta"): (70, 130, 200),
}


def runs_on(name, preset):
    """Return whether a machine has what a kernel needs."""
    try:
        kernel_of(name, PRESETS[preset], {})
    except UserError:
        return False
    return True


def assert_no_race(name, preset, seeds):
    config = PRESETS[preset]
    kernel = kernel_of(name, config, {})
    size = SIZES_OF.get(name) or SIZES[len(kernel.dimensions)]
    size = SEVERAL.get((name, preset), size)
    work = KernelWorkload(kernel, dict(zip(kernel.dimensions, size, strict=True)))
    options = SimtOptions(check="races", schedule="random")
    assert run_workload(work, preset, config, options)["check"]["verdict"] == PASS
    layout = memory_layout_of(config, work.program, work.place(config, options), options)
    for seed in seeds:
        iss = Iss(config, schedule="random", seed=seed, checks_races=True)
        executor = IssExecutor(iss, work.program, layout, options)
        executor.load(None)
        for address, data in work.image():
            executor.write(address, data)
        assert executor.execute("", None, {}) and executor.exit_code == 0, seed


#: Presets on which kernels run if they can: products on all, others on these.
OF_CORES = ("core", "virgo")
EVERYWHERE = [
    (name, preset)
    for name in SHIPPED
    for preset in (MACHINES if name in EXACT_KERNELS else OF_CORES)
    if runs_on(name, preset)
]


def test_every_kernel_is_checked():
    assert {name for name, _ in EVERYWHERE} == set(SHIPPED)
    assert {preset for name, preset in EVERYWHERE if name == "gemm"} == {*MACHINES} - {"core"}


@pytest.mark.parametrize(
    ("name", "preset"), [pair for pair in EVERYWHERE if pair[0] == "gemm" or pair[1] in OF_CORES]
)
@pytest.mark.quick(2)
def test_shipped_kernels_have_no_race(name, preset):
    assert_no_race(name, preset, [2])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "preset"), EVERYWHERE)
def test_shipped_kernels_have_no_race_in_many_orders(name, preset):
    assert_no_race(name, preset, range(2, 102))


@pytest.mark.parametrize(
    ("file", "right", "wrong", "preset", "changes"),
    [
        ("tensor_positions.h", "tile < 2", "tile < 1", "volta", {"warps": 4}),
        ("tensor_dma.h", ".unset.flags", ".unset", "ampere", {}),
        (
            "tensor_dma.h",
            "    spica_tile_await(tensor_at.loads + needed",
            "    (void)(needed",
            "ampere",
            {},
        ),
    ],
)
@pytest.mark.quick(1)
def test_a_fault_planted_in_a_product_is_found(file, right, wrong, preset, changes, tmp_path):
    config = PRESETS[preset]
    config = replace(config, core=replace(config.core, **changes))
    kernel = planted(kernel_of("gemm", config, {}), tmp_path, (file, right, wrong))
    options = {"check": "races", "schedule": "random", "allow_spills": True}
    with pytest.raises(ProgramError, match=r"^race: "):
        for seed in range(1, 6):
            run_kernel(kernel, (70, 130, 200), config, seed=seed, **options)


def test_the_check_changes_no_order():
    """The same seed executes the same instructions in the same order."""
    results = [
        run_kernel("reduce", (999,), "virgo", check=check, schedule="random", seed=5)
        for check in (None, "races")
    ]
    assert results[0]["instructions"] == results[1]["instructions"]


@pytest.mark.parametrize(
    ("name", "mark"), [("missing_partner", "ELSEWHERE"), ("ended_partner", "ENDED")]
)
def test_a_missing_partner_is_named(name, mark):
    with pytest.raises(ProgramError) as caught:
        run(name, "core")
    text = str(caught.value)
    assert text.startswith("deadlock: ")
    (waits,), elsewhere = marked(name, "WAITS"), marked(name, mark)
    assert f"{name}.c:{waits} in synchronize" in text
    assert any(f"{name}.c:{line} in synchronize" in text for line in elsewhere)
    assert "barrier 0: core 0: 7 of 8 warps arrived\n" in text
    assert "  missing at barrier 0: core 0, warp 2\n" in text


SOURCE = Path(__file__).parents[2] / "support" / "c_programs" / "races" / "stale_copy.c"


def executor(*, defines=(), ignores_races=False):
    """Return a program in the memory of two cores in lockstep."""
    program = Program.load(compile_program([SOURCE], TWO, defines=defines))
    options = SimtOptions(engine="verilator", memory=DramConfig(), max_cycles=50_000)
    machine = two_cores(lockstep=True, memory=DramConfig(), ignores_races=ignores_races)
    made = RtlExecutor(machine, program, memory_layout_of(TWO, program, (), options), options)
    made.load(None)
    return made


def execute(made):
    try:
        assert made.execute("running", None, {})
        return made.exit_code, made.ignored_races
    finally:
        made.close()


@pytest.fixture
def failure(tmp_path, monkeypatch):
    """Return the error of the program without its fence; its trace goes to the test's folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ProgramError) as caught:
        execute(executor())
    return caught.value


@pytest.mark.full
def test_a_load_that_missed_a_store_names_both(failure):
    text, race = str(failure), failure.diagnostics["race"]
    assert text.startswith("race: a load missed a store for want of a fence")
    assert (race["core"], race["warp"], race["writer"][:2]) == (1, 0, (0, 0))
    assert race["location"]["line"] == line_of(SOURCE, "SECOND")
    assert race["writer_location"]["line"] == line_of(SOURCE, "FIRST")
    assert race["written"] < race["cycle"]
    for mark in ("FIRST", "SECOND"):
        assert re.search(
            rf"stale_copy\.c:{line_of(SOURCE, mark)} in main\n +> +{line_of(SOURCE, mark)} \|", text
        )
    assert "core 1, warp 0 loads" in text and "core 0, warp 0 stored" in text


@pytest.mark.full
def test_the_trace_before_a_difference_has_operands(failure):
    path = Path(failure.diagnostics["trace"])
    assert str(path) in str(failure)
    cycle = failure.diagnostics["race"]["cycle"]
    head, *lines = path.read_text().splitlines()
    assert head.startswith("# cycle core.warp")
    cycles = [int(line.split()[0]) for line in lines]
    assert cycle - BEFORE <= cycles[0] and cycles[-1] == cycle
    assert cycles == sorted(cycles)
    last = lines[-1]
    assert f"stale_copy.c:{line_of(SOURCE, 'SECOND')}" in last and "; a" in last
    # A source register has the value of the last instruction of the warp that wrote it.
    checked, known = 0, {}
    for line in sorted(lines, key=lambda line: int(line.split()[2])):
        warp, parts = line.split()[1], line.split("; ")[1:]
        sources = [part[5:].split(", ") for part in parts if part.startswith("from ")]
        for source in itertools.chain(*sources):
            name, value = source.split()[0], source.split()[2]
            if value != "-" and known.get((warp, name), "-") != "-":
                assert known[warp, name] == value, line
                checked += 1
        results = [part for part in parts if re.match(r"\w+ = ", part)]
        known |= {(warp, part.split()[0]): part.split()[2] for part in results}
    assert checked > 20


@pytest.mark.full
def test_ignored_races_are_counted():
    assert execute(executor(ignores_races=True)) == (0, 1)


@pytest.mark.full
def test_the_right_program_has_none():
    assert execute(executor(defines=("CORRECT",))) == (0, 0)
