"""Tests of the fit of event energies: known values are recovered, data are found or flagged."""

from collections import Counter

import numpy as np
import pytest

from spica.explore.energy.event_data import (
    SAME,
    SIMILAR,
    STALE,
    BlockEnergies,
    EventEnergies,
    read_energies,
    text_of,
)
from spica.explore.energy.event_fit import (
    MeasuredRun,
    differences,
    fitted_blocks,
    non_negative,
)
from spica.explore.energy.event_table import CANDIDATES, EVENTS, EventCounts
from spica.hw.config import PRESETS
from spica.synth.clocked_parts import ClockedPart, Place
from spica.synth.groups import GROUPS

CONFIG = PRESETS["tiny_matrix"]
MESH = ClockedPart(
    block="mesh_1",
    group="mesh",
    kind="WeightStationaryMesh",
    digest="d1",
    size=1000,
    places=Counter({Place("matrix", True): 4}),
)
DMA = ClockedPart(
    block="dma_1",
    group="DMA",
    kind="Dma",
    digest="d2",
    size=500,
    places=Counter({Place("dma", True): 2}),
)


def counts_of(active, weights, beats, clocked):
    """Return the events of a made-up run."""
    counters = {
        "matrix_active": active,
        "shared_read_words_b": weights,
        "dma_read_beats_0": beats,
        "dma_read_beats_1": beats,
    }
    return EventCounts(run_result(counters, clocked), CONFIG)


def run_result(counters, clocked=1000):
    """Return the parts of the result of a made-up run that have events."""
    rows = dict.fromkeys(("matrix_active", "overwrite_rows", "accumulate_rows", "drain_rows"), 0)
    return {
        "run_cycles": 10 * clocked,
        "clocked_cycles": {"matrix": clocked, "dma": clocked // 2},
        "counters": rows | counters,
        "cores": None,
        "mac_utilization": None,
    }


def made_up_run(active, weights, beats, clocked, noise=1.0):
    """Return a run whose energies follow from known energies of events."""
    counts = counts_of(active, weights, beats, clocked)
    logic = noise * 4 * (0.5 * clocked + 3.0 * active + 0.25 * weights)
    memory = 7.0 * 2 * beats
    rows = [
        block_row(MESH, logic=logic, clock=4 * 2.0 * clocked, memory=0.0),
        block_row(DMA, logic=0.0, clock=2 * 1.0 * (clocked // 2), memory=memory),
    ]
    energy = {"blocks": rows, "total_pj": sum(row["total_pj"] for row in rows)}
    parts = {(part.block, part.group): part for part in (MESH, DMA)}
    return MeasuredRun(energy=energy, parts=parts, counts=counts)


def block_row(part, *, logic, clock, memory):
    return {
        "block": part.block,
        "group": part.group,
        "windows_counted": 1,
        "total_pj": logic + clock + memory,
        "internal_pj": 0.75 * logic,
        "clock_pj": clock,
        "memory_pj": memory,
        "leakage_nw": 10.0 * part.instances,
    }


@pytest.fixture
def runs():
    rng = np.random.default_rng(1)
    return [made_up_run(*map(int, rng.integers(100, 1000, 3)), 3000 + 200 * n) for n in range(10)]


def test_known_energies_are_recovered(runs):
    mesh, dma = fitted_blocks(runs)
    assert mesh.clock_pj == pytest.approx(2.0)
    assert mesh.logic_cycle_pj == pytest.approx(0.5)
    assert mesh.logic_pj == pytest.approx({"matrix_active": 3.0, "weight_words": 0.25})
    assert mesh.memory_pj == {}
    assert mesh.internal_share == pytest.approx(0.75)
    assert mesh.leakage_nw == 10.0
    assert mesh.spread < 1e-9
    assert dma.memory_pj == pytest.approx({"dma_read_beats": 7.0})
    assert dma.memory_cycle_pj == pytest.approx(0.0, abs=1e-9)
    energies = EventEnergies(source={}, presets={}, blocks=[mesh, dma])
    other = differences(made_up_run(70, 20, 900, 2500), energies)
    assert other["total"] == pytest.approx(0, abs=1e-9)
    assert other["groups"] == pytest.approx({"mesh": 0, "DMA": 0}, abs=1e-9)


def test_spread_follows_from_noise(runs):
    noisy = [
        made_up_run(300 + 50 * n, 200, 100, 3000 + 200 * n, noise=1.1 if n % 2 else 0.9)
        for n in range(10)
    ]
    assert 0.01 < fitted_blocks(noisy)[0].spread < 0.1


def test_one_run_gives_energy_per_clocked_cycle(runs):
    (mesh, _) = fitted_blocks(runs[:1])
    assert mesh.logic_pj == {}
    assert mesh.runs == 1
    assert mesh.dynamic(MESH, runs[0].counts) == pytest.approx(
        runs[0].energy["blocks"][0]["total_pj"]
    )


def test_factors_are_not_negative():
    columns = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    assert non_negative(columns, np.array([3.0, 2.0, 1.0])) == pytest.approx([2.0, 0.0])
    assert non_negative(columns, np.array([2.0, 3.0, 4.0])) == pytest.approx([1.0, 1.0])


def row_of(part, **changes):
    fields = {"block": part.block, "group": part.group, "kind": part.kind}
    fields |= {"digest": part.digest, "size": part.size, **changes}
    return BlockEnergies(
        **fields,
        leakage_nw=1.0,
        clock_pj=2.0,
        logic_cycle_pj=0.0,
        memory_cycle_pj=0.0,
        internal_share=0.5,
        runs=1,
        spread=0.0,
    )


def found(*rows):
    return EventEnergies(source={}, presets={}, blocks=rows).find(MESH)


def test_data_of_a_block_are_found_or_flagged():
    assert found(row_of(MESH), row_of(DMA)).relation == SAME
    assert found(row_of(MESH, block="mesh_renamed")).relation == SAME
    assert found(row_of(MESH, digest="older")).relation == STALE
    near, far = (row_of(MESH, block=f"mesh_{n}", digest=n, size=n) for n in (1200, 9000))
    nearest = found(far, near)
    assert (nearest.relation, nearest.energies) == (SIMILAR, near)
    assert found(row_of(DMA)) is None
    assert found(row_of(MESH, group="accumulator")) is None


def test_broadcast_events_count_for_every_instance():
    counts = counts_of(10, 20, 30, 1000)
    assert counts.count(MESH, "matrix_active") == 40
    assert counts.count(DMA, "dma_read_beats") == 60
    assert counts.clocked_cycles(MESH) == 4000


def test_events_of_the_l2_are_without_bursts_of_the_dma():
    counters = {
        **{"l2_reads": 50, "l2_read_misses": 30, "l2_prefetches": 5, "l2_writes": 9},
        **{"dma_read_beats_0": 8, "dma_read_beats_1": 4, "dma_write_beats_0": 10},
    }
    counts = EventCounts(run_result(counters), CONFIG)
    found = {name: counts.count(DMA, name) for name in ("l2_placed", "l2_core_reads")}
    assert found == {"l2_placed": 30 + 5 - 12, "l2_core_reads": 50 - 12}
    assert counts.count(DMA, "l2_core_writes") == 0


def test_products_outside_of_a_matrix_do_not_count():
    result = run_result({}) | {"operations": 2 * 5 * 6 * 7}
    assert EventCounts(result, CONFIG).count(MESH, "multiply_adds") == 0
    result["mac_utilization"] = 0.5
    assert EventCounts(result, CONFIG).count(MESH, "multiply_adds") == 5 * 6 * 7


def test_candidates_are_events_of_groups():
    assert {name for names in CANDIDATES.values() for name in names} <= set(EVENTS)
    assert set(CANDIDATES) == set(GROUPS)


def test_the_file_of_spica_is_as_it_was_written(tmp_path):
    energies = read_energies()
    copy = tmp_path / "copy.json"
    copy.write_text(text_of(energies))
    assert read_energies(copy) == energies
    assert "tiny_matrix" in energies.presets
    assert energies.source["command"].startswith("python -m bench.energy_events")
