"""Tests of `WeightStationaryMesh` against a golden chain of multiply-adds per column."""

import random

import numpy as np
import pytest

from spica.hw.config import SystolicConfig
from spica.hw.matrix.accumulator.accumulator import STORED_LATENCY
from spica.hw.matrix.systolic.weight_stationary import weight_stationary_latency
from spica.hw.matrix.systolic.weight_stationary_mesh import WeightStationaryMesh
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float.floats import multiply_add
from support.matrix.sequencer_bench import array_operands
from support.packing import joined

CONFIGS = [
    SystolicConfig(rows=2, columns=2, multiply_add_latency=1, tile=(2, 2, 2)),
    SystolicConfig(rows=4, columns=4, multiply_add_latency=3, tile=(4, 4, 4)),
    SystolicConfig(rows=4, columns=8, operand="int8", multiply_add_latency=2, tile=(4, 8, 4)),
    SystolicConfig(rows=8, columns=4, operand="int8", multiply_add_latency=4, tile=(8, 4, 8)),
    SystolicConfig(rows=2, columns=4, operand="int8", multiply_add_latency=1, tile=(2, 4, 2)),
    *(
        SystolicConfig(rows=2, columns=2, operand=operand, tile=(2, 2, 2))
        for operand in ("bf16", "fp8_e4m3", "fp8_e5m2", "fp32")
    ),
]


def golden_sums(config, a, weights):
    """Return one row of sums."""
    sums = np.zeros(config.columns, np.uint32)
    for element, row in zip(a, weights, strict=True):
        sums = multiply_add(
            np.full(config.columns, element),
            row,
            sums,
            operand=config.operand_format,
            accumulator=config.accumulator_format,
        )
    return sums


class Schedule:
    """Rows and weights at random cycles, as close to each other as the mesh allows.

    `early` offers a row with `swap` before all its weights, which then follow without a pause.
    """

    def __init__(self, config, seed, *, swaps=4, bubbles=0.3, early=False):
        self.config = config
        self.rng = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.bubbles = bubbles
        self.early = early
        self.cycles = []
        self.expected = []
        self.swap_cycle = None
        self.weights = self.following = None
        self.sent = 0
        while swaps:
            swaps -= self.step()
        for _ in range(config.rows * config.element_latency + 4):
            self.step(no_swap=True)

    def new_weights(self):
        """Return a random matrix of weights."""
        rows, columns = self.config.rows, self.config.columns
        return array_operands(self.config.operand_format, self.values, (rows, columns))

    def may_offer(self, row, cycle):
        """Return whether weight row `row` may be offered in `cycle`."""
        latency = self.config.element_latency
        return self.swap_cycle is None or cycle > self.swap_cycle + row * latency

    def may_swap(self, cycle):
        """Return whether a row with `swap` may be offered in `cycle`."""
        rows = self.config.rows
        if self.following is None or self.sent == rows:
            return self.sent == rows
        rest = range(self.sent, rows)
        return self.early and all(self.may_offer(r, cycle + r - self.sent) for r in rest)

    def step(self, no_swap=False):
        """Append a cycle; return whether it has a swap."""
        cycle, config = len(self.cycles), self.config
        if self.following is None and not no_swap:
            self.following, self.sent = self.new_weights(), 0
        swap = not no_swap and self.may_swap(cycle) and self.rng.random() < 0.5
        hurry = self.sent < config.rows and self.weights is self.following
        weights = None
        if self.following is not None and self.sent < config.rows:
            calm = self.rng.random() >= self.bubbles
            if hurry or swap or (calm and self.may_offer(self.sent, cycle)):
                weights = (self.sent, self.following[self.sent])
                self.sent += 1
        row = None
        if swap or (self.weights is not None and self.rng.random() >= self.bubbles):
            row = (array_operands(config.operand_format, self.values, config.rows), swap)
        if swap:
            self.weights, self.swap_cycle = self.following, cycle
        if row is not None:
            self.expected.append((cycle, golden_sums(config, row[0], self.weights)))
        if self.weights is self.following and self.sent == config.rows:
            self.following = None
        self.cycles.append((row, weights))
        return swap


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    "config", CONFIGS, ids=lambda c: f"{c.rows}x{c.columns}-{c.operand}-{c.element_latency}"
)
@pytest.mark.quick(1)
def test_matches_golden_model(config, early):
    dut = require_no_loop(WeightStationaryMesh(config))
    schedule = Schedule(config, seed=config.rows, early=early, bubbles=0.2 if early else 0.4)
    latency = weight_stationary_latency(config)
    cycles = schedule.cycles + [(None, None)] * latency
    noise = random.Random(3)

    async def testbench(ctx):
        seen = []
        for row, weights in cycles:
            # Invalid payloads must not matter.
            a, swap = row or (noise.choices(range(1 << 8), k=config.rows), 1)
            index, b = weights or (noise.randrange(config.rows), [0x55] * config.columns)
            a, b = [int(x) for x in a], [int(x) for x in b]
            target = {"address": len(seen) % config.accumulator_rows, "accumulate": swap}
            ctx.set(dut.row.payload, {"a": a, "swap": swap, **target})
            ctx.set(dut.row.valid, row is not None)
            ctx.set(dut.weights.valid, weights is not None)
            ctx.set(dut.weights.payload, {"b": b, "row": index})
            sampled = await ctx.tick().sample(dut.sums, dut.target.valid, dut.target.payload)
            seen.append(sampled[2:])
        assert len(schedule.expected) > 10
        for cycle, sums in schedule.expected:
            assert seen[cycle + latency][0] == joined(sums, config.accumulator_format.width), cycle
        for cycle, (row, _) in enumerate(schedule.cycles):
            _, target_valid, target = seen[cycle + latency - STORED_LATENCY]
            assert target_valid == (row is not None)
            assert row is None or target.address == cycle % config.accumulator_rows

    simulate(dut, testbench)
