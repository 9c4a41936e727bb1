"""Tests of `hw.lib.sram`: word memory against a list, masks, latency, contract."""

import gc
import random
import re

import pytest

from spica.hw.lib.sram import Sram
from spica.sim.engine.testbench import require_no_loop, simulate


@pytest.mark.parametrize(
    ("depth", "width", "granularity"), [(2, 1, None), (5, 8, None), (16, 32, 8), (64, 12, 4)]
)
def test_matches_a_list_of_words(depth, width, granularity):
    dut = require_no_loop(Sram(depth=depth, width=width, granularity=granularity))
    rng = random.Random(depth)
    piece = granularity or width
    words = [0] * depth

    async def bench(ctx):
        expected = None
        for _ in range(400):
            write_address, read_address = rng.randrange(depth), rng.randrange(depth)
            mask = rng.choice([0, (1 << width // piece) - 1, rng.getrandbits(width // piece)])
            value = rng.choice([0, (1 << width) - 1, rng.getrandbits(width)])
            read = rng.random() < 0.7 and not (mask and write_address == read_address)
            ctx.set(dut.write.mask, mask)
            ctx.set(dut.write.address, write_address)
            ctx.set(dut.write.data, value)
            ctx.set(dut.read.valid, read)
            ctx.set(dut.read.payload, read_address)
            if read:
                expected = words[read_address]
            await ctx.tick()
            assert expected is None or ctx.get(dut.data) == expected
            for n in range(width // piece):
                if mask >> n & 1:
                    field = ((1 << piece) - 1) << n * piece
                    words[write_address] = words[write_address] & ~field | value & field

    simulate(dut, bench)


def test_reading_what_is_written_is_reported():
    dut = Sram(depth=4, width=8)

    async def bench(ctx):
        ctx.set(dut.write.mask, 1)
        ctx.set(dut.read.valid, 1)
        await ctx.tick()
        await ctx.tick()

    with pytest.raises(AssertionError):
        simulate(dut, bench)


@pytest.mark.parametrize("read_address", [0, 3])
def test_one_port_reads_or_writes(read_address):
    dut = Sram(depth=4, width=8, ports="1rw")

    async def bench(ctx):
        ctx.set(dut.write.mask, 1)
        await ctx.tick()
        ctx.set(dut.write.mask, 0)
        ctx.set(dut.read.valid, 1)
        ctx.set(dut.read.payload, read_address)
        await ctx.tick()
        ctx.set(dut.write.mask, 1)
        await ctx.tick()
        await ctx.tick()

    with pytest.raises(AssertionError, match="a 1rw memory reads and writes"):
        simulate(dut, bench)


@pytest.mark.filterwarnings("ignore:.*created but never used")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"depth": 1, "width": 8}, "depth must be at least 2, not 1"),
        ({"depth": 4, "width": 8, "granularity": 3}, "granularity must divide the width 8, not 3"),
        ({"depth": 4, "width": 8, "ports": "2"}, "ports must be one of 1r1w, 1rw, not '2'"),
    ],
)
@pytest.mark.quick(1)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Sram(**parameters)
    gc.collect()  # now, while its warning is ignored
