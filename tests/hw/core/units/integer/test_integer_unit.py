"""Tests of `hw.core.units.integer.integer_unit`: operations, latency, throughput, cost."""

import random
import re

import numpy as np
import pytest
from amaranth.back import rtlil

from spica.hw.config import CoreConfig
from spica.hw.core.units.integer.integer_unit import IntegerUnit
from spica.hw.core.units.integer.multiply_lane import MultiplyLaneConfig
from spica.hw.isa.operations import EXCHANGES, Port
from spica.hw.isa.operations import IntegerOperation as Op
from spica.sim.engine.testbench import get, put, require_no_loop, simulate
from spica.sim.golden.core.units.integer_unit import BRANCHES, JUMPS, execute
from support.core.integer_operands import crossed_warps, one_warp, random_warps

PRODUCTS = (Op.MUL, Op.MULH, Op.MULHSU, Op.MULHU)
CONFIGS = [
    CoreConfig(),
    CoreConfig(warps=1, threads=1),
    CoreConfig(warps=3, threads=6, integer_lanes=2, multiply_latency=2),
    CoreConfig(warps=2, threads=4, integer_lanes=1, multiply_latency=4),
    CoreConfig(warps=2, threads=3, multiply_latency=2),
    CoreConfig(warps=32, threads=8, integer_lanes=4, multiply_latency=4),
    CoreConfig(warps=2, threads=32, integer_lanes=8),
]
#: Stall probabilities of input and output, one pair after the other.
STALLS = [(0.0, 0.0), (0.4, 0.0), (0.0, 0.5), (0.3, 0.3)]


def bits(flags) -> int:
    """Return an array of bool as a mask."""
    return sum(1 << k for k, flag in enumerate(flags) if flag)


def payloads(config, warps, rng):
    """Return the payloads offered at `i`; unused fields are random."""
    return [
        {
            "warp": k % config.warps,
            "mask": bits(warps.mask[k]),
            "pc": int(warps.pc[k]),
            "operation": int(warps.operation[k]),
            "rd": k % 64,
            "writes": k // 2 % 2,
            "immediate": int(warps.immediate[k]),
            "rounding": rng.randrange(8),
            "a_is_pc": bool(warps.a_is_pc[k]),
            "b_is_immediate": bool(warps.b_is_immediate[k]),
            "operands": [
                [int(x) for x in warps.a[k]],
                [int(x) for x in warps.b[k]],
                [rng.getrandbits(32)] * config.threads,
            ],
        }
        for k in range(len(warps.pc))
    ]


async def watch(ctx, port, count, pause=200):
    """Collect `count` responses of `port`, and require none for `pause` cycles after."""
    got, idle = [], 0
    while len(got) < count or idle < pause:
        _, _, valid, payload = await ctx.tick().sample(port.valid, port.payload)
        got += [payload] if valid else []
        idle = 0 if valid else idle + 1
    return got


def check_result(config, warps, expected, k, payload):
    """Fail unless `payload` is the result of instruction `k`."""
    assert (payload.warp, payload.rd, payload.writes) == (k % config.warps, k % 64, k // 2 % 2)
    assert (payload.mask, payload.pc, payload.flags) == (bits(warps.mask[k]), warps.pc[k], 0)
    if warps.operation[k] in BRANCHES:
        return
    values = np.array([payload["values"][t] for t in range(config.threads)], np.uint32)
    wrong = warps.mask[k] & (values != expected.values[k])
    assert not wrong.any(), (Op(warps.operation[k]), k, values, expected.values[k])


def check_unit(config, warps, stalls=((0.0, 0.0),)):
    """Run `warps` through a unit, a part for each of `stalls`; compare all results."""
    dut = IntegerUnit(config)
    expected = execute(warps)
    count = len(warps.pc)
    number = {int(pc): k for k, pc in enumerate(warps.pc)}
    part = count // len(stalls)
    assert part * len(stalls) == count

    async def feed(ctx):
        everything = payloads(config, warps, random.Random(7))
        rng = random.Random(1)
        for k, (stall, _) in enumerate(stalls):
            await put(ctx, dut.i, everything[k * part : (k + 1) * part], rng=rng, stall=stall)

    async def check_results(ctx):
        rng, got = random.Random(2), []
        for _, stall in stalls:
            got += await get(ctx, dut.o, part, rng=rng, stall=stall)
        order = [number[payload.pc] for payload in got]
        assert sorted(order) == list(range(count)), "each instruction has one result"
        for k, payload in zip(order, got, strict=True):
            check_result(config, warps, expected, k, payload)
        is_late = np.isin(warps.operation, PRODUCTS)
        for kind in (False, True):
            of_kind = [k for k in order if is_late[k] == kind]
            assert of_kind == sorted(of_kind), "results of one kind keep their order"

    async def check_branches(ctx):
        branches = np.flatnonzero(expected.branches)
        got = await watch(ctx, dut.branch, len(branches))
        assert len(got) == len(branches)
        for k, payload in zip(branches, got, strict=True):
            assert (payload.warp, payload.pc) == (k % config.warps, warps.pc[k])
            assert payload.target == expected.target[k], Op(warps.operation[k])
            assert payload.disagree == bits(expected.disagree[k]), Op(warps.operation[k])

    simulate(dut, feed, check_results, check_branches)


@pytest.mark.parametrize("latency", [2, 3, 4])
@pytest.mark.full
def test_all_corners_occur_in_every_operation(latency):
    config = CoreConfig(multiply_latency=latency)
    check_unit(config, crossed_warps(8, tuple(Op) if latency == 3 else PRODUCTS))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.warps}x{c.threads}")
@pytest.mark.quick(1)
def test_random_warps(config):
    require_no_loop(IntegerUnit, config)
    check_unit(config, random_warps(config.threads, config.threads, 240), STALLS)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.warps}x{c.threads}")
def test_votes_and_shuffles(config):
    check_unit(config, random_warps(11, config.threads, 200, EXCHANGES), STALLS)


def test_a_unit_without_them_has_none_of_their_hardware():
    assert "exchange" in rtlil.convert(IntegerUnit(CoreConfig()))
    assert "exchange" not in rtlil.convert(IntegerUnit(CoreConfig(warp_operations=False)))


@pytest.mark.full
def test_jumps_and_branches():
    config = CoreConfig(warps=2, threads=4)
    check_unit(config, random_warps(5, 4, 400, (*JUMPS, *BRANCHES)), STALLS)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.warps}x{c.threads}")
@pytest.mark.parametrize("operation", [Op.ADD, Op.JAL, Op.MULHU, Op.VOTE_ALL, Op.SHFL_IDX])
@pytest.mark.quick(5)
def test_latency(config, operation):
    dut = IntegerUnit(config)
    (payload,) = payloads(config, one_warp(config.threads, operation), random.Random(1))
    latency = config.multiply_latency if operation == Op.MULHU else 1

    async def bench(ctx):
        ctx.set(dut.i.payload, payload)
        ctx.set(dut.i.valid, 1)
        for _ in range(config.threads // config.lanes(Port.INT) - 1):
            assert not ctx.get(dut.i.ready)
            await ctx.tick()
        assert ctx.get(dut.i.ready)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        assert ctx.get(dut.branch.valid) == (operation == Op.JAL)
        for _ in range(latency - 1):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()
            assert not ctx.get(dut.branch.valid)
        assert ctx.get(dut.o.valid)
        for _ in range(3):  # it stays until it is taken
            await ctx.tick()
            assert ctx.get(dut.o.valid)
        ctx.set(dut.o.ready, 1)
        await ctx.tick()
        assert not ctx.get(dut.o.valid)

    simulate(dut, bench)


@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.warps}x{c.threads}")
@pytest.mark.quick(3)
def test_a_beat_in_every_cycle_in_which_no_result_is_refused(config, stall):
    """One more is accepted, since it has a place; `i.ready` does not depend on `o.ready`."""
    dut = IntegerUnit(config)
    warps = random_warps(9, config.threads, 100, (Op.ADD, Op.MUL, Op.MULH, Op.BEQ, *EXCHANGES))
    beats = config.threads // config.lanes(Port.INT)
    rng = random.Random(4)

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        unrefused = beats_accepted = 0
        was_refused = False
        for payload in payloads(config, warps, rng):
            ctx.set(dut.i.payload, payload)
            accepted = False
            while not accepted:
                ready = rng.random() >= stall
                ctx.set(dut.o.ready, not ready)
                before = ctx.get(dut.i.ready)
                ctx.set(dut.o.ready, ready)
                accepted = ctx.get(dut.i.ready)
                assert accepted == before
                assert accepted or was_refused or beats > 1
                was_refused = bool(ctx.get(dut.o.valid) and not ready)
                unrefused += not was_refused
                await ctx.tick()
            beats_accepted += beats
            assert beats_accepted >= unrefused, "no cycle is lost"
            assert stall or beats_accepted == unrefused

    simulate(dut, bench)


def test_a_product_has_one_to_three_registers():
    with pytest.raises(ValueError, match=re.escape("registers must be between 1 and 3, not 4")):
        MultiplyLaneConfig(registers=4)
