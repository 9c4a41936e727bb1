"""Tests of random command streams and of loads of D on whole clusters."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spica
from spica.base.errors import MachineError
from spica.hw.isa.commands import LOAD, Function, bounds_sizes, encode, rocc_word
from spica.hw.isa.memory_map import DRAM_BASE
from spica.hw.presets import PRESETS
from spica.kernels.commands import Host
from spica.sim.golden.matrix.systolic.systolic import systolic_ws
from spica.sim.harness.dram import DramConfig
from spica.sim.machine.command_machine import CommandMachine
from support.matrix.random_commands import CommandStream
from support.matrix.stream_bench import assert_streams

TINY = PRESETS["tiny_matrix"]
FAST = {"access_cycles": 1, "watchdog": 20_000}
EVERY_OPTION = replace(TINY, units=(replace(TINY.units[0], row_scale=True, load_d=True),))
#: Clusters and the number of random streams for each unit.
CLUSTERS = {
    "tiny_matrix": (TINY, 2000),
    "tiny_hetero": (PRESETS["tiny_hetero"], 300),
    "every_option": (EVERY_OPTION, 700),
}


def test_random_streams():
    with CommandMachine(TINY, name="tiny_matrix", composed=True, **FAST) as machine:
        for seed in range(12):
            machine.reset()
            assert_streams(machine, [CommandStream(TINY, seed)], seed)


@pytest.mark.full
def test_a_stopped_run_counts_the_commands_that_wait():
    """All loads wait for DRAM: no command ends, and the host's polling is no progress."""
    memory = DramConfig(latency=10_000)
    options = {"name": "tiny_matrix", "composed": True, "memory": memory, "watchdog": 3000}
    with CommandMachine(TINY, **options) as machine:
        host = Host()
        host.instruction(rocc_word(Function.BOUNDS), 0, encode(bounds_sizes, i=1, j=1, k=1))
        host.instruction(rocc_word(Function.SPAD_AB), 0, 64)
        host.instruction(rocc_word(Function.ADDRESSES_AB), DRAM_BASE, DRAM_BASE)
        for _ in range(5):
            host.instruction(rocc_word(Function.LOOP_WS), 0, LOAD)
        host.wait_idle()
        with pytest.raises(MachineError, match="matrix unit: 5 commands pending, 0 computes done"):
            machine.execute(host.commands.array())


@pytest.mark.slow
@pytest.mark.parametrize("dram", [DramConfig(), DramConfig(stall=0.4, jitter=9, seed=2)], ids=str)
@pytest.mark.parametrize("name", CLUSTERS)
def test_thousands_of_random_streams(name, dram):
    config, count = CLUSTERS[name]
    units = len(config.units)
    with CommandMachine(config, name=name, memory=dram, **FAST) as machine:
        for seed in range(count):
            machine.reset()
            streams = [
                CommandStream(config, seed + 1000 * number, number=number, units=units)
                for number in range(units)
            ]
            assert_streams(machine, streams, seed)


PROGRAM = Path(__file__).parents[2] / "support" / "c_programs" / "virgo_load_d.c"
OPTIONS = {"matrix.load_d": True}


def check(preset: str, sizes: tuple[int, int, int], **options):
    """Run the program and compare all of its results."""
    machine = spica.Machine(preset, set=OPTIONS, progress=False, **options)
    rng, (m, n, k) = np.random.default_rng(sum(sizes)), sizes
    a = rng.normal(size=(m, k)).astype(np.float16)
    b = rng.normal(size=(k, n)).astype(np.float16)
    d = rng.normal(size=(m, n)).astype(np.float32)
    rows = machine.config.units[0].rows
    once = systolic_ws(a, b, rows, d)
    empty = np.zeros((m, n), np.float32)
    names = ("from_dram", "from_shared", "twice")
    machine.run(
        PROGRAM,
        args={"a": a, "b": b, "d": d}
        | {name: empty.copy() for name in names}
        | {"m": m, "n": n, "k": k},
        expect={"from_dram": once, "from_shared": once, "twice": systolic_ws(a, b, rows, once)},
        lockstep=machine.engine == "verilator",
    )


@pytest.mark.parametrize("preset", ["tiny", "virgo"])
@pytest.mark.parametrize("sizes", [(13, 7, 11), (16, 8, 8), (1, 1, 1)])
def test_products_are_added_on_the_model(preset, sizes):
    check(preset, sizes, engine="iss")


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(13, 7, 11), (16, 8, 8), (1, 1, 1)])
def test_products_are_added_on_a_small_cluster(sizes):
    check("tiny", sizes, dram=spica.Dram(latency=30, stall=0.2, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(45, 50, 40), (64, 32, 64), (3, 33, 5)])
def test_products_are_added_on_virgo(sizes):
    check("virgo", sizes)
