"""Tests that each patch of a conversion leaves the text as it is, in modules of all kinds."""

import random

import pytest
from amaranth import *
from amaranth.back import rtlil
from amaranth.lib import data, enum
from amaranth.lib.memory import Memory

from spica.hw.emit.amaranth_patches import PATCHES, patched_amaranth, unpacked_names
from spica.hw.emit.amaranth_patches.replacement import replaced

LEVELS = 3


class Kind(enum.Enum, shape=2):
    """Enumeration with a gap."""

    READ = 0
    WRITE = 2


PAIR = data.StructLayout({"kind": Kind, "words": data.ArrayLayout(signed(5), 3), "last": 1})


class Part:
    """Module of random logic that reads and drives signals of the modules around it."""

    def __init__(self, rng: random.Random, outer: list[Value], level: int):
        self.m = Module()
        self.rng = rng
        pair = Signal(PAIR, name=f"pair_{level}")
        wide = Signal(signed(7), name="wide")
        self.m.d.comb += pair.last.eq(rng.choice(outer).any())
        self.m.d.sync += wide.eq(Cat(rng.choice(outer)[:3], pair.words[1]))
        known = [*outer, Value.cast(pair), pair.words[2], pair.kind.as_value(), wide]
        for number in range(4):
            target = Signal(rng.randrange(1, 9), name=f"s{number}", init=1)
            domain = rng.choice([self.m.d.comb, self.m.d.sync])
            with self.m.If(rng.choice(known).any()):
                domain += target.eq(self.value(known))
            with self.m.Elif(pair.kind == Kind.WRITE):
                domain += target[: len(target) // 2].eq(self.value(known))
            known.append(target)
        self.read(known)
        if level < LEVELS:
            for name in ("left", "right"):
                part = Part(rng, known[-5:], level + 1)
                self.m.submodules[name] = part.m
                known.append(part.result)
        self.result = Signal(6, name="result")
        self.m.d.comb += self.result.eq(self.value(known))

    def read(self, known: list[Value]) -> None:
        """Add a memory that is written and read."""
        self.m.submodules.memory = memory = Memory(shape=4, depth=4, init=[3])
        port, write = memory.read_port(), memory.write_port()
        address = self.rng.choice(known)[:2]
        self.m.d.comb += [port.addr.eq(address), write.addr.eq(address), write.data.eq(port.data)]
        known.append(port.data)

    def value(self, known: list[Value]) -> Value:
        """Return an expression of one of the kinds of cells."""
        a, b, c = (self.rng.choice(known) for _ in range(3))
        return self.rng.choice([
            lambda: (a + b) ^ c,
            lambda: a - b.as_signed(),
            lambda: Mux(a.any(), b, c),
            lambda: Array([a, b, c])[c[:2]],
            lambda: a.bit_select(b[:2], 2),
            lambda: Cat(a, b)[1:] == c,
            lambda: ~a * C(5, 3),
            lambda: a.matches("1" + "-" * (len(a) - 1)),
        ])()


def text_of(seed: int, *without) -> str:
    """Return the RTLIL of a random design with every patch but some."""
    rng = random.Random(seed)
    inputs: list[Value] = [Signal(width, name=f"i{width}") for width in (1, 4, 8)]
    with patched_amaranth(*without):
        part = Part(rng, inputs, 0)
        return rtlil.convert(part.m, name="top", ports=[*inputs, part.result], emit_src=False)


@pytest.mark.parametrize("seed", range(4))
def test_no_patch_changes_a_text(seed):
    expected = text_of(seed, *PATCHES)
    assert text_of(seed, unpacked_names) == expected


@pytest.mark.parametrize("patch", [patch for patch in PATCHES if patch is not unpacked_names])
def test_each_patch_alone_changes_no_text(patch):
    others = [other for other in PATCHES if other is not patch]
    assert text_of(9, *others) == text_of(9, *PATCHES)


def test_replaced_attributes_are_restored():
    class Base:
        inherited = 1

    class Derived(Base):
        own = staticmethod(len)

    before = dict(vars(Derived))
    with replaced([(Derived, "own", str), (Derived, "inherited", 2)]):
        assert (Derived.own, Derived.inherited, Base.inherited) == (str, 2, 1)
    assert dict(vars(Derived)) == before
