"""Samples of a run: windows of cycles, instances of blocks, and the sums that they stand for."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from spica.synth.blocks import Block
from spica.synth.design import Design
from spica.synth.energy.batches import BatchSums
from spica.synth.energy.block_energy import BlockEnergy
from spica.synth.energy.block_model import InstanceEnergy
from spica.synth.energy.design_energy import part_energy, parts_by_group, total_energy
from spica.synth.energy.sampling import Part, parts_of, sampled_windows


def block(name, kind, **children):
    return Block(name=name, kind=kind, text="", names={}, children=Counter(children))


def sample(internal=10.0, cycles=50, clocked=20, memory=4.0, counting=2):
    logic = BlockEnergy(
        internal=internal,
        switching=2.0,
        clock=1.0,
        ungated_clock=2.5,
        leakage=3.0,
        cycles=cycles,
    )
    share = np.array([0.5, 0.5])
    return InstanceEnergy(
        logic=logic,
        batches=BatchSums(
            energy=share * (logic.dynamic + memory),
            clocked_cycles=share * clocked,
            cycles=share * cycles,
        ),
        clocked_cycles=clocked,
        memory=memory,
        reads=3,
        writes=1,
        memory_leakage=0.5,
        windows=2,
        counting=counting,
        differing=() if counting == 2 else ("o",),
    )


def test_windows_are_one_in_each_stratum():
    windows = sampled_windows(10_000, 8, 50)
    assert len(windows) == 8
    for k, (first, end) in enumerate(windows):
        assert end - first == 51  # the first cycle says what toggles in the second
        assert k * 1250 <= first < end <= (k + 1) * 1250
    assert windows != sampled_windows(10_000, 8, 50, seed=2)
    offsets = {first % 1250 for first, _ in windows}
    assert len(offsets) > 4


def test_a_short_run_is_one_window():
    assert sampled_windows(400, 8, 50) == [(0, 400)]
    assert len(sampled_windows(409, 8, 50)) == 8
    with pytest.raises(ValueError, match="at least 1"):
        sampled_windows(400, 0, 50)


def test_instances_by_block_and_group():
    """A helper belongs to the group of its parent, so one block is part of several groups."""
    design = Design(
        top="cluster",
        blocks={
            "cluster": block("cluster", "Cluster", dma=1, shared=2),
            "dma": block("dma", "Dma", queue=2),
            "shared": block("shared", "SharedMemory", queue=1),
            "queue": block("queue", "Queue"),
        },
    )
    children = {
        "cluster": [("dma", "dma"), ("a.first", "shared"), ("second", "shared")],
        "dma": [("q0", "queue"), ("q1", "queue")],
        "shared": [("q", "queue")],
        "queue": [],
    }
    parts = {(p.block, p.group): p.instances for p in parts_of(design, "top", children.get)}
    assert parts == {
        ("cluster", "control"): ("top",),
        ("dma", "DMA"): ("top.dma",),
        ("queue", "DMA"): ("top.dma.q0", "top.dma.q1"),
        ("shared", "shared memory"): ("top.a.first", "top.second"),
        ("queue", "shared memory"): ("top.a.first.q", "top.second.q"),
    }


def test_sampled_instances_are_spread():
    part = Part(block="a", group="DMA", instances=tuple(map(str, range(10))))
    assert part.sample(12) == part.instances
    energy = part.sample(3)
    assert energy == part.sample(3)
    for instance, share in zip(energy, (range(3), range(3, 6), range(6, 10)), strict=True):
        assert int(instance) in share


def test_sampled_instances_have_no_period():
    lanes = Part(block="a", group="FP32", instances=tuple(f"{k // 8}.{k % 8}" for k in range(64)))
    assert len({place.split(".")[1] for place in lanes.sample(8)}) > 2


def test_samples_stand_for_all_instances():
    part = Part(block="a", group="DMA", instances=("t.a", "t.b", "t.c", "t.d"))
    energy = part_energy(part, [sample(), sample(internal=30.0)], 1000)
    assert energy.power.internal == pytest.approx(4 * 40 / 100)
    assert energy.power.clock == pytest.approx(4 * 2 / 100)
    assert energy.power.ungated_clock == pytest.approx(4 * 5 / 100)
    assert energy.power.memory == pytest.approx(4 * 8 / 100)
    assert energy.power.leakage == 12.0
    assert energy.power.memory_leakage == 2.0
    assert energy.reads == pytest.approx(4 * 6 / 100)
    assert energy.power.ungated == pytest.approx(energy.power.dynamic + 4 * 3 / 100)


def test_samples_are_scaled_by_clocked_cycles():
    part = Part(block="a", group="DMA", instances=("t.a", "t.b"))
    energy = part_energy(part, [sample()], 1000, [100, 300])
    # 20 clocked cycles in the windows, 400 of both instances in 1000 cycles.
    assert energy.power.internal == pytest.approx(10 * 400 / 20 / 1000)
    assert energy.power.ungated_clock == pytest.approx(2 * 2.5 / 50)
    idle = part_energy(part, [sample(clocked=0)], 1000, [100, 300])
    assert idle.power.internal == pytest.approx(2 * 10 / 50)


def test_batches_that_differ_are_errors_of_the_part():
    part = Part(block="a", group="DMA", instances=("t.a", "t.b"))
    uneven = replace(
        sample(),
        batches=BatchSums(
            energy=np.array([6.0, 11.0]),
            clocked_cycles=np.array([10.0, 10.0]),
            cycles=np.array([20.0, 30.0]),
        ),
    )
    # 50 of 1000 cycles are no longer uncertain.
    rest = (1 - 50 / 1000) ** 0.5
    scaled = part_energy(part, [uneven], 1000, [100, 300])
    assert scaled.errors == pytest.approx(400 / 20 / 1000 * rest * np.array([-5.0, 5.0]))
    plain = part_energy(part, [uneven], 1000)
    assert plain.errors == pytest.approx(2 / 50 * rest * 2 * np.array([6 - 6.8, 11 - 10.2]))
    assert part_energy(part, [sample(), sample()], 1000).errors.tolist() == [0.0, 0.0]


def test_a_part_without_a_window_that_counts_has_only_leakage():
    part = Part(block="a", group="DMA", instances=("t.a",))
    energy = part_energy(part, [sample(0.0, 0, 0, 0.0, counting=0)], 1000)
    assert energy.counting == 0
    assert energy.differing == ("o",)
    assert energy.power.leakage == 3.0


def test_sums_by_group():
    names = (("a", "L2"), ("b", "DMA"), ("c", "L2"))
    parts = [
        part_energy(Part(block=block, group=group, instances=("t",)), [sample()], 1000)
        for block, group in names
    ]
    groups = parts_by_group(parts)
    assert list(groups) == ["DMA", "L2"]  # in the order of all groups
    dma = total_energy(groups["DMA"]).dynamic
    assert total_energy(groups["L2"]).dynamic == pytest.approx(2 * dma)
    assert total_energy(parts).dynamic == pytest.approx(3 * dma)
