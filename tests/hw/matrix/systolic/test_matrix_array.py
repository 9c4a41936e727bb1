"""Tests of `matrix_array` with a sequencer that keeps the minimum distances of its contract."""

import random
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
import pytest
from amaranth import *

from spica.hw.config import SystolicConfig
from spica.hw.config.formats import FP32
from spica.hw.matrix.systolic.matrix_array import MatrixArray
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float.floats import add, convert, multiply, multiply_add
from support.matrix.sequencer_bench import array_operands


def make_config(rows, columns, operand, latency, add_latency, read_scale=True):
    """Return a configuration with an accumulator of a few rows, so that tiles overlap."""
    return SystolicConfig(
        rows=rows,
        columns=columns,
        operand=operand,
        multiply_add_latency=latency,
        add_latency=add_latency,
        accumulator_bytes=64 * columns,
        read_scale=read_scale,
        tile=(rows, columns, rows),
    )


CONFIGS = {
    "2x2": make_config(2, 2, "fp16", 1, 1),
    "4x4": make_config(4, 4, "fp16", 2, 2),
    "2x4 unscaled": make_config(2, 4, "fp16", 3, 3, read_scale=False),
    "4x8 int8": make_config(4, 8, "int8", 3, 3),
    "8x4 int8": make_config(8, 4, "int8", 2, 2),
    "2x2 bf16": make_config(2, 2, "bf16", None, 2),
    "2x4 fp8_e4m3": make_config(2, 4, "fp8_e4m3", None, 2),
    "4x2 fp8_e5m2": make_config(4, 2, "fp8_e5m2", None, 2),
    "2x2 fp32": make_config(2, 2, "fp32", None, 2),
}


@dataclass
class Tile:
    """A tile of C: accumulated over slabs, then drained."""

    address: int
    rows: int
    blocks: int
    stride: int
    slabs: int
    accumulate: bool
    wide: bool
    relu: bool
    scale: int


def random_tiles(config, rng, count):
    """Return tiles that overlap in the accumulator and use every option of the drain."""
    tiles = []
    for number in range(count):
        rows = rng.randint(1, min(6, config.accumulator_rows))
        blocks = rng.randint(1, min(3, config.accumulator_rows // rows))
        slack = config.accumulator_rows - rows * blocks
        gap = rng.randint(0, slack // blocks) if rng.random() < 0.3 else 0
        used = (rows + gap) * (blocks - 1) + rows
        tiles.append(
            Tile(
                address=rng.randint(0, config.accumulator_rows - used) if number else 0,
                rows=rows,
                blocks=blocks,
                stride=rows + gap,
                slabs=rng.randint(1, 3),
                accumulate=False,
                wide=rng.random() < 0.4 or not config.narrows,
                relu=rng.random() < 0.4,
                scale=rng.choice([0x3F800000, 0xBF000000, 0x477FE000, 0x00400000]),
            )
        )
        if number and rng.random() < 0.5:
            # The previous tile's sums, read once already, are added to, or read again at once.
            before = tiles[-2]
            place = {k: getattr(before, k) for k in ("address", "rows", "blocks", "stride")}
            slabs = rng.choice([0, 0, 1, 2])
            tiles[-1] = replace(tiles[-1], **place, accumulate=True, slabs=slabs)
    return tiles


#: In the work of a sequencer: the drain of the tile may start before its last block.
EARLY = "early"


class Sequencer:
    """Sequencer model: offers the rows of tiles, and tracks the accumulator and expected drains."""

    def __init__(self, config, dut, tiles, seed, bubbles, again=0.0, early=0.0):
        self.config, self.dut, self.bubbles = config, dut, bubbles
        self.rng, self.values = random.Random(seed), np.random.default_rng(seed)
        self.stored = np.zeros((config.accumulator_rows, config.columns), np.uint32)
        self.last_offer = {}
        self.expected = []
        self.is_done = False
        self.unfinished, self.awaited = False, None  # `awaited`: the tile whose drain begins early
        self.work = deque()
        self.generations = []
        for tile in tiles:
            for slab in range(tile.slabs):
                for block in range(tile.blocks):
                    is_last = slab == tile.slabs - 1 and block == tile.blocks - 1
                    if block and is_last and self.rng.random() < early:
                        self.work.append(EARLY)
                    self.generations.append(self.operands((config.rows, config.columns)))
                    for i in range(tile.rows):
                        address = tile.address + block * tile.stride + i
                        swap = i == 0
                        self.work.append((address, tile.accumulate or slab > 0, swap))
                        if self.rng.random() < again:
                            self.work.append((address, True, False))
            self.work.append(tile)

    def operands(self, shape):
        """Return stored operands."""
        return array_operands(self.config.operand_format, self.values, shape)

    def offer(self, a, weights, address, accumulate):
        """Change `stored` by one row of A."""
        formats = {
            "operand": self.config.operand_format,
            "accumulator": self.config.accumulator_format,
        }
        sums = np.zeros(self.config.columns, np.uint32)
        for element, row in zip(a, weights, strict=True):
            sums = multiply_add(np.full_like(sums, element), row, sums, **formats)
        if accumulate:
            before = self.stored[address]
            sums = before + sums if self.config.operand == "int8" else add(before, sums)
        self.stored[address] = sums

    def drain(self, tile):
        """Append the beats that the drain of `tile` must send."""
        beat_width = 8 * self.config.drain_bytes
        for block in range(tile.blocks):
            for i in range(tile.rows):
                values = self.stored[tile.address + block * tile.stride + i]
                if self.config.scales:
                    values = multiply(values, np.uint32(tile.scale))
                if tile.relu:
                    values = np.where(values >> 31, 0, values)
                width = 32 if tile.wide else 16
                values = values if tile.wide else convert(values, FP32, self.config.narrow_format)
                row = sum(int(value) << (width * k) for k, value in enumerate(values))
                for beat in range(len(values) * width // beat_width):
                    self.expected.append(row >> (beat * beat_width) & ((1 << beat_width) - 1))

    def command(self, tile):
        """Return the payload of a drain command."""
        payload = {
            "address": tile.address,
            "rows": tile.rows,
            "blocks": tile.blocks,
            "block_stride": tile.stride,
            "wide": tile.wide,
            "relu": tile.relu,
        }
        return payload | ({"scale": tile.scale} if self.config.scales else {})

    def may_offer(self, address, accumulate, cycle, pointer, end):
        """Return whether the contract allows the row now."""
        since = cycle - self.last_offer.get(address, -1000)
        revisits = accumulate and since < self.dut.revisit_latency
        return not revisits and (self.unfinished or not pointer <= address < end)

    def begin_early(self, ctx):
        """Wait at `EARLY` for the end of the last drain; then offer the command and go on."""
        idle = ctx.get(self.dut.progress.pointer) == ctx.get(self.dut.progress.end)
        if self.work[0] is EARLY and idle:
            self.work.popleft()
            self.unfinished = True
            self.awaited = next(item for item in self.work if isinstance(item, Tile))

    def end_early(self):
        """Lower `unfinished` after the last row of a tile; a drain that has begun is complete."""
        if self.unfinished and isinstance(self.work[0], Tile):
            self.unfinished = False
            if self.awaited is None:
                self.drain(self.work.popleft())
            self.awaited = None

    async def run(self, ctx):
        """Offer everything, then wait until nothing is in flight."""
        dut, config = self.dut, self.config
        swap_cycle, sent, loaded, active = -1000, 0, 0, -1
        cycle = 0
        pad = [0] * config.rows
        while self.work:
            calm = self.rng.random() >= self.bubbles
            # Weights of the next generation, as soon as each array row accepts them.
            send = (
                calm
                and loaded < len(self.generations)
                and loaded == active + 1
                and cycle > swap_cycle + sent * config.element_latency
            )
            ctx.set(dut.weights.valid, send)
            if send:
                row = [int(x) for x in self.generations[loaded][sent]]
                ctx.set(dut.weights.payload, {"b": row, "row": sent})
                sent += 1
                if sent == config.rows:
                    sent, loaded = 0, loaded + 1

            self.begin_early(ctx)
            ctx.set(dut.progress.unfinished, self.unfinished)
            item = self.work[0]
            is_row = isinstance(item, tuple) and self.rng.random() >= self.bubbles
            if is_row:
                address, accumulate, swap = item
                pointer, end = ctx.get(dut.progress.pointer), ctx.get(dut.progress.end)
                is_row = self.may_offer(address, accumulate, cycle, pointer, end)
                is_row = is_row and (not swap or loaded > active + 1)
            ctx.set(dut.row.valid, is_row)
            if is_row:
                a = self.operands(config.rows)
                active, swap_cycle = (active + 1, cycle) if swap else (active, swap_cycle)
                ctx.set(
                    dut.row.payload,
                    {
                        "a": [int(x) for x in a],
                        "swap": swap,
                        "address": address,
                        "accumulate": accumulate,
                    },
                )
                self.offer(a, self.generations[active], address, accumulate)
                self.last_offer[address] = cycle
            else:
                # Invalid payloads must not matter.
                ctx.set(dut.row.payload, {"a": pad, "swap": 1, "address": 0, "accumulate": 1})

            is_command = isinstance(item, Tile)
            tile = item if is_command else self.awaited
            if tile:
                ctx.set(dut.drain_command.payload, self.command(tile))
            ctx.set(dut.drain_command.valid, tile is not None)
            _, _, ready = await ctx.tick().sample(dut.drain_command.ready)
            if is_command and ready:
                self.drain(item)
            elif ready:
                self.awaited = None
            if is_row or (is_command and ready):
                self.work.popleft()
            if self.work:
                self.end_early()
            cycle += 1
        ctx.set(
            Cat(dut.row.valid, dut.weights.valid, dut.drain_command.valid, dut.progress.unfinished),
            0,
        )
        self.is_done = True
        self.cycles = cycle
        await ctx.tick().until(~dut.busy)


def run(config, *, tiles, seed=1, bubbles=0.0, stall=0.0, gated=False):
    """Run random tiles; return the cycles taken. Gated, it has a clock only if there is work."""
    dut = MatrixArray(config)
    clocked = dut.row.valid | dut.weights.valid | dut.drain_command.valid | dut.busy
    sequencer = Sequencer(
        config,
        dut,
        random_tiles(config, random.Random(seed), tiles),
        seed,
        bubbles,
        again=0.1,
        early=0.6,
    )
    beats = []

    async def collect(ctx):
        rng = random.Random(seed + 1)
        while not sequencer.is_done or len(beats) < len(sequencer.expected):
            willing = rng.random() >= stall
            ctx.set(dut.drain.ready, willing)
            _, _, valid, beat = await ctx.tick().sample(dut.drain.valid, dut.drain.payload)
            if willing and valid:
                beats.append(beat)

    simulate(EnableInserter(clocked)(dut) if gated else dut, sequencer.run, collect)
    assert beats == sequencer.expected
    return sequencer.cycles


@pytest.mark.parametrize(("bubbles", "stall"), [(0.0, 0.0), (0.0, 0.7), (0.4, 0.3)])
@pytest.mark.parametrize("name", ["2x2", "4x8 int8", "8x4 int8"])
@pytest.mark.quick("2x2-0.4-0.3")
def test_matches_golden_model(name, bubbles, stall):
    require_no_loop(MatrixArray, CONFIGS[name])
    run(CONFIGS[name], tiles=8, bubbles=bubbles, stall=stall)


@pytest.mark.parametrize(
    "name",
    ["4x4", "2x4 unscaled", "2x2 bf16", "2x4 fp8_e4m3", "4x2 fp8_e5m2", "2x2 fp32"],
)
@pytest.mark.quick(1)
def test_floats_match_golden_model(name):
    require_no_loop(MatrixArray, CONFIGS[name])
    run(CONFIGS[name], tiles=4, bubbles=0.2, stall=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CONFIGS)
def test_longer_runs_match_golden_model(name, seed):
    run(CONFIGS[name], tiles=20, seed=100 + seed, bubbles=0.1 * seed, stall=0.2 * seed)


@pytest.mark.parametrize("name", ["2x2", "8x4 int8"])
@pytest.mark.full
def test_a_withheld_clock_changes_nothing(name):
    options = {"tiles": 5, "seed": 5, "bubbles": 0.5, "stall": 0.5}
    assert run(CONFIGS[name], **options) == run(CONFIGS[name], **options, gated=True)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(1)
def test_a_row_is_in_flight_until_it_is_written_and_weights_only_need_a_clock(name):
    dut = MatrixArray(CONFIGS[name])

    async def testbench(ctx):
        ctx.set(dut.weights.valid, 1)
        await ctx.tick()
        ctx.set(dut.weights.valid, 0)
        for _ in range(CONFIGS[name].columns + 1):
            assert ctx.get(dut.busy)
            assert not ctx.get(dut.in_flight)
            await ctx.tick()
        assert not ctx.get(dut.busy)
        ctx.set(dut.row.valid, 1)
        await ctx.tick()
        ctx.set(dut.row.valid, 0)
        cycles = 0
        while ctx.get(dut.in_flight):
            await ctx.tick()
            cycles += 1
        assert cycles == dut.write_latency

    simulate(dut, testbench)


@pytest.mark.parametrize(("name", "wide", "rows_per_cycle"), [("4x4", 0, 1), ("4x4", 1, 0.5)])
@pytest.mark.full
def test_drain_reads_a_row_per_cycle(name, wide, rows_per_cycle):
    config = CONFIGS[name]
    dut = MatrixArray(config)
    rows = config.accumulator_rows

    async def testbench(ctx):
        ctx.set(dut.drain.ready, 1)
        command = {"address": 0, "rows": rows // 2, "blocks": 2, "block_stride": rows // 2}
        ctx.set(dut.drain_command.payload, command | {"wide": wide, "relu": 0, "scale": 0})
        ctx.set(dut.drain_command.valid, 1)
        assert ctx.get(dut.progress.pointer) == ctx.get(dut.progress.end)
        await ctx.tick()
        ctx.set(dut.drain_command.valid, 0)
        # Fewer rows than the array has stages: the last one offered may still be in flight.
        late = max(0, dut.write_latency + 1 - rows)
        for _ in range(late):
            assert ctx.get(dut.progress.pointer) == 0
            await ctx.tick()
        for cycle in range(int(rows / rows_per_cycle)):
            assert ctx.get(dut.progress.pointer) == -int(-cycle * rows_per_cycle // 1)
            assert ctx.get(dut.progress.end) == rows
            assert ctx.get(dut.events.drain_row) == (cycle * rows_per_cycle % 1 == 0)
            await ctx.tick()
        assert ctx.get(dut.progress.pointer) == ctx.get(dut.progress.end)
        await ctx.tick().until(~dut.busy)

    simulate(dut, testbench)


@pytest.mark.full
def test_overwriting_rows_and_a_drain_proceed_side_by_side():
    config = SystolicConfig(
        rows=2, columns=2, multiply_add_latency=1, accumulator_bytes=512, tile=(64, 2, 2)
    )
    tile = Tile(0, 64, 1, 0, 1, False, False, False, 0x3F800000)
    dut = MatrixArray(config)
    sequencer = Sequencer(config, dut, [tile] * 4, seed=1, bubbles=0.0)

    async def collect(ctx):
        ctx.set(dut.drain.ready, 1)
        while not sequencer.is_done:
            await ctx.tick()

    simulate(dut, sequencer.run, collect)
    # Each drain waits for the conversion of the previous rows: a few cycles per tile.
    assert sequencer.cycles <= 4 * (64 + 8)
