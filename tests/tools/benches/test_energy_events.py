"""Tests of the fit of event energies: table of runs, kept results, limits, merged data."""

from dataclasses import replace
from importlib import import_module

import pytest

from spica.base.errors import UserError
from spica.explore.energy.event_data import read_energies
from spica.explore.energy.event_table import event_blocks
from spica.hw.presets import PRESETS


def bench(name):
    """Import a module of the benchmarks, which are not part of the package."""
    return import_module(f"bench.{name}")


def test_every_run_of_the_table_can_be_posed():
    table = bench("energy_runs").RUNS
    assert len({run.name for run in table}) == len(table)
    for run in table:
        workload, settings = bench("energy_measurements").work_of(run)
        assert workload.subject["kernel"] == run.kernel
        assert settings.engine == "verilator"


def test_every_preset_has_runs_of_the_fit_and_of_the_check():
    runs = bench("energy_runs")
    for preset in {run.preset for run in runs.RUNS}:
        uses = {run.use for run in runs.RUNS if run.preset == preset}
        assert {runs.FIT, runs.CHECK} <= uses


def test_operands_have_their_sizes():
    operands = bench("energy_operands").operands
    a, b = operands("zeros", 2, 3, 4)
    assert (a.shape, b.shape, a.any(), b.any()) == ((2, 4), (4, 3), False, False)
    a, _ = operands("attention", 8, 3, 16)
    assert a.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_the_data_of_spica_are_within_the_limits():
    events = bench("energy_events")
    energies = read_energies()
    assert set(energies.presets) <= {run.preset for run in bench("energy_runs").RUNS}
    differences = [run["total"] for account in energies.presets.values() for run in account["runs"]]
    assert max(map(abs, differences)) < events.TOTAL


def test_a_check_beyond_the_limits_is_missed():
    events, run = bench("energy_events"), bench("energy_runs").EnergyRun
    runs = {
        run(preset="tiny", kernel="gemm", size="8", use="check"): (-0.12, 0.1),
        run(preset="tiny", kernel="gemm", size="9", use="check"): (0.05, 0.25),
        run(preset="tiny", kernel="gemm", size="10", use="fit"): (0.5, 0.0),
    }
    errors = {
        energy_run: {"gates_pj": 1.0, "total": total, "groups": {"L2": group}}
        for energy_run, (total, group) in runs.items()
    }
    assert events.missed(errors) == [
        "tiny: total of gemm 8 differs by -12.0 %",
        "tiny: L2 of gemm 9 differs by +25.0 %",
    ]
    assert events.account(errors)["runs"] == [
        {"use": "fit", "runs": 1, "run": "gemm 10", "total": 0.5},
        {"use": "check", "runs": 2, "run": "gemm 8", "total": -0.12},
    ]


def test_data_of_two_libraries_are_not_mixed():
    files = {"liberty": "a.lib", "sram_table": None}
    require = bench("energy_events").require_same_files
    require(files, files)
    with pytest.raises(UserError, match=r"liberty must be that of the data file, a.lib, not b.lib"):
        require(files, files | {"liberty": "b.lib"})


def test_rows_of_machines_that_are_not_at_hand_are_not_fitted():
    events, runs = bench("energy_events"), bench("energy_runs").RUNS
    before = read_energies()
    own = [run for run in runs if run.preset == "tiny_hetero"]

    def rows(*presets):
        fixed = events.shared_rows(own, before, lambda run: run.preset in presets)
        return {(group, config) for group, configs in fixed.items() for config in configs}

    blocks = {
        preset: {(block.group, block.config) for block in event_blocks(PRESETS[preset])}
        for preset in before.presets
    }
    others = blocks.keys() - {"tiny_hetero"}
    assert rows() == set().union(*(blocks[preset] for preset in others))
    assert not blocks["tiny_hetero"] <= rows()
    assert rows(*others) == set()
    assert rows(*(others - {"tiny"})) == blocks["tiny"]


def test_runs_that_would_fit_nothing_are_refused():
    own = [run for run in bench("energy_runs").RUNS if run.preset == "tiny_matrix"]
    before = replace(read_energies(), presets={"tiny_hetero": {}, "matrix": {}, "tiny": {}})
    message = "all energies of tiny_matrix are also those of tiny_hetero, tiny, matrix; name these"
    with pytest.raises(UserError, match=message):
        bench("energy_events").shared_rows(own, before, lambda _: False)
