"""Tests that all simulations of one machine agree: values, cycles and counters."""

import dataclasses

import pytest

from spica.hw.cluster.cluster import gated_domains
from spica.hw.config import PRESETS
from spica.kernels.gemm.problem import GemmProblem
from spica.sim.engine.verilator_engine import GATINGS
from spica.sim.harness.dram import DramConfig
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.run.product_run import run_gemm
from support.cluster.gemm_bench import NARROW

TINY = PRESETS["tiny_matrix"]
MACHINES = {"tiny_matrix": TINY, "narrow": NARROW}
QUIET = DramConfig()
#: Every handshake stalls at random, and transfers are slow: units sleep and wake often.
STALLED = DramConfig(bytes_per_cycle=3, latency=37, stall=0.4, seed=5)


def ragged(config, m, n, k, **rest):
    """Return a problem with gaps between rows and unaligned addresses."""
    rest = {"c_format": "int32"} | rest if config.units[0].operand == "int8" else rest
    pitches = {"a_pitch": k + 3, "b_pitch": n + 1, "c_pitch": n + 5}
    return GemmProblem.placed(
        m=m, n=n, k=k, operand=config.units[0].operand, skew=3, **pitches, **rest
    )


def observe(name, problem, *, memory=QUIET, access_cycles=20, **simulation):
    """Run a product; return everything that must not depend on the simulation."""
    config = MACHINES[name]
    with CommandMachine(
        config,
        name=name,
        memory=memory,
        access_cycles=access_cycles,
        **({} if name in PRESETS else {"optimize": 0}),
        **simulation,
    ) as machine:
        run = run_gemm(machine, config, problem, "extreme", seed=7)
        region = machine.read(*problem.c_region).tobytes()
    assert run.found.passed, run.found
    seen = dataclasses.asdict(run.execution)
    seen |= {"counters": run.counters, "marks": run.marks, "c": region}
    del seen["reads"], seen["seconds"]
    return seen, seen.pop("clocked")


def assert_same(one, other):
    """Compare two observations; on a difference name the first one."""
    differences = {key: (one[key], other[key]) for key in one if one[key] != other[key]}
    if "counters" in differences:
        first, second = differences["counters"]
        differences["counters"] = {
            name: (first[name], second[name]) for name in first if first[name] != second[name]
        }
    differences.pop("c", None)
    assert not differences
    assert one["c"] == other["c"]


@pytest.mark.parametrize(("name", "size"), [("tiny_matrix", (7, 9, 11)), ("narrow", (5, 9, 9))])
def test_both_engines_agree(name, size):
    problem = ragged(MACHINES[name], *size)
    verilator, _ = observe(name, problem)
    amaranth, _ = observe(name, problem, engine="amaranth")
    assert_same(verilator, amaranth)


@pytest.mark.parametrize("gating", GATINGS)
@pytest.mark.parametrize("dram", [QUIET, STALLED], ids=["quiet", "stalled"])
@pytest.mark.parametrize("name", MACHINES)
def test_blocks_agree_with_one_model(name, dram, gating):
    problem = ragged(MACHINES[name], 19, 23, 31)
    one, clocks = observe(name, problem, memory=dram, gating=gating)
    blocks, clocks_of_blocks = observe(name, problem, memory=dram, gating=gating, composed=True)
    assert_same(one, blocks)
    assert clocks == clocks_of_blocks


@pytest.mark.slow
@pytest.mark.parametrize("dram", [QUIET, STALLED], ids=["quiet", "stalled"])
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("size", [(1, 1, 1), (17, 21, 35), (40, 18, 7)])
def test_both_engines_agree_on_more(name, size, dram):
    problem = ragged(MACHINES[name], *size)
    verilator, _ = observe(name, problem, memory=dram)
    amaranth, _ = observe(name, problem, memory=dram, engine="amaranth")
    assert_same(verilator, amaranth)


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


@pytest.mark.parametrize("access_cycles", [6, 20])
@pytest.mark.parametrize("dram", [QUIET, STALLED], ids=["quiet", "stalled"])
@pytest.mark.parametrize("name", MACHINES)
def test_withheld_clocks_change_nothing(name, dram, access_cycles):
    for size in ((1, 1, 1), (19, 23, 31)):
        compare_clocking(name, size, dram, access_cycles)


@pytest.mark.slow
@pytest.mark.parametrize("access_cycles", [20, 211])
@pytest.mark.parametrize("dram", [QUIET, STALLED], ids=["quiet", "stalled"])
@pytest.mark.parametrize("name", MACHINES)
def test_withheld_clocks_change_nothing_in_longer_runs(name, dram, access_cycles):
    for size in ((33, 5, 70), (64, 64, 64)):
        compare_clocking(name, size, dram, access_cycles)
