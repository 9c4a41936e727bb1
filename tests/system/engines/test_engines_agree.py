"""Tests that all simulations of one machine agree: values, cycles and counters."""

import pytest

from spica.hw.machine.machine import gated_domains
from spica.sim.engine.verilator_engine import GATINGS
from spica.sim.harness.dram import DramConfig
from support.cluster.engine_runs import MACHINES, QUIET, assert_same, observe, ragged

#: Every handshake stalls at random, and transfers are slow: units sleep and wake often.
STALLED = DramConfig(bytes_per_cycle=3, latency=37, stall=0.4, seed=5)


@pytest.mark.parametrize(
    ("name", "size", "dram"),
    [
        ("tiny_matrix", (7, 9, 11), QUIET),
        ("narrow", (5, 9, 9), QUIET),
        *(
            pytest.param(name, size, dram, marks=pytest.mark.slow)
            for name in MACHINES
            for size in ((1, 1, 1), (17, 21, 35), (40, 18, 7))
            for dram in (QUIET, STALLED)
        ),
    ],
    ids=str,
)
@pytest.mark.quick(1)
def test_both_engines_agree(name, size, dram):
    problem = ragged(MACHINES[name], *size)
    verilator, _ = observe(name, problem, memory=dram)
    amaranth, _ = observe(name, problem, memory=dram, engine="amaranth")
    assert_same(verilator, amaranth)


@pytest.mark.parametrize("gating", GATINGS)
@pytest.mark.parametrize("dram", [QUIET, STALLED], ids=["quiet", "stalled"])
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.full
def test_blocks_agree_with_one_model(name, dram, gating):
    problem = ragged(MACHINES[name], 19, 23, 31)
    one, clocks = observe(name, problem, memory=dram, gating=gating)
    blocks, clocks_of_blocks = observe(name, problem, memory=dram, gating=gating, composed=True)
    assert_same(one, blocks)
    assert clocks == clocks_of_blocks


def compare_clocking(name, size, dram, access_cycles):
    """Compare runs with different clock gating; require that some clocks were gated."""
    problem = ragged(MACHINES[name], *size)
    simulation = {"memory": dram, "access_cycles": access_cycles}
    always, all_clocks = observe(name, problem, gating="ungated", **simulation)
    gated, few_clocks = observe(name, problem, gating="gated", **simulation)
    assert_same(always, gated)
    for seed in range(5):
        sometimes, some_clocks = observe(name, problem, gating="random", seed=seed, **simulation)
        assert_same(always, sometimes)
        for domain in gated_domains(MACHINES[name]):
            assert few_clocks[domain] < some_clocks[domain] < all_clocks[domain]
    assert all_clocks == dict.fromkeys(all_clocks, always["cycles"])
    assert few_clocks["sync"] == always["cycles"]


@pytest.mark.parametrize(
    ("access_cycles", "sizes"),
    [
        *((cycles, ((1, 1, 1), (19, 23, 31))) for cycles in (6, 20)),
        *(
            pytest.param(cycles, ((33, 5, 70), (64, 64, 64)), marks=pytest.mark.slow)
            for cycles in (20, 211)
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("dram", [QUIET, STALLED], ids=["quiet", "stalled"])
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.quick(1)
def test_withheld_clocks_change_nothing(name, dram, access_cycles, sizes):
    for size in sizes:
        compare_clocking(name, size, dram, access_cycles)
