"""Tests of `output_stationary` against one golden chain of multiply-adds per sum."""

import random
from collections import deque

import numpy as np
import pytest
from amaranth import *

from spica.hw.config import SystolicConfig
from spica.hw.emit.emitter import emit
from spica.hw.matrix.accumulator.accumulator import STORED_LATENCY
from spica.hw.matrix.systolic.output_stationary import output_stationary_latency
from spica.hw.matrix.systolic.output_stationary_mesh import OutputStationaryMesh
from spica.hw.matrix.systolic.processing_element import multiply_add_config, output_slots
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float.floats import multiply_add
from support.matrix.sequencer_bench import array_operands
from support.packing import joined


def make_config(rows, columns, operand, latency):
    """Return the configuration of an output-stationary array."""
    return SystolicConfig(
        rows=rows,
        columns=columns,
        dataflow="output_stationary",
        operand=operand,
        multiply_add_latency=latency,
        accumulator_bytes=4096,
        tile=(rows, columns, rows),
    )


CONFIGS = [
    make_config(2, 2, "fp16", 1),
    make_config(4, 4, "int8", 2),
    make_config(4, 8, "int8", 3),
    make_config(8, 4, "int8", 4),
    make_config(2, 4, "fp16", 2),
    *(make_config(2, 2, operand, None) for operand in ("bf16", "fp8_e4m3", "fp8_e5m2", "fp32")),
    make_config(2, 2, "int8", 6),
]


class Steps:
    """Steps of tiles in as many slots as the multiply-add has stages, and the resulting rows."""

    def __init__(self, config, seed, cycles, bubbles):
        self.config = config
        self.rng, self.values = random.Random(seed), np.random.default_rng(seed)
        self.cycles = []
        self.rows = {}
        open_tiles = [None] * config.element_latency
        lasts = []
        slots = output_slots(multiply_add_config(config))
        while len(self.cycles) < cycles or any(tile is not None for tile in open_tiles):
            cycle = len(self.cycles)
            slot = cycle % config.element_latency
            tile = open_tiles[slot]
            idle = self.rng.random() < bubbles or (tile is None and cycle >= cycles)
            if idle:
                self.cycles.append(None)
                continue
            first = tile is None
            if first:
                zeros = np.zeros((config.rows, config.columns), np.uint32)
                tile = (zeros, self.rng.randint(1, 3 * config.rows))
            sums, left = tile
            collides = any(
                (cycle - last) % slots == 0 and cycle - last < config.rows * slots for last in lasts
            )
            last = left <= 1 and not collides
            form, values = config.operand_format, self.values
            a, b = (array_operands(form, values, count) for count in (config.rows, config.columns))
            sums = multiply_add(
                np.repeat(a[:, None], config.columns, axis=1),
                np.repeat(b[None, :], config.rows, axis=0),
                sums,
                operand=config.operand_format,
                accumulator=config.accumulator_format,
            )
            address = self.rng.randrange(config.accumulator_rows - config.rows)
            accumulate = self.rng.getrandbits(1)
            step = {"a": a.tolist(), "b": b.tolist(), "first": first, "last": last}
            self.cycles.append(step | {"address": address, "accumulate": accumulate})
            open_tiles[slot] = None if last else (sums, left - 1)
            if last:
                lasts.append(cycle)
                start = cycle + output_stationary_latency(config)
                for row in range(config.rows):
                    target = (address + row, accumulate)
                    self.rows[start + row * slots] = (target, sums[row])


@pytest.mark.parametrize("bubbles", [0.0, 0.3])
@pytest.mark.parametrize(
    "config", CONFIGS, ids=lambda c: f"{c.rows}x{c.columns}-{c.operand}-{c.element_latency}"
)
@pytest.mark.quick(1)
def test_matches_golden_model(config, bubbles):
    dut = require_no_loop(OutputStationaryMesh(config))
    steps = Steps(config, seed=config.rows, cycles=60, bubbles=bubbles)
    assert len(steps.rows) >= 2 * config.rows
    length = max(steps.rows) + 1
    noise = {"a": [1] * config.rows, "b": [1] * config.columns, "first": 1, "last": 1}

    async def testbench(ctx):
        ahead = deque([None] * STORED_LATENCY)
        for cycle in range(length):
            step = steps.cycles[cycle] if cycle < len(steps.cycles) else None
            # Invalid payloads must not matter.
            ctx.set(dut.step.payload, step or noise)
            ctx.set(dut.step.valid, step is not None)
            sampled = await ctx.tick().sample(
                dut.sums, dut.target.valid, dut.target.payload, dut.in_flight
            )
            sums, target_valid, target, in_flight = sampled[2:]
            if cycle in steps.rows:
                expected_target, expected_sums = steps.rows[cycle]
                assert ahead.popleft() == expected_target
                assert sums == joined(expected_sums, config.accumulator_format.width)
            else:
                assert ahead.popleft() is None
            ahead.append((target.address, target.accumulate) if target_valid else None)
            assert in_flight or not target_valid
        await ctx.tick()
        assert not ctx.get(dut.in_flight)

    simulate(dut, testbench)


def test_in_flight_while_a_tile_is_open():
    dut = OutputStationaryMesh(CONFIGS[1])

    async def testbench(ctx):
        ctx.set(dut.step.valid, 1)
        ctx.set(dut.step.payload.first, 1)
        await ctx.tick()
        ctx.set(dut.step.valid, 0)
        for _ in range(50):
            await ctx.tick()
            assert ctx.get(dut.in_flight)

    simulate(dut, testbench)


def test_each_distinct_block_is_emitted_once():
    modules = emit(OutputStationaryMesh(CONFIGS[1]), "mesh").modules
    assert {(m.component, m.instances) for m in modules} == {
        ("MultiplyAdd", 16),
        ("OutputStationaryProcessingElement", 16),
    }
