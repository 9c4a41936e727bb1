"""Runs of one product on small machines, and their comparison."""

import dataclasses

from spica.hw.presets import PRESETS
from spica.kernels.gemm.problem import GemmProblem
from spica.sim.harness.dram import DramConfig
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.run.product_run import run_gemm
from support.cluster.gemm_bench import NARROW

__all__ = ["MACHINES", "QUIET", "assert_same", "observe", "ragged"]

TINY = PRESETS["tiny_matrix"]
MACHINES = {"tiny_matrix": TINY, "narrow": NARROW}
QUIET = DramConfig()


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
    assert run.c_check.passed, run.c_check
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
