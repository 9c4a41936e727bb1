"""Tests of the clock control of a core: every wake source wakes it, and it sleeps otherwise."""

import itertools

from spica.hw.core.clock_control import ClockControl
from spica.hw.emit.emitter import emit
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.clock_control import CoreActivity, clock_needs

WARPS = 2


def members(vector):
    """Return the warps whose bit is set."""
    return frozenset(warp for warp, bit in enumerate(vector) if bit)


def test_all_inputs():
    """Compare outputs with the model for all values of all inputs, for two warps."""
    dut = require_no_loop(ClockControl(WARPS), ports=[])
    seen = []

    async def bench(ctx):
        bits = itertools.product((False, True), repeat=3 * WARPS + 4)
        for active0, active1, waiting0, waiting1, released0, released1, *flags in bits:
            starts, in_flight, settling, full = flags
            vectors = (active0, active1), (waiting0, waiting1), (released0, released1)
            for port, vector in zip((dut.active, dut.waiting, dut.released), vectors, strict=True):
                ctx.set(port, sum(bit << warp for warp, bit in enumerate(vector)))
            for port, flag in zip(
                (dut.start, dut.in_flight, dut.settling, dut.sleep.wakes), flags, strict=True
            ):
                ctx.set(port, flag)
            active, waiting, released = map(members, vectors)
            expected = clock_needs(
                CoreActivity(
                    active=active,
                    waiting=waiting,
                    released=released,
                    starts=starts,
                    in_flight=in_flight,
                    settling=settling,
                    full=full,
                )
            )
            held = {name: bool(ctx.get(getattr(dut, name))) for name in ("awake", "busy", "runs")}
            held["asleep"] = bool(ctx.get(dut.sleep.asleep))
            assert held == expected
            seen.append(tuple(held.values()))

    simulate(dut, bench, domains=())
    # Asleep with and without something to settle, awake, ended, and settling after the end.
    assert len(set(seen)) == 5


def test_an_ended_core_neither_sleeps_nor_runs():
    assert clock_needs(CoreActivity(waiting={0})) == dict.fromkeys(
        ("awake", "asleep", "busy", "runs"), False
    )


def test_it_converts():
    assert "asleep" in emit(ClockControl(8), "clock_control").verilog
