"""Tests of the replacement policy of a set against its model."""

import random

import pytest

from spica.hw.memory.cache.replacement_policy import ReplacementConfig, ReplacementPolicy
from spica.sim.engine.testbench import require_no_loop, simulate

WAYS = 4


class Model:
    """One set, and the turn of the slice."""

    def __init__(self, chances: int):
        self.turn = 0
        self.chances = [0] * WAYS
        self.full = chances

    def victim(self, valid: list[bool], pending: list[bool]) -> int | None:
        if not all(valid):
            return valid.index(False)
        for chance in (0, self.full):
            ways = [w for w in range(WAYS) if not pending[w] and self.chances[w] <= chance]
            if ways:
                return self.turn if self.turn in ways else ways[0]
        return None

    def replace(self, victim: int, is_full: bool, ahead: bool) -> None:
        if is_full:
            if self.turn != victim and self.chances[self.turn]:
                self.chances[self.turn] -= 1
            self.turn = (self.turn + 1) % WAYS
        self.chances[victim] = self.full if ahead else 0


@pytest.mark.parametrize("chances", [0, 3])
@pytest.mark.quick(1)
def test_ways_give_way_as_in_the_model(chances):
    dut = require_no_loop(ReplacementPolicy(ReplacementConfig(ways=WAYS, chances=chances)))
    rng, model = random.Random(chances), Model(chances)
    chosen, spared = set(), 0

    async def bench(ctx):
        nonlocal spared
        for _ in range(3000):
            valid = [rng.random() < 0.97 for _ in range(WAYS)]
            pending = [v and rng.random() < rng.choice((0.1, 0.9)) for v in valid]
            ctx.set(dut.valid, sum(v << w for w, v in enumerate(valid)))
            ctx.set(dut.pending, sum(p << w for w, p in enumerate(pending)))
            for way in range(WAYS):
                ctx.set(dut.chances[way], model.chances[way])
            victim = model.victim(valid, pending)
            assert ctx.get(dut.has_way) == (victim is not None)
            ahead = rng.random() < 0.5
            if victim is not None:
                assert ctx.get(dut.victim) == 1 << victim
                spared += all(valid) and bool(model.chances[model.turn]) and victim != model.turn
            replaces = victim is not None and rng.random() < 0.6
            needed_way = rng.randrange(WAYS) if not replaces and rng.random() < 0.5 else None
            ctx.set(dut.replaces, replaces)
            ctx.set(dut.ahead, ahead)
            ctx.set(dut.needed, 0 if needed_way is None else 1 << needed_way)
            before = list(model.chances)
            if replaces:
                chosen.add(victim)
                model.replace(victim, all(valid), ahead)
            elif needed_way is not None:
                model.chances[needed_way] = 0
            if before != model.chances:
                assert ctx.get(dut.changes)
            if ctx.get(dut.changes):
                assert [ctx.get(dut.becomes[way]) for way in range(WAYS)] == model.chances
            await ctx.tick()

    simulate(dut, bench)
    assert chosen == set(range(WAYS))
    assert (spared > 100) == (chances > 0)
