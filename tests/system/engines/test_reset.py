"""Tests that a machine depends on its reset only, not on initial registers and memories."""

import functools
import random

import pytest

from spica.base.errors import MachineError
from spica.hw.presets import PRESETS
from spica.kernels.gemm.problem import GemmProblem
from spica.sim.engine import verilator_engine
from spica.sim.harness.dram import DramConfig
from spica.sim.machine.command_machine import CommandMachine
from support.cluster.gemm_bench import NARROW, GemmBench, random_problem
from support.random_start import start_at_random, without_initial_values

pytestmark = pytest.mark.slow

MACHINES = {"tiny_matrix": PRESETS["tiny_matrix"], "narrow": NARROW}


@pytest.fixture(params=MACHINES)
def make(request, monkeypatch):
    """Return a function that makes a machine with random initial registers."""
    start_at_random(monkeypatch)
    name = request.param
    return functools.partial(CommandMachine, MACHINES[name], name=name, optimize=1)


def test_initial_values_are_stripped():
    head = "  reg [3:0] a;\n  reg [7:0] m [0:3];\n"
    register, table = "    a = 4'd3;\n", "    m[1] = 8'h7f;\n    m[2] = 8'd1;\n"
    begin, end = "  initial begin\n", "  end\nendmodule\n"
    unchanged = head + begin + table + end
    assert without_initial_values(unchanged) == unchanged
    assert without_initial_values(head + begin + register + table + end) == unchanged
    assert without_initial_values(head + begin + register + end) == f"{head}endmodule\n"


def test_without_a_reset_nothing_works(make, monkeypatch):
    """Without random initial values the other tests would prove nothing."""
    monkeypatch.setattr(verilator_engine, "RESET_CYCLES", 0)
    for seed in range(3):
        with make(seed=seed, watchdog=1000) as machine:
            bench = GemmBench(machine, machine.config)
            with pytest.raises((MachineError, AssertionError)):
                bench.assert_many_right(1, random.Random(seed))


def test_starts_do_not_show(make):
    """Random initial values change neither values nor cycles."""
    seen = set()
    for seed in range(4):
        with make(seed=seed, gating=random.Random(seed).choice(["gated", "ungated"])) as machine:
            bench = GemmBench(machine, machine.config)
            rng = random.Random(1)
            for _ in range(3):
                problem = random_problem(bench.config, rng)
                bench.place(problem, "random", 1)
            execution = machine.execute(bench.host.commands.array())
            seen.add((execution.cycles, execution.elapsed))
    assert len(seen) == 1


def test_products_after_a_reset_in_the_middle(make):
    dram = DramConfig(stall=0.2, bytes_per_cycle=8)
    for seed in range(8):
        rng = random.Random(seed)
        with make(seed=seed, memory=dram) as machine:
            for _ in range(3):
                bench = GemmBench(machine, machine.config)
                m, n, k = (rng.randint(30, 90) for _ in range(3))
                operand = bench.config.units[0].operand
                problem = GemmProblem.placed(m=m, n=n, k=k, operand=operand)
                bench.place(problem, "random", seed)
                with pytest.raises(MachineError, match="not done after"):
                    bench.run(max_cycles=rng.randint(30, 1500))
                machine.reset()
            GemmBench(machine, machine.config).assert_many_right(3, rng)
