"""Tests of the timing of warp control: latency, stalls, start, end, other cores."""

import random

import pytest

from spica.hw.config import CoreBlockConfig
from spica.hw.core.control.faults import FaultCause
from spica.hw.core.control.warp_control import WarpControl
from spica.hw.emit.emitter import emit
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import ControlOperation as Operation
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import put, require_no_loop, simulate
from support.core.control_model import Instruction
from support.core.small_core import small_core
from support.verilog.lint import lint


def full(config, operation, warp=0, *, a=0, b=0, exit_code=0, pc=ENTRY, **fields):
    """Return an instruction of all threads with these operands."""
    threads = config.core.threads
    rows = tuple((value,) * threads for value in (a, b, exit_code))
    mask = fields.pop("mask", (1 << threads) - 1)
    return Instruction(warp=warp, mask=mask, pc=pc, operation=operation, rows=rows, **fields)


def trace(dut, instructions, signals, cycles, *, act=None):
    """Return the values of `signals` in each cycle; all results are taken."""
    require_no_loop(dut, ports=[])
    seen = []

    async def feed(ctx):
        await put(ctx, dut.i, [given.payload for given in instructions], rng=random.Random(1))

    async def record(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(cycles):
            if act is not None:
                act(ctx, cycle)
            _, _, *values = await ctx.tick().sample(*signals)
            seen.append(tuple(values))

    simulate(dut, feed, record)
    return seen


def test_latency_and_throughput():
    """Accepted in cycle 0; result and effect in cycle 2; one instruction every two cycles."""
    config = small_core(warps=4)
    dut = WarpControl(config)
    fence_i = [full(config, Operation.FENCE_I, pc=ENTRY + 4 * k) for k in range(3)]
    seen = trace(
        dut,
        fence_i,
        (dut.i.valid & dut.i.ready, dut.o.valid, dut.redirect.valid, dut.redirect.payload.pc),
        8,
    )
    assert [cycle for cycle, (accepted, *_) in enumerate(seen) if accepted] == [0, 2, 4]
    assert [(cycle, *rest) for cycle, (_, *rest) in enumerate(seen) if any(rest[:2])] == [
        (2, 1, 1, ENTRY + 4),
        (4, 1, 1, ENTRY + 8),
        (6, 1, 1, ENTRY + 12),
    ]


def test_a_fence_empties_a_cache_when_it_takes_effect():
    """It empties the cache in the cycle in which its warp resumes; an ended warp's does not."""
    config = small_core(warps=4)
    dut = WarpControl(config)
    kinds, warps = [Operation.FENCE, Operation.FENCE_I], (0, 3, 0)
    fences = [full(config, kind, warp) for warp in warps for kind in kinds]
    seen = trace(dut, fences, (dut.invalidate_data, dut.invalidate, dut.warps.resume), 14)
    assert [(cycle, *rest[:2]) for cycle, rest in enumerate(seen) if any(rest[:2])] == [
        (1, 1, 0),
        (3, 0, 1),
        (9, 1, 0),
        (11, 0, 1),
    ]
    assert [resume for *_, resume in seen if resume] == [1, 1, 8, 8, 1, 1]


def test_warps_are_started_one_per_cycle():
    config = small_core(warps=4)
    dut = WarpControl(config)
    instructions = [
        full(config, Operation.WSPAWN, mask=1, a=4, b=ENTRY + 64),
        full(config, Operation.FENCE_I, mask=1),
    ]
    signals = (
        dut.warps.started,
        dut.redirect.valid,
        dut.redirect.payload,
        dut.active,
        dut.warps.resume,
    )
    seen = trace(dut, instructions, signals, 10)
    assert [started for started, *_ in seen] == [0, 0, 2, 4, 8, 0, 0, 0, 0, 0]
    assert [active for _, _, _, active, _ in seen] == [1, 1, 1, 3, 7, *[15] * 5]
    targets = [(turn.warp, turn.pc) for _, turns, turn, *_ in seen if turns]
    assert targets == [(1, ENTRY + 64), (2, ENTRY + 64), (3, ENTRY + 64), (0, ENTRY + 4)]
    # The next instruction resumes after all warps are started.
    assert [cycle for cycle, (*_, resume) in enumerate(seen) if resume] == [2, 6]


def test_end_ends_everything():
    """Instructions of other warps in flight are dropped and count as done."""
    config = small_core(warps=4, barrier_scope="core")
    dut = WarpControl(config)
    instructions = [
        full(config, Operation.WSPAWN, mask=1, a=4, b=ENTRY),
        full(config, Operation.BAR, 2, mask=1, a=0, b=3),
        full(config, Operation.END, 1, mask=1, exit_code=77),
        full(config, Operation.WSPAWN, 3, mask=1, a=4, b=ENTRY),
        full(config, Operation.ILLEGAL, 3, mask=1),
        full(config, Operation.CSRRS, 3, mask=1, rd=5, writes=True, immediate=0xCC2),
        full(config, Operation.BAR, 3, mask=1, a=99, b=3),
    ]
    signals = (dut.active, dut.warps.at_barrier, dut.exit_code, dut.warps.started, dut.fault.valid)
    signals += (dut.o.valid, dut.o.payload.writes, dut.warps.resume)
    seen = trace(dut, instructions, signals, 26)
    ended = next(n for n, values in enumerate(seen) if values[2])
    assert seen[ended - 1][:3] == (15, 4, 0)
    assert all(values[:5] == (0, 0, 77, 0, 0) for values in seen[ended:])
    assert not any(values[6] for values in seen)
    assert [values[7] for values in seen if values[5]] == [1, 0, 2, 8, 8, 8, 8]


def test_failed_fetch():
    config = small_core()
    dut = WarpControl(config)
    instruction = full(config, Operation.ILLEGAL, mask=1, a_is_pc=True)
    seen = trace(dut, [instruction], (dut.fault.valid, dut.fault.payload, dut.warps.resume), 8)
    faults = [(fault.warp, fault.pc, fault.cause, fault.lanes) for fails, fault, _ in seen if fails]
    assert faults == [(0, ENTRY, FaultCause.FETCH, 1)]
    assert not any(resume for *_, resume in seen)


def test_a_barrier_of_the_cluster():
    """The last warp requests; all resume on the cluster barrier's answer, or fault."""
    config = small_core(cores=2, warps=2)
    dut = WarpControl(config)
    arrival = {"mask": 1, "a": 5, "b": 2}
    instructions = [
        full(config, Operation.WSPAWN, mask=1, a=2, b=ENTRY),
        full(config, Operation.BAR, 0, **arrival),
        full(config, Operation.BAR, 1, **arrival),
    ]

    def act(ctx, cycle):
        ctx.set(dut.barrier.request.ready, cycle == 10)
        ctx.set(dut.barrier.release.valid, cycle == 14)
        ctx.set(dut.barrier.release.payload.barrier, 5)

    signals = (
        dut.barrier.request.valid,
        dut.barrier.request.payload,
        dut.warps.at_barrier,
        dut.warps.resume,
    )
    signals += (dut.fault.valid, dut.fault.payload.cause)
    seen = trace(dut, instructions, signals, 30, act=act)
    requested = [cycle for cycle, values in enumerate(seen) if values[0]]
    assert requested[-1] == 10
    assert len(requested) > 3
    assert all((seen[n][1].barrier, seen[n][1].count) == (5, 2) for n in requested)
    assert [n for n, values in enumerate(seen) if values[2] == 3] == [11, 12, 13, 14]
    assert [(n, values[3]) for n, values in enumerate(seen) if values[3]][1:] == [(15, 3)]


def test_the_synchronizer_refuses():
    config = small_core(cores=2, warps=2)
    dut = WarpControl(config)

    def act(ctx, cycle):
        ctx.set(dut.barrier.request.ready, 1)
        ctx.set(dut.barrier.refused, 1)

    signals = (dut.warps.at_barrier, dut.fault.valid, dut.fault.payload)
    seen = trace(dut, [full(config, Operation.BAR, mask=1, a=5, b=1)], signals, 9, act=act)
    faults = [(fault.warp, fault.cause) for _, fails, fault in seen if fails]
    assert faults == [(0, FaultCause.BARRIER_DISAGREES)]
    assert seen[-1][0] == 0


def test_no_cores():
    message = "cores must be at least 1 for the blocks of a core, not 0"
    with pytest.raises(ValueError, match=message):
        CoreBlockConfig.of(PRESETS["matrix"])


@pytest.mark.parametrize(("warps", "threads", "scope"), [(1, 1, "core"), (3, 5, "cluster")])
@pytest.mark.quick(1)
def test_verilog_without_warnings(warps, threads, scope):
    config = small_core(cores=warps, warps=warps, threads=threads, barrier_scope=scope)
    assert lint(emit(WarpControl(config), "warp_control")) == []
