"""Tests of `hw.memory.atomic.reservation_table`: random requests and writes, age, a full table."""

import random

import pytest

from spica.hw.memory.atomic.reservation_table import (
    LIFETIME,
    ReservationTable,
    ReservationTableConfig,
)
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.atomic.reservation_table import ReservationModel
from spica.synth.measure import measure

CONFIGS = {
    "4 of 4x4": ReservationTableConfig(entries=4, columns=4, lines=4, owners=16),
    "1 of 1x2": ReservationTableConfig(entries=1, columns=1, lines=2, owners=3),
    "4 of one line": ReservationTableConfig(
        entries=4, columns=4, lines=4, owners=16, is_one_line=True
    ),
    "8 of 1x64": ReservationTableConfig(entries=8, columns=1, lines=64, owners=8),
    "all ones": ReservationTableConfig(entries=1, columns=1, lines=1, owners=1),
}
#: The table of a bank of `virgo`.
BANK = ReservationTableConfig(entries=8, columns=8, lines=1024, owners=256)


class Bench:
    """A table, driven and checked cycle by cycle."""

    def __init__(self, config):
        self.dut, self.model = require_no_loop(ReservationTable(config)), ReservationModel(config)
        self.config = config

    async def step(self, ctx, request=None, writes=None):
        """Run a cycle; return whether the thread of the request holds its word."""
        dut, writes = self.dut, writes or {}
        if self.config.is_one_line:
            writes = dict.fromkeys(writes, max(writes.values(), default=0))
        reserves, owner, (column, line) = request or (False, 0, (0, 0))
        fields = {"reserves": reserves, "owner": owner, "column": column, "line": line}
        ctx.set(dut.request, {"valid": request is not None, **fields})
        ctx.set(dut.writes, [
            {"valid": k in writes, "line": writes.get(k, max(writes.values(), default=0))}
            for k in range(self.config.columns)
        ])  # fmt: skip
        holds, busy = bool(ctx.get(dut.holds)), bool(ctx.get(dut.busy))
        assert busy == bool(self.model.reserved)
        if request is not None:
            assert holds == self.model.holds(owner, (column, line))
        self.model.step(request, writes)
        await ctx.tick()
        return holds


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize(("requests", "writes"), [(0.9, 0.0), (0.5, 0.2), (0.02, 0.002)])
@pytest.mark.quick(4)
def test_random_requests_and_writes(name, requests, writes):
    """Threads mostly return to the word that they have reserved; rare ones meet its age."""
    config, rng = CONFIGS[name], random.Random(len(name))
    bench = Bench(config)
    outcomes = [0, 0]

    async def run(ctx):
        words = {}
        for _ in range(3000):
            request = None
            if rng.random() < requests:
                owner = rng.randrange(config.owners)
                word = (rng.randrange(config.columns), rng.randrange(config.lines))
                reserves = rng.random() < 0.5
                if not reserves and rng.random() < 0.8:
                    word = words.get(owner, word)
                if reserves:
                    words[owner] = word
                request = (reserves, owner, word)
            written = {
                column: rng.randrange(config.lines)
                for column in range(config.columns)
                if rng.random() < writes
            }
            holds = await bench.step(ctx, request, written)
            if request and not request[0]:
                outcomes[holds] += 1

    simulate(bench.dut, run)
    assert min(outcomes) > 0


@pytest.mark.parametrize(("wait", "holds"), [(0, True), (LIFETIME - 1, True), (LIFETIME, False)])
def test_a_reservation_ends_by_its_age(wait, holds):
    bench = Bench(CONFIGS["4 of 4x4"])

    async def run(ctx):
        for _ in range(100):
            await bench.step(ctx)
        await bench.step(ctx, (True, 5, (1, 2)))
        for _ in range(wait):
            await bench.step(ctx)
        assert await bench.step(ctx, (False, 5, (1, 2))) == holds
        assert not await bench.step(ctx, (False, 5, (1, 2)))

    simulate(bench.dut, run)


def test_a_full_table_gives_none_but_replaces_those_of_its_threads():
    bench = Bench(CONFIGS["4 of 4x4"])

    async def run(ctx):
        for owner in range(5):
            await bench.step(ctx, (True, owner, (owner % 4, 1)))
        await bench.step(ctx, (True, 3, (3, 2)))
        assert not await bench.step(ctx, (False, 4, (0, 1)))
        assert await bench.step(ctx, (False, 3, (3, 2)))
        assert await bench.step(ctx, (False, 0, (0, 1)))
        await bench.step(ctx, (True, 4, (0, 1)))
        assert await bench.step(ctx, (False, 4, (0, 1)))

    simulate(bench.dut, run)


def test_a_write_ends_all_reservations_of_its_word():
    bench = Bench(CONFIGS["4 of 4x4"])

    async def run(ctx):
        for owner, word in enumerate([(1, 2), (1, 2), (1, 3), (2, 2)]):
            await bench.step(ctx, (True, owner, word))
        await bench.step(ctx, writes={1: 2})
        for owner, word in enumerate([(1, 2), (1, 2), (1, 3), (2, 2)]):
            assert await bench.step(ctx, (False, owner, word)) == (owner > 1)
        # Of a word written in the cycle of the load, none is given.
        await bench.step(ctx, (True, 0, (0, 0)), {0: 0})
        assert not await bench.step(ctx, (False, 0, (0, 0)))

    simulate(bench.dut, run)


@pytest.mark.parametrize(
    ("field", "number", "says"),
    [
        ("entries", 33, "entries must be between 1 and 32"),
        ("columns", 0, "columns must be between 1 and 64"),
    ],
)
def test_sizes_out_of_range_are_refused(field, number, says):
    with pytest.raises(ValueError, match=says):
        ReservationTableConfig(**{field: number})


def test_cells_and_depth():
    measured = measure(ReservationTable(BANK), "reservation_table")
    assert measured.cells <= 160
    assert measured.nand2 <= 5200
    assert measured.depth <= 20
