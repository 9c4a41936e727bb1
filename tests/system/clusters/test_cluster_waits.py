"""Tests of warps that sleep until a unit has made progress: in lockstep, and on the model alone."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.sim.harness.dram import DramConfig
from support.runs import failure_of, run_program

FOLDER = Path(__file__).parents[2] / "support" / "c_programs" / "waits"
TINY = PRESETS["tiny"]
#: Machines: one core, several, one without matrix units, one with two.
MACHINES = {
    "tiny": TINY,
    "two_cores": replace(TINY, cores=2),
    "dma_only": replace(TINY, units=()),
    "two_units": replace(TINY, units=(*TINY.units, *PRESETS["tiny_hetero"].units[1:])),
}
ENGINES = ["iss", pytest.param("verilator", marks=pytest.mark.full)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("program", "name"),
    [
        (program, name)
        for program in ("all_warps", "launched")
        for name in MACHINES
        if program == "launched" or MACHINES[name].units  # `virgo.h` needs a matrix unit
    ],
)
def test_data_are_there_when_a_warp_continues(program, name, engine):
    options = {"engine": engine, "memory": DramConfig(latency=20)}
    result = run_program(FOLDER / f"{program}.c", MACHINES[name], **options)
    assert (result["check"]["verdict"], result["check"]["exit_code"]) == ("pass", 0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("program", ["all_warps", "launched"])
def test_any_order_of_the_units(program, seed):
    """On the model the works of the units end at random times."""
    options = {"engine": "iss", "schedule": "random", "seed": seed, "races": "error"}
    result = run_program(FOLDER / f"{program}.c", MACHINES["two_cores"], **options)
    assert (result["check"]["verdict"], result["check"]["exit_code"]) == ("pass", 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_address_without_progress_is_a_fault_with_its_line(engine):
    report, text = failure_of(FOLDER / "wrong_address.c", "tiny", engine=engine)
    assert report["stop"] == "fault"
    assert re.search(r"wrong_address\.c:6 in main", text)
    assert "is not a register to wait for: running, loads_done" in text


@pytest.mark.parametrize("engine", ENGINES)
def test_a_deadlock_names_the_register(engine):
    report, text = failure_of(FOLDER / "no_load.c", "tiny", engine=engine)
    assert report["stop"] == "deadlock"
    assert text.startswith(
        "deadlock: every warp that has not ended waits at a barrier or for a unit"
    )
    assert "core 0, warp 0 waits for register dma_loads_done, until it is at or past 5" in text
    assert re.search(r"no_load\.c:7 in main", text)


@pytest.mark.full
def test_a_deadlock_without_the_model():
    report, text = failure_of(FOLDER / "no_load.c", "tiny", engine="verilator", lockstep=False)
    assert report["stop"] == "deadlock"
    assert "sleeps until a unit has made progress" in text


def test_a_machine_without_units_does_not_compile_a_wait(tmp_path):
    program = tmp_path / "waits.c"
    program.write_text("#include <spica.h>\nint main(void) { vx_wait(0, 0); return 0; }\n")
    with pytest.raises(UserError, match="vx_wait needs a DMA and this machine has none"):
        run_program(program, replace(PRESETS["volta"], cores=1), engine="iss")


@pytest.mark.full
@pytest.mark.parametrize("program", ["all_warps", "launched"])
def test_a_clock_that_stops_changes_nothing(program):
    """Cores sleep while DRAM is slow; every unit wakes them in the cycle of its progress."""
    source = FOLDER / f"{program}.c"
    options = {"engine": "verilator", "memory": DramConfig(latency=400, stall=0.1, seed=2)}
    results = {
        gating: run_program(source, MACHINES["two_cores"], gating=gating, **options)
        for gating in ("gated", "ungated", "random")
    }
    for result in results.values():
        for figure in ("check", "run_cycles", "cycles", "counters", "instructions", "cores"):
            assert result[figure] == results["ungated"][figure]
    gated, always, random = (results[name]["clocked_cycles"]["core0"] for name in results)
    assert gated < random < always
    assert gated < 0.9 * results["gated"]["run_cycles"]
