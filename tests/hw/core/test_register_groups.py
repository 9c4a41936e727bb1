"""Tests of register groups with a trial operation: decoder, scoreboard and issue."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.front_end.decode import Decode
from spica.hw.core.issue.issue import Issue
from spica.hw.core.issue.issue_slot import IssueSlot
from spica.hw.isa.assembly import assemble
from spica.hw.isa.operations import (
    PORTS,
    ControlOperation,
    Latency,
    Port,
    RegisterGroup,
    RegisterGroups,
)
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.front_end.decode import decode, is_same
from support.core.issue_bench import random_program, run
from support.core.issue_surroundings import Timing
from support.core.trial_groups import SIZE, trial_groups

SMALL = CoreConfig(warps=3, threads=2)
ROUGH = Timing(starve=0.2, refuse=0.2, hold=0.3, conflict=0.3, busy=0.2, longest=12)
CONFIGS = {
    "one": SMALL,
    "two": replace(SMALL, issue_width=2, collectors=3),
    "no_snoop": replace(SMALL, snoop=False, issue_width=2, scheduler="oldest"),
}


@pytest.fixture(params=[None, RegisterGroup()], ids=["single", "group"])
def destination(request):
    with trial_groups(request.param):
        yield request.param


def programs(config, length, seed=1):
    rng = random.Random(seed)
    return [random_program(rng, length, group_size=SIZE) for _ in range(config.warps)]


def test_decode(destination):
    dut = require_no_loop(Decode(SMALL))
    rng = random.Random(4)
    words = [
        assemble("fcos.s f0, f0") | rd << 7 | rs1 << 15 for rd in range(32) for rs1 in range(32)
    ]
    words += [assemble("fsin.s f0, f0") | rng.getrandbits(5) << 7 for _ in range(20)]
    words += [rng.getrandbits(25) << 7 | 0x0B for _ in range(100)]

    async def bench(ctx):
        for word in words:
            ctx.set(dut.word, word)
            expected = decode(word, 0, config=SMALL)
            assert is_same(ctx.get(dut.o.as_value()), expected, SMALL), (
                f"{word:#x} {ctx.get(dut.o)}"
            )

    simulate(dut, bench, domains=())


def test_decode_by_hand(destination):
    dut = Decode(SMALL)

    async def bench(ctx):
        rd = 0 if destination else 3
        ctx.set(dut.word, assemble(f"fcos.s f{rd}, f8"))
        o = ctx.get(dut.o)
        assert [o.sources[k] for k in range(3)] == [40, 40, 48 + rd * SIZE]
        assert (o.port, o.rd, o.writes, o.reads, o.last) == (Port.SPECIAL, 32 + rd, 1, 7, SIZE - 1)
        assert o.grouped == (0b1110 if destination is None else 0b1111)
        for line in ["fcos.s f0, f9", "fcos.s f4, f8", *(["fcos.s f5, f8"] if destination else [])]:
            ctx.set(dut.word, assemble(line))
            assert ctx.get(dut.o.operation) == ControlOperation.ILLEGAL
        ctx.set(dut.word, assemble("fsin.s f5, f9"))
        assert (ctx.get(dut.o.grouped), ctx.get(dut.o.last)) == (0, 0)

    simulate(dut, bench, domains=())


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("timing", [Timing(), ROUGH], ids=["smooth", "rough"])
@pytest.mark.quick(1)
def test_no_hazard_is_missed(name, timing):
    config = CONFIGS[name]
    with trial_groups():
        require_no_loop(Issue, config)
        run(config, programs(config, 30), timing, seed=5)


def test_micro_operations_follow_each_other():
    """One per cycle while collectors accept; a single result is that of the last."""
    with trial_groups():
        dut = IssueSlot(SMALL)
        instruction = {"rd": 33, "writes": 1, "sources": [4, 7, 40], "grouped": 0b1010, "last": 3}
        instruction |= {"reads": 0b111}

        async def testbench(ctx):
            ctx.set(dut.entry.issue, {"warp": 1, "instruction": instruction})
            ctx.set(dut.entry.enter, 1)
            await ctx.tick()
            ctx.set(dut.entry.enter, 0)
            for beat in range(SIZE):
                ctx.set(dut.o.ready, 0)
                await ctx.tick()
                ctx.set(dut.o.ready, 1)
                o = ctx.get(dut.o.payload)
                assert ctx.get(dut.o.valid) and o.beat == beat
                assert [o.instruction.sources[k] for k in range(3)] == [4 + beat, 7, 40 + beat]
                assert (o.instruction.rd, o.instruction.writes) == (33, beat == SIZE - 1)
                assert o.instruction.reads == (0b111 if beat == 0 else 0b101)
                assert ctx.get(dut.entry.free) == (beat == SIZE - 1)
                await ctx.tick()
            assert not ctx.get(dut.o.valid)

        simulate(dut, testbench)


def test_refused_tables():
    with pytest.raises(ValueError, match="register group must be 2, 4, 8, 16 or 32, not 3"):
        RegisterGroups(size=3)
    groups = {0: RegisterGroups(size=4)}
    with pytest.raises(ValueError, match="latency must not be fixed with register groups"):
        replace(PORTS[Port.DIVIDE], latency=Latency.FIXED, groups=groups)
