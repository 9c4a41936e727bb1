"""Tests of `branch`: target by the last active thread, and threads that disagree."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.units.integer.branch import Branch
from spica.hw.isa.operations import Port
from spica.sim.engine.testbench import require_no_loop, simulate

EIGHT = CoreConfig()
CONFIGS = [
    CoreConfig(warps=1, threads=1),
    EIGHT,
    replace(EIGHT, integer_lanes=2),
    CoreConfig(threads=5, integer_lanes=1),
    CoreConfig(threads=32),
]
WORDS = [0, 1, 2, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF]


def random_decision(config, rng):
    """Return the operands common to a warp, and those of each thread."""
    threads = config.threads
    by_register = rng.random() < 0.5
    common = {
        "warp": rng.randrange(config.warps),
        "mask": rng.choice([1 << rng.randrange(threads), rng.randrange(1, 1 << threads)]),
        "by_register": by_register,
        **{name: rng.choice([*WORDS, rng.getrandbits(32)]) for name in ("pc", "relative", "next")},
    }
    few = rng.sample(WORDS, 2)
    targets = [rng.choice(few) if by_register else 0 for _ in range(threads)]
    taken = [by_register or rng.random() < rng.choice([0, 0.5, 1]) for _ in range(threads)]
    return common, taken, targets


def expected_of(config, common, taken, targets):
    """Return target and disagreeing threads."""
    active = [k for k in range(config.threads) if common["mask"] >> k & 1]
    goes_to = [target & ~1 for target in targets] if common["by_register"] else taken
    last = goes_to[active[-1]]
    disagree = sum(1 << k for k in active if goes_to[k] != last)
    if not common["by_register"]:
        last = common["relative"] if last else common["next"]
    return last, disagree


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.threads}by{c.lanes(Port.INT)}")
@pytest.mark.quick(2)
def test_a_cycle_after_the_last_beat(config):
    require_no_loop(Branch, config)
    dut = Branch(config)
    lanes = config.lanes(Port.INT)
    rng = random.Random(config.threads)

    async def bench(ctx):
        for _ in range(200):
            common, taken, targets = random_decision(config, rng)
            for beat in range(config.threads // lanes):
                group = slice(beat * lanes, (beat + 1) * lanes)
                while rng.random() < 0.3:
                    ctx.set(dut.i.valid, 0)
                    await ctx.tick()
                    assert not ctx.get(dut.o.valid)
                payload = {
                    "place": 1 << beat,
                    "is_taken": sum(bit << k for k, bit in enumerate(taken[group])),
                    "targets": targets[group],
                }
                ctx.set(dut.i.payload, common | payload)
                ctx.set(dut.i.valid, 1)
                await ctx.tick()
                is_last = (beat + 1) * lanes == config.threads
                assert ctx.get(dut.o.valid) == is_last
            got = ctx.get(dut.o.payload)
            assert (got.warp, got.pc) == (common["warp"], common["pc"])
            assert (got.target, got.disagree) == expected_of(config, common, taken, targets)

    simulate(dut, bench)
