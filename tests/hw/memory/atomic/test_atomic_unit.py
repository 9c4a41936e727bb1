"""Tests of `hw.memory.atomic.atomic_unit`: every operation and size against the golden model."""

import random
from itertools import product

import pytest

from spica.hw.isa.operations import AtomicOperation
from spica.hw.memory.atomic.atomic_unit import AtomicUnit
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.atomic.atomic_unit import atomic_word
from spica.synth.measure import measure

#: The masks of a byte, of a half and of a word.
MASKS = (0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100, 0b1111)
#: Ends of the ranges of bytes, halves and words.
CORNERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)
#: Operations whose result depends on the values in more than single bits.
DIFFICULT = ("ADD", "MIN", "MAX", "MINU", "MAXU", "CAS")


def cases(rng, operation):
    """Yield mask, old value, operand and expected value, each at the place of the mask."""
    for mask in MASKS:
        width = 8 * mask.bit_count()
        place = 8 * ((mask & -mask).bit_length() - 1)
        accessed = ((1 << width) - 1) << place
        corners = product(CORNERS, repeat=2) if operation.name in DIFFICULT else ()
        pairs = [*corners, *((rng.getrandbits(32), rng.getrandbits(32)) for _ in range(40))]
        for old, operand in pairs:
            near = old ^ 1 << rng.randrange(width)
            values = (old, operand, rng.choice([old, near, rng.getrandbits(32)]))
            # Other bytes have no effect.
            yield mask, *(value << place & accessed | rng.getrandbits(32) & ~accessed
                          for value in values)  # fmt: skip


@pytest.mark.parametrize("operation", AtomicOperation, ids=lambda operation: operation.name)
def test_operations_are_those_of_the_model(operation):
    dut = require_no_loop(AtomicUnit())
    outcomes = []

    async def bench(ctx):
        ctx.set(dut.operation, operation)
        for mask, old, operand, expected in cases(random.Random(operation), operation):
            ctx.set(dut.mask, mask)
            ctx.set(dut.old, old)
            ctx.set(dut.operand, operand)
            ctx.set(dut.expected, expected)
            accessed = sum(0xFF << 8 * k for k in range(4) if mask >> k & 1)
            written = ctx.get(dut.word) & accessed if ctx.get(dut.writes) else None
            right = atomic_word(operation, mask, old, operand, expected)
            assert written == right, (mask, hex(old), hex(operand), hex(expected))
            outcomes.append(right is not None)

    simulate(dut, bench, domains=())
    assert len(outcomes) >= 40 * len(MASKS)
    if operation is AtomicOperation.CAS:
        assert 0.2 < sum(outcomes) / len(outcomes) < 0.8


@pytest.mark.parametrize(
    ("name", "mask", "old", "operand", "new"),
    [
        ("ADD", 0b0100, 0x11FF_2233, 0x0002_0000, 0x0001_0000),  # no carry out of the byte
        ("ADD", 0b1000, 0x7FFF_FFFF, 0x01FF_FFFF, 0x8000_0000),  # nor into it
        ("MIN", 0b0011, 0x0000_8000, 0x0000_7FFF, 0x0000_8000),
        ("MINU", 0b0011, 0x0000_8000, 0x0000_7FFF, 0x0000_7FFF),
        ("MAX", 0b1111, 0x8000_0000, 0x0000_0000, 0x0000_0000),
        ("MAXU", 0b1111, 0x8000_0000, 0x0000_0000, 0x8000_0000),
        ("CAS", 0b0010, 0x0000_AB00, 0x0000_CD00, None),  # 0 is expected
        ("LR", 0b1111, 1, 2, None),
    ],
)
def test_by_hand(name, mask, old, operand, new):
    """Values computed by hand, in case the golden model and the RTL share an error."""
    dut = AtomicUnit()

    async def bench(ctx):
        ctx.set(dut.operation, AtomicOperation[name])
        ctx.set(dut.mask, mask)
        ctx.set(dut.old, old)
        ctx.set(dut.operand, operand)
        accessed = sum(0xFF << 8 * k for k in range(4) if mask >> k & 1)
        assert (ctx.get(dut.word) & accessed if ctx.get(dut.writes) else None) == new

    simulate(dut, bench, domains=())


def test_cells_and_depth():
    measured = measure(AtomicUnit(), "atomic_unit")
    assert measured.cells <= 65
    assert measured.nand2 <= 1800
    assert measured.depth <= 25
