"""Tests of model builds that are killed at random moments, all steps included."""

import random
import subprocess
import time
from contextlib import suppress

import pytest

from spica.base.build_cache import cache_directory
from spica.base.cache_contents import unknown_files
from support.killed_builds import kill, run, start, temporaries

#: Kills in all, and of the builds of one model.
KILLS, KILLS_OF_ONE = 52, 4
#: Build of a cached emission, its Verilog, model and library, then a simulation of it. There is a
#: model for each `ADDEND`.
PROGRAM = """
    print("begun", flush=True)
    import numpy as np
    from amaranth import *
    from amaranth.lib import wiring
    from amaranth.lib.wiring import In, Out
    from spica.sim.engine.block_bench import BlockBench
    from spica.sim.engine.emission_cache import emit_cached

    class Adder(wiring.Component):
        def __init__(self, addend):
            self.addend = addend
            super().__init__({"a": In(16), "b": In(16), "o": Out(16)})

        def elaborate(self, platform):
            m = Module()
            m.d.sync += self.o.eq(self.a + self.b + self.addend)
            return m

    emission = emit_cached(ADDEND, "adder", kind=Adder)
    with BlockBench(emission, optimize=ADDEND % 2) as bench:
        results = bench.run(a=np.arange(5, dtype=np.uint64), b=np.full(5, 3, np.uint64))
    print([int(value) - ADDEND for value in results["o"][1:]])
"""


def program(addend: int) -> str:
    """Return the program that simulates an adder."""
    return PROGRAM.replace("ADDEND", str(addend))


def outcome(addend: int) -> list[int]:
    """Return the sums that a process simulates, with a build if the cache does not have it."""
    return eval(run(program(addend)).splitlines()[-1])


def names() -> set[str]:
    """Return the names of all entries of the cache."""
    return {path.name for path in cache_directory().iterdir()}


@pytest.mark.slow
def test_a_build_that_is_killed_at_any_moment_leaves_a_usable_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))
    expected = outcome(8)  # compiles the harness
    rng = random.Random(2026)
    began = time.monotonic()
    assert outcome(9) == expected
    span = time.monotonic() - began
    killed, addend, before, stages = 0, 10, names(), set()
    while killed < KILLS:
        with start(program(addend), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.random() * span)
            was_running = kill(process, group=bool(rng.getrandbits(1)))
        killed += was_running
        assert temporaries() == []
        assert list(unknown_files(cache_directory())) == []
        stages.add(frozenset(name.partition("-")[0] for name in names() - before))
        if not was_running or killed % KILLS_OF_ONE == 0:
            assert outcome(addend) == expected
            assert outcome(8) == expected
            addend += 1
            if not was_running:  # the next span is that of a whole build under the same load
                began = time.monotonic()
                assert outcome(addend) == expected
                span = time.monotonic() - began
                addend += 1
            before = names()
    assert temporaries(clean=False) == []
    print(f"{killed} kills of {addend - 10} builds, at {len(stages)} stages")
    assert len(stages) > 2  # before and after the emission, and after Verilator
