"""Tests of races found in lockstep: both places, ignored ones, the trace before a difference."""

import itertools
import re
import tempfile
from pathlib import Path

import pytest

from spica.kernels.compile import compile_program
from spica.kernels.program import Program
from spica.sim.diagnose.diagnostics import ProgramError
from spica.sim.harness.dram import DramConfig
from spica.sim.run.difference_trace import BEFORE
from spica.sim.run.loading import memory_layout_of
from spica.sim.run.options import SimtOptions
from spica.sim.run.rtl_executor import RtlExecutor
from support.cluster.two_cores import TWO, two_cores
from support.mistakes import line_of

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
