"""Tests of the fit of event energies: table of runs, kept results, limits, merged data."""

from importlib import import_module
from pathlib import Path

import pytest

from spica.explore.energy.event_data import EventEnergies, read_energies
from spica.hw.base.errors import UserError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def bench(monkeypatch):
    """Import modules of the benchmarks, which are not part of the package."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: import_module(f"bench.{name}")


def test_every_run_of_the_table_can_be_posed(bench):
    table = bench("energy_runs").RUNS
    assert len({run.name for run in table}) == len(table)
    for run in table:
        workload, settings = bench("energy_events").work_of(run)
        assert workload.subject["kernel"] == run.kernel
        assert settings.engine == "verilator"


def test_every_preset_has_runs_of_the_fit_and_of_the_check(bench):
    runs = bench("energy_runs")
    for preset in {run.preset for run in runs.RUNS}:
        uses = {run.use for run in runs.RUNS if run.preset == preset}
        assert {runs.FIT, runs.CHECK} <= uses


def test_operands_have_their_sizes(bench):
    operands = bench("energy_operands").operands
    a, b = operands("zeros", 2, 3, 4)
    assert (a.shape, b.shape, a.any(), b.any()) == ((2, 4), (4, 3), False, False)
    a, _ = operands("attention", 8, 3, 16)
    assert a.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_the_data_of_spica_are_within_the_limits(bench):
    energies = read_energies()
    assert bench("energy_events").missed(energies, energies.presets) == []


def test_a_check_beyond_the_limits_is_missed(bench):
    runs = [
        {"run": "gemm 8", "use": "check", "gates_pj": 1.0, "total": -0.12, "groups": {"L2": 0.1}},
        {"run": "gemm 9", "use": "check", "gates_pj": 1.0, "total": 0.05, "groups": {"L2": 0.25}},
        {"run": "gemm 10", "use": "fit", "gates_pj": 1.0, "total": 0.5, "groups": {}},
    ]
    energies = EventEnergies(source={}, presets={"tiny": {"runs": runs, "data": {}}}, blocks=[])
    assert bench("energy_events").missed(energies, ["tiny"]) == [
        "tiny: total of gemm 8 differs by -12.0 %",
        "tiny: L2 of gemm 9 differs by +25.0 %",
    ]


def test_data_of_two_libraries_are_not_mixed(bench):
    files = {"liberty": "a.lib", "sram_table": None}
    require = bench("energy_events").require_same_files
    require(files, files)
    with pytest.raises(UserError, match=r"liberty must be that of the data file, a.lib, not b.lib"):
        require(files, files | {"liberty": "b.lib"})
