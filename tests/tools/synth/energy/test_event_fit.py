"""Tests of the fit of event energies: known values are recovered, also of two units at once."""

from dataclasses import replace

import numpy as np
import pytest

from spica.explore.energy.event_data import DATA, EventEnergies, read_energies, text_of
from spica.explore.energy.event_fit import (
    MeasuredRun,
    differences,
    fitted_groups,
    non_negative,
)
from spica.explore.energy.event_table import GROUPS, EventCounts, event_blocks
from spica.hw.presets import PRESETS
from spica.hw.presets.override import override
from spica.synth.groups import GROUPS as ALL_GROUPS

ONE, TWO = PRESETS["tiny_matrix"], PRESETS["tiny_hetero"]
#: Energies of the meshes of both units: per clocked cycle, active cycle and word of weights.
MESHES = {"matrix": (0.5, 3.0, 0.25), "matrix1": (1.0, 2.0, 0.0)}


def run_result(counters, clocked=1000):
    """Return the parts of the result of a made-up run that have events."""
    units = ("matrix_active", "overwrite_rows", "accumulate_rows", "drain_rows")
    names = [*units, *(f"matrix1_{name.removeprefix('matrix_')}" for name in units)]
    return {
        "run_cycles": 10 * clocked,
        "clocked_cycles": {"matrix": clocked, "matrix1": clocked // 4, "dma": clocked // 2},
        "counters": dict.fromkeys(names, 0) | counters,
        "cores": None,
        "mac_utilization": None,
    }


def made_up_run(config, rng):
    """Return a run whose energies follow from known energies of events."""
    active, weights, beats, clocked = map(int, rng.integers(100, 1000, 4))
    counters = {
        **{"matrix_active": active, "matrix1_active": active // 3},
        **{"shared_read_words_b": weights, "shared_read_words_b1": weights // 2},
        **{"dma_read_beats_0": beats, "dma_read_beats_1": beats},
    }
    counts = EventCounts(run_result(counters, 3 * clocked), config)
    meshes = [block for block in event_blocks(config) if block.group == "mesh"]
    logic = clock = 0.0
    for mesh in meshes:
        for pj, name in zip(
            MESHES[str(mesh.unit)], ("matrix_cycles", "matrix_active", "weight_words"), strict=True
        ):
            logic += pj * counts.count(mesh, name)
        clock += 2.0 * counts.count(mesh, "matrix_cycles")
    groups = {
        "mesh": figures(logic=logic, clock=clock, memory=0.0, leakage=len(meshes) * 10.0),
        "DMA": figures(logic=0.0, clock=1.5 * clocked, memory=14.0 * beats, leakage=5.0),
    }
    energy = {
        "by_group": groups,
        "total_pj": sum(block["total_pj"] for block in groups.values()),
        **{"clock_mhz": 100.0, "cycles": 1000},
    }
    return MeasuredRun(energy=energy, blocks=[*event_blocks(config)], counts=counts)


def figures(*, logic, clock, memory, leakage):
    """Return the figures of a group; `leakage` is in uW."""
    return {
        "total_pj": logic + clock + memory,
        "internal_pj": 0.75 * logic,
        "switching_pj": 0.25 * logic,
        "clock_pj": clock,
        "memory_pj": memory,
        "leakage_pj": leakage * 10.0,  # in 10 us
    }


@pytest.fixture
def runs():
    rng = np.random.default_rng(1)
    return [made_up_run(config, rng) for config in (ONE, TWO) for _ in range(10)]


def test_known_energies_are_recovered(runs):
    groups = fitted_groups(runs, {})
    (large, small), (dma, _) = groups["mesh"].values(), groups["DMA"].values()
    names = ("matrix_cycles", "matrix_active", "weight_words")
    for mesh, known in zip((large, small), MESHES.values(), strict=True):
        expected = {name: energy for name, energy in zip(names, known, strict=True) if energy}
        assert mesh.logic_pj == pytest.approx(expected, rel=1e-3)
        assert mesh.clock_pj == pytest.approx({"matrix_cycles": 2.0})
        assert mesh.memory_pj == {}
        assert mesh.internal_share == pytest.approx(0.75)
        assert mesh.leakage_nw == pytest.approx(10_000)
    assert dma.memory_pj == pytest.approx({"dma_read_beats": 7.0})
    energies = EventEnergies(source={}, presets={}, groups=groups)
    other = differences(made_up_run(TWO, np.random.default_rng(2)), energies)
    assert other["total"] == pytest.approx(0, abs=1e-3)
    assert other["groups"] == pytest.approx({"mesh": 0, "DMA": 0}, abs=1e-3)


def test_rows_that_are_not_fitted_leave_their_rest_to_the_others(runs):
    groups = fitted_groups(runs, {})
    large, small = groups["mesh"]
    fitted = fitted_groups(runs[10:], {"mesh": {large: groups["mesh"][large]}, "L2": {}})
    assert fitted["mesh"].keys() == {small}
    for figure in ("clock_pj", "logic_pj", "leakage_nw"):
        same = pytest.approx(getattr(groups["mesh"][small], figure), rel=1e-3)
        assert getattr(fitted["mesh"][small], figure) == same
    twice = replace(groups["mesh"][large], leakage_nw=12_000.0)
    fitted = fitted_groups(runs[10:], {"mesh": {large: twice}})
    assert fitted["mesh"][small].leakage_nw == pytest.approx(8_000)
    assert fitted_groups(runs[:10], groups)["mesh"] == {}


def test_a_group_without_data_counts_as_nothing(runs):
    groups = {"mesh": fitted_groups(runs[:10], {})["mesh"]}
    errors = differences(runs[0], EventEnergies(source={}, presets={}, groups=groups))
    assert errors["groups"]["DMA"] == -1.0


def test_factors_are_not_negative():
    columns = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    assert non_negative(columns, np.array([3.0, 2.0, 1.0])) == pytest.approx([2.0, 0.0])
    assert non_negative(columns, np.array([2.0, 3.0, 4.0])) == pytest.approx([1.0, 1.0])


def test_energies_belong_to_a_config(runs):
    energies = EventEnergies(source={}, presets={}, groups=fitted_groups(runs, {}))
    wider = override(ONE, ["matrix.columns=8", "matrix.tile=32,16,32"])
    for config, groups in ((ONE, {"mesh", "DMA"}), (wider, {"DMA"})):
        assert {block.group for block in event_blocks(config) if energies.find(block)} == groups


def test_events_of_the_l2_are_without_bursts_of_the_dma():
    counters = {
        **{"l2_reads": 50, "l2_read_misses": 30, "l2_prefetches": 5, "l2_writes": 9},
        **{"dma_read_beats_0": 8, "dma_read_beats_1": 4, "dma_write_beats_0": 10},
    }
    events = EventCounts(run_result(counters), ONE).events
    assert (events["l2_placed"], events["l2_core_reads"]) == (30 + 5 - 12, 50 - 12)
    assert events["l2_core_writes"] == 0


def test_products_outside_of_a_matrix_do_not_count():
    result = run_result({}) | {"operations": 2 * 5 * 6 * 7}
    assert EventCounts(result, ONE).events["multiply_adds"] == 0
    result["mac_utilization"] = 0.5
    assert EventCounts(result, ONE).events["multiply_adds"] == 5 * 6 * 7


def test_groups_are_those_of_reports():
    assert set(GROUPS) == set(ALL_GROUPS)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_energies(preset):
    energies = read_energies()
    missing = [block for block in event_blocks(PRESETS[preset]) if energies.find(block) is None]
    assert missing == []


def test_the_file_of_spica_is_small_and_as_it_was_written(tmp_path):
    energies = read_energies()
    copy = tmp_path / "copy.json"
    copy.write_text(text_of(energies))
    assert copy.read_text() == DATA.read_text()
    assert DATA.stat().st_size <= 20_000
    assert energies.source["command"].startswith("python -m bench.energy_events")
