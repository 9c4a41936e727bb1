"""Tests of `hw.matrix.accumulator.accumulator` against an array updated by golden additions."""

import random
from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from spica.hw.config import SystolicConfig
from spica.hw.matrix.accumulator.accumulator import STORED_LATENCY, Accumulator
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float.floats import add, corners
from support.packing import joined

CONFIGS = [
    SystolicConfig(rows=2, columns=2, add_latency=1, accumulator_bytes=64, tile=(2, 2, 2)),
    SystolicConfig(rows=4, columns=4, add_latency=3, accumulator_bytes=256, tile=(4, 4, 4)),
    SystolicConfig(
        rows=4, columns=4, operand="int8", add_latency=2, accumulator_bytes=256, tile=(4, 4, 4)
    ),
]


def golden_sum(config, stored, sums):
    """Return the accumulator's row after an addition."""
    if config.operand == "int8":
        return (stored + sums).astype(np.uint32)
    return add(stored, sums)


class Plan:
    """Schedule of sums: every address is reused as soon as allowed.

    Other reads come in some cycles, of rows that are not written meanwhile.
    """

    def __init__(self, config, seed, cycles=250):
        rng, values = random.Random(seed), np.random.default_rng(seed)
        form, depth = config.accumulator_format, config.accumulator_rows
        stored = np.zeros((depth, config.columns), np.uint32)
        last_offer = [-100] * depth
        self.targets, self.sums, self.reads = [], [], []
        for cycle in range(cycles):
            address = rng.randrange(min(4, depth))
            free = cycle - last_offer[address] >= config.add_latency + STORED_LATENCY + 1
            accumulate = last_offer[address] >= 0 and free and rng.random() < 0.7
            sums = values.integers(0, 1 << 32, config.columns, np.uint32)
            sums = np.where(
                values.random(config.columns) < 0.4,
                values.choice(corners(form), config.columns),
                sums,
            )
            if config.operand == "fp16":
                # The array produces only the canonical NaN; -0 changes nothing else.
                sums = add(sums, np.uint32(1 << 31))
            self.sums.append(sums)
            # A read returns the writes of earlier cycles; later rows do not affect it.
            readable = [
                row
                for row in range(depth)
                if 0 <= last_offer[row] <= cycle - config.add_latency - STORED_LATENCY - 1
            ]
            row = rng.choice(readable) if readable and rng.random() < 0.6 else None
            self.reads.append(None if row is None else (row, stored[row].copy()))
            if rng.random() < 0.2:
                self.targets.append(None)
                continue
            self.targets.append((address, accumulate))
            total = golden_sum(config, stored[address], sums) if accumulate else sums
            stored[address] = total
            last_offer[address] = cycle


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.operand}-{c.add_latency}")
@pytest.mark.quick(1)
def test_matches_golden_model(config):
    dut = require_no_loop(Accumulator(config))
    plan = Plan(config, seed=config.add_latency)

    async def testbench(ctx):
        expected, answered = deque([None] * STORED_LATENCY), 0
        pending = []
        sums = deque([0] * STORED_LATENCY)
        for target, next_sums, read in zip(plan.targets, plan.sums, plan.reads, strict=True):
            address, accumulate = target or (0, 1)
            ctx.set(dut.target.payload, {"address": address, "accumulate": accumulate})
            ctx.set(dut.target.valid, target is not None)
            ctx.set(dut.sums, sums.popleft())
            ctx.set(dut.read.valid, read is not None)
            ctx.set(dut.read.payload, read[0] if read else address)
            same_bank = read is None or read[0] % 2 == address % 2
            waits = target is not None and bool(accumulate) and same_bank
            assert ctx.get(dut.read.ready) == (not waits)
            pending = [*pending, target is not None][-1 - config.add_latency - STORED_LATENCY :]
            assert ctx.get(dut.writing) == any(pending[:-1])
            _, _, stored = await ctx.tick().sample(dut.stored)
            expected.append(read[1] if read and not waits else None)
            if (answer := expected.popleft()) is not None:
                assert stored == joined(answer, 32)
                answered += 1
            sums.append(joined(next_sums, 32))
        assert answered > 20

    simulate(dut, testbench)


def test_words_of_rows_are_filled_between_sums():
    """A fill waits only for sums of its SRAM, and changes only the words of its mask."""
    config = replace(CONFIGS[1], load_d=True)
    dut = require_no_loop(Accumulator(config))
    rng, latency = random.Random(4), STORED_LATENCY + config.add_latency
    rows = {row: [rng.getrandbits(32) for _ in range(4)] for row in range(4, 8)}
    writes = [(row, 15, words) for row, words in rows.items()]
    writes += [
        (rng.randrange(4, 8), rng.getrandbits(4), [rng.getrandbits(32) for _ in range(4)])
        for _ in range(40)
    ]
    waits = 0

    async def testbench(ctx):
        nonlocal waits
        pending, offered = list(writes), []
        while pending:
            target = rng.randrange(4) if rng.random() < 0.7 else None
            ctx.set(dut.target.payload, {"address": target or 0, "accumulate": 0})
            ctx.set(dut.target.valid, target is not None)
            offered.append(target)
            row, mask, words = pending[0]
            valid = rng.random() < 0.8
            ctx.set(dut.fill.valid, valid)
            ctx.set(dut.fill.payload, {"address": row, "mask": mask, "data": joined(words, 32)})
            written = offered[-1 - latency] if len(offered) > latency else None
            assert ctx.get(dut.fill.ready) == (written is None or written % 2 != row % 2)
            _, _, ready = await ctx.tick().sample(dut.fill.ready)
            waits += valid and not ready
            if valid and ready:
                pending.pop(0)
                rows[row] = [
                    new if mask >> k & 1 else old
                    for k, (old, new) in enumerate(zip(rows[row], words, strict=True))
                ]
        ctx.set(dut.fill.valid, 0)
        ctx.set(dut.target.valid, 0)
        for row, words in rows.items():
            ctx.set(dut.read.payload, row)
            ctx.set(dut.read.valid, 1)
            await ctx.tick().repeat(STORED_LATENCY + 1)
            assert ctx.get(dut.stored) == joined(words, 32)

    simulate(dut, testbench)
    assert waits > 5


def test_a_row_named_again_too_early_is_reported():
    dut = Accumulator(CONFIGS[1])
    too_early = STORED_LATENCY + CONFIGS[1].add_latency

    async def testbench(ctx):
        for cycle in range(too_early + 2):
            ctx.set(dut.target.payload, {"address": 1, "accumulate": cycle != 0})
            ctx.set(dut.target.valid, cycle in (0, too_early))
            await ctx.tick()

    with pytest.raises(AssertionError):
        simulate(dut, testbench)
