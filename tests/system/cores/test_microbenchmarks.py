"""Tests of a core's micro-benchmarks: rates and costs equal the definition."""

import itertools
from dataclasses import replace

import pytest

from spica.hw.config import CoreConfig
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import Port
from spica.hw.isa.program import assemble_program
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.program_bench import small_config
from support.microbenchmarks import memory_rows
from support.microbenchmarks.cost_rows import BOTH_WAYS, cost_rows
from support.microbenchmarks.definition import chain, gathering, taken_branch
from support.microbenchmarks.issue_rows import (
    chain_rows,
    dual_issue_rows,
    issue_rows,
)
from support.microbenchmarks.row import SHAPE, Row, Workbench, exactly, ratio
from support.microbenchmarks.steady import Steady
from support.microbenchmarks.unrolled_code import STREAMS, Stream, program

PARTS = (
    *(issue_rows, chain_rows, dual_issue_rows, cost_rows),
    *(memory_rows.hiding_rows, memory_rows.access_rows),
    memory_rows.fetch_rows,
)
ROWS = [row for part in PARTS for row in part()]
USUAL = [row for row in ROWS if not row.change]
#: Rows of a core are measured together, because the core is built once.
OTHERS = {
    changes: list(rows)
    for changes, rows in itertools.groupby(
        sorted((row for row in ROWS if row.change), key=lambda row: row.changes),
        key=lambda row: row.changes,
    )
}
ENDLESS = 1_000_000


def name_of(row):
    return f"{row.group}: {row.name}"


def check(row):
    value = row.measured(optimize=0)
    assert row.is_within(value), (
        f"{row.name}, {row.changes}: {value}, not {row.expected}: {row.why}"
    )


@pytest.mark.parametrize("row", USUAL, ids=name_of)
@pytest.mark.full
def test_the_usual_core_is_as_fast_as_defined(row):
    check(row)


@pytest.mark.slow
@pytest.mark.parametrize("changes", OTHERS)
def test_other_cores_are_as_fast_as_defined(changes):
    for row in OTHERS[changes]:
        check(row)


@pytest.mark.full
def test_snooping_saves_two_cycles_or_more_of_a_chain_of_multiply_adds():
    core = CoreConfig(**SHAPE)
    steps = [
        chain(replace(core, snoop=snoop), Port.FP32, core.fma_latency, 3) for snoop in (True, False)
    ]
    assert steps == [5, 10]  # both are measured, too


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.quick(4)
def test_streams_run_on_the_model(name):
    length = 3 * len(STREAMS[name].lines)
    instructions = [instructions_of(program(STREAMS[name], n, warps=2)) for n in (0, length)]
    assert instructions[1] - instructions[0] == 2 * length


def test_both_ways_of_a_choice():
    ways = [instructions_of(program(BOTH_WAYS, n, warps=1)) for n in (0, 1)]
    # Branch and join come twice; threads that take the branch go to their sum, the others have a
    # sum and a jump.
    assert ways[1] - ways[0] == 8


def instructions_of(text):
    iss = Iss(small_config(warps=2, threads=4))
    iss.write(ENTRY, assemble_program(text).data)
    outcome = iss.run(ENDLESS)
    assert outcome.stop is StopReason.DONE, outcome
    return iss.statistics.instructions


@pytest.mark.slow  # elaborates a core twice
def test_a_core_that_is_slower_than_defined_is_found():
    (row,) = (row for row in USUAL if row.name == "one warp: dependent product")
    slower = small_config(warps=1, threads=1, multiply_latency=4)
    bench = Workbench(slower, engine="amaranth")
    step = bench.run(STREAMS["dependent products"], lengths=(4, 12)).step
    assert step == row.limits[0] + 1
    assert not row.is_within(step)


def test_what_rows_say():
    words = {"group": "g", "name": "n", "unit": "cycles", "why": ""}
    row = Row(**words, limits=exactly(6), measure=lambda bench: 6)
    assert (row.expected, row.changes) == ("= 6", "")
    assert [row.is_within(value) for value in (5.99, 6, 6.01)] == [False, True, False]
    assert replace(row, limits=(0.5, 1)).expected == "0.5 to 1"
    assert replace(row, change={"banks": 4, "snoop": False}).changes == "banks 4, snoop False"


def test_formulas():
    assert [gathering(operands) for operands in range(4)] == [2, 2, 3, 4]
    assert taken_branch(2, latency=1) == 8
    assert ratio(3, 4) == 0.75 and ratio(5, 4) == 1
    steady = Steady(cycles=30, instructions=20, lines=10)
    assert (steady.ipc, steady.step) == (2 / 3, 3)
    assert Stream(["add x{d}, x8, x9"]).text(2).split("\n")[1:] == [
        "add x16, x8, x9",
        "add x17, x8, x9",
    ]
