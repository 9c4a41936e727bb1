"""Tests of loads of D from DRAM and shared memory on whole clusters, bit by bit."""

from pathlib import Path

import numpy as np
import pytest

import spica
from spica.sim.golden.matrix.systolic.systolic import systolic_ws

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
