"""Tests of `lane_dispatch`: warps through lanes and back, in order, without idle cycles."""

import random
import re

import pytest
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from spica.hw.core.units.lane_dispatch import BeatsConfig, LaneDispatch, LaneGather
from spica.hw.lib.streams import Queue
from spica.sim.engine.testbench import get, put, require_no_loop, simulate

COMMON = data.StructLayout({"warp": 3, "number": 16})
BEATS = [(4, 2), (6, 2), (8, 1), (32, 8)]
WIRES = [(1, 1), (4, 4)]
SIZES = WIRES + BEATS


def config_of(threads, lanes):
    return BeatsConfig(
        threads=threads, lanes=lanes, common=COMMON, each={"a": 32, "is_active": 1, "flags": 5}
    )


class ThereAndBack(wiring.Component):
    """Both directions with a queue in place of lanes; the beats between them are observable."""

    def __init__(self, config: BeatsConfig, depth: int = 2):
        self.lane_dispatch, self.lane_gather = LaneDispatch(config), LaneGather(config)
        self.depth, self.config = depth, config
        super().__init__({
            "i": self.lane_dispatch.signature.members["i"],
            "o": self.lane_gather.signature.members["o"],
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.lane_dispatch, m.submodules.lane_gather = self.lane_dispatch, self.lane_gather
        m.submodules.queue = queue = Queue(self.config.part_layout, self.depth)
        beat, part = self.lane_dispatch.o, queue.i
        connect(m, flipped(self.i), self.lane_dispatch.i)
        connect(m, self.lane_gather.o, flipped(self.o))
        connect(m, queue.o, self.lane_gather.i)
        m.d.comb += [part.valid.eq(beat.valid), beat.ready.eq(part.ready)]
        for name in self.config.part_layout.members:
            m.d.comb += Value.cast(part.payload[name]).eq(Value.cast(beat.payload[name]))
        return m


def random_warps(config, count, rng):
    """Return payloads of `config.warp_layout` with ascending numbers."""
    return [
        {
            "common": {"warp": rng.randrange(8), "number": number},
            **{
                name: [random_bits(rng, width) for _ in range(config.threads)]
                for name, width in config.each.items()
            },
        }
        for number in range(count)
    ]


def random_bits(rng, width):
    """Return a number of this width; two in three are extreme."""
    return rng.choice([0, (1 << width) - 1, rng.getrandbits(width)])


def plain(config, payload):
    """Return a simulated payload in the form of `random_warps`."""
    common = {name: payload.common[name] for name in COMMON.members}
    arrays = {name: [payload[name][k] for k in range(config.threads)] for name in config.each}
    return {"common": common, **arrays}


@pytest.mark.parametrize("stalls", [(0.0, 0.0), (0.4, 0.0), (0.0, 0.4), (0.4, 0.4)])
@pytest.mark.parametrize(("threads", "lanes"), SIZES)
@pytest.mark.quick(3)
def test_warps_come_back_as_they_were(threads, lanes, stalls):
    config = config_of(threads, lanes)
    require_no_loop(ThereAndBack, config)
    dut = ThereAndBack(config)
    warps = random_warps(config, 40, random.Random(threads * lanes))

    async def feed(ctx):
        await put(ctx, dut.i, warps, rng=random.Random(1), stall=stalls[0])

    async def check(ctx):
        got = await get(ctx, dut.o, len(warps), rng=random.Random(2), stall=stalls[1])
        assert [plain(config, payload) for payload in got] == warps

    simulate(dut, feed, check)


@pytest.mark.parametrize(("threads", "lanes"), BEATS)
def test_beats_are_groups_of_threads_in_order_and_take_the_warp_with_the_last(threads, lanes):
    config = config_of(threads, lanes)
    dut = LaneDispatch(config)
    warps = random_warps(config, 5, random.Random(3))

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.o.ready, 1)
        for warp in warps:
            ctx.set(dut.i.payload, warp)
            for beat in range(threads // lanes):
                payload = ctx.get(dut.o.payload)
                assert ctx.get(dut.o.valid)
                assert payload.place == 1 << beat
                assert payload.common.number == warp["common"]["number"]
                group = slice(beat * lanes, (beat + 1) * lanes)
                assert [payload.a[k] for k in range(lanes)] == warp["a"][group]
                assert ctx.get(dut.i.ready) == (beat == threads // lanes - 1)
                ctx.set(dut.o.ready, 0)
                await ctx.tick()  # all stages stall
                assert ctx.get(dut.o.payload.place) == 1 << beat
                assert not ctx.get(dut.i.ready)
                ctx.set(dut.o.ready, 1)
                await ctx.tick()
        ctx.set(dut.i.valid, 0)
        assert not ctx.get(dut.o.valid)

    simulate(dut, bench)


@pytest.mark.parametrize(("threads", "lanes"), BEATS)
def test_a_warp_is_complete_with_its_last_beat(threads, lanes):
    config = config_of(threads, lanes)
    dut = LaneGather(config)
    (warp,) = random_warps(config, 1, random.Random(4))

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        for start in range(0, threads, lanes):
            is_last = start + lanes == threads
            arrays = {name: warp[name][start : start + lanes] for name in config.each}
            ctx.set(dut.i.payload, {"common": warp["common"], **arrays})
            assert ctx.get(dut.i.ready) == (not is_last), "only the last is held back"
            assert ctx.get(dut.o.valid) == is_last
            if not is_last:
                await ctx.tick()
        await ctx.tick()
        assert plain(config, ctx.get(dut.o.payload)) == warp
        ctx.set(dut.o.ready, 1)
        assert ctx.get(dut.i.ready)

    simulate(dut, bench)


@pytest.mark.parametrize(("threads", "lanes"), WIRES)
def test_with_a_lane_for_each_thread_both_are_wires(threads, lanes):
    config = config_of(threads, lanes)
    (warp,) = random_warps(config, 1, random.Random(6))

    async def bench(ctx):
        for valid in (0, 1):
            for ready in (0, 1):
                ctx.set(dut.i.payload, warp)
                ctx.set(dut.i.valid, valid)
                ctx.set(dut.o.ready, ready)
                assert (ctx.get(dut.o.valid), ctx.get(dut.i.ready)) == (valid, ready)
                assert plain(config, ctx.get(dut.o.payload)) == warp

    for dut in (LaneDispatch(config), LaneGather(config)):
        simulate(dut, bench, domains=())


@pytest.mark.parametrize(("threads", "lanes"), SIZES)
def test_a_beat_in_every_cycle(threads, lanes):
    config = config_of(threads, lanes)
    dut = ThereAndBack(config)
    warps = random_warps(config, 10, random.Random(5))

    async def feed(ctx):
        await put(ctx, dut.i, warps, rng=random.Random(1))

    async def check(ctx):
        cycles = 0
        ctx.set(dut.o.ready, 1)
        for _ in warps:
            taken = False
            while not taken:
                _, _, taken = await ctx.tick().sample(dut.o.valid)
                cycles += 1
        assert cycles == len(warps) * (threads // lanes) + 1  # one cycle for the queue

    simulate(dut, feed, check)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"threads": 0}, "threads must be between 1 and 32, not 0"),
        ({"threads": 33}, "threads must be between 1 and 32, not 33"),
        ({"lanes": 5}, "lanes must be between 1 and 4, not 5"),
        ({"lanes": 3}, "lanes must divide the 4 threads, not be 3"),
        ({"each": {"place": 1}}, "each must not have a member named place, reserved for beats"),
    ],
)
def test_refused(fields, message):
    good = {"threads": 4, "lanes": 2, "common": 1, "each": {"a": 32}}
    with pytest.raises(ValueError, match=re.escape(message)):
        BeatsConfig(**good | fields)
