"""Tests of the conversion of FP32 to FP16 or BF16: golden model, extremes, cost."""

import numpy as np
import pytest
from amaranth import *

from spica.hw.arith.float.narrow import Narrow, NarrowConfig
from spica.hw.arith.float.rounding import Rounding
from spica.hw.config.formats import BF16, FP16, FP32
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float.floats import corners
from spica.sim.golden.arith.float.narrow import narrow, narrowing_operands, widen
from spica.synth.measure import measure

CODES = np.arange(1 << 16, dtype=np.uint32)


def expected(i, is_bf16, rounding):
    """Return results and flags of the golden model."""
    pairs = (narrow(i, form, rounding) for form in (FP16, BF16))
    return (np.where(is_bf16, bf16, fp16) for fp16, bf16 in zip(*pairs, strict=True))


def check(i, is_bf16, rounding):
    """Compare the block with the golden model."""
    dut = Narrow(NarrowConfig())
    require_no_loop(dut)
    inputs = Cat(dut.i, dut.is_bf16, dut.rounding)
    outputs = Cat(dut.o, Value.cast(dut.flags))
    columns = np.broadcast_arrays(i, is_bf16, rounding)

    async def bench(ctx):
        vectors = zip(*(x.tolist() for x in (*columns, *expected(*columns))), strict=True)
        for code, is_other, mode, value, flags in vectors:
            ctx.set(inputs, code | is_other << 32 | mode << 33)
            assert ctx.get(outputs) == value | flags << 16, (hex(code), is_other, mode)

    simulate(dut, bench, domains=())


def test_random_operands():
    rng, count = np.random.default_rng(1), 4000
    modes = rng.integers(0, len(Rounding), count)
    check(narrowing_operands(rng, count), rng.integers(0, 2, count), modes)


@pytest.mark.parametrize("mode", Rounding)
def test_extremes(mode):
    """Corners of both formats and of FP32, and the numbers beside them."""
    ends = [widen(corners(form), form)[0] for form in (FP16, BF16)]
    around = np.concatenate([*ends, corners(FP32)]).astype(np.int64)
    i = np.concatenate([around - 1, around, around + 1]) & 0xFFFF_FFFF
    for is_bf16 in (0, 1):
        check(i, is_bf16, int(mode))


def test_cost():
    measured = measure(Narrow(NarrowConfig()), "narrow")
    assert measured.cells <= 86
    assert measured.nand2 <= 450
    assert measured.depth <= 36
