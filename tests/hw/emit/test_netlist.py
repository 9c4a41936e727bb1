"""Tests of the connections of a converted module: combinational paths, sources of inputs."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.emit.emitter import emit
from spica.hw.emit.netlist import NetPiece
from spica.hw.emit.shared_block import SharedBlock


class Mix(SharedBlock):
    """An output of each kind: from a register, of one input, of a select and a value, constant."""

    def __init__(self, config):
        self.config = config
        super().__init__({
            "a": In(config),
            "b": In(config),
            "choose": In(1),
            "stored": Out(config),
            "low": Out(1),
            "mixed": Out(config),
            "one": Out(1),
        })

    def build(self, platform):
        m = Module()
        m.d.sync += self.stored.eq(self.a ^ self.b)
        m.d.comb += [self.low.eq(Cat(self.a[0], self.b)[0]), self.one.eq(1)]
        with m.If(self.choose):
            m.d.comb += self.mixed.eq(self.stored)
        with m.Else():
            m.d.comb += self.mixed.eq(self.b)
        return m


class Nested(SharedBlock):
    """Two `Mix` in a chain."""

    def __init__(self, config):
        self.config = config
        super().__init__({"a": In(config), "b": In(config), "o": Out(config), "low": Out(1)})

    def build(self, platform):
        m = Module()
        m.submodules.first = first = Mix(self.config)
        m.submodules.second = second = Mix(self.config)
        m.d.comb += [
            first.a.eq(self.a),
            first.b.eq(self.b),
            second.a.eq(first.stored),
            second.b.eq(first.mixed),
            second.choose.eq(self.a[1]),
            self.o.eq(second.mixed),
            self.low.eq(second.low),
        ]
        return m


class Top(wiring.Component):
    """Two blocks in two clock domains, connected in whole, in slices and over logic."""

    def __init__(self):
        super().__init__({"x": In(8), "whole": Out(8), "sliced": Out(8), "logic": Out(8)})

    def elaborate(self, platform):
        m = Module()
        left, right = Mix(8), Nested(8)
        m.submodules.left = left
        m.submodules.right = DomainRenamer("other")(right)
        m.d.comb += [
            left.a.eq(self.x),
            left.b.eq(Cat(self.x[4:8], C(5, 4))),
            right.a.eq(Cat(left.stored[6:8], left.mixed[0:6])),
            right.b.eq(left.stored + left.mixed),
            self.whole.eq(left.stored),
            self.sliced.eq(Cat(right.o[4:8], left.stored[0:4])),
            self.logic.eq(right.o ^ self.x),
        ]
        return m


EMISSION = emit(Top(), "top")
INSTANCES = {one.name: one for one in EMISSION.instances}


def paths_of(component):
    """Return the combinational paths of the only block of a class."""
    (name,) = [one.name for one in EMISSION.modules if one.component == component]
    return {output: set(inputs) for output, inputs in EMISSION.paths[name].items()}


def test_paths_of_a_block_are_exact():
    assert paths_of("Mix") == {
        "stored": set(),
        "low": {"a"},
        "mixed": {"b", "choose"},
        "one": set(),
    }


def test_paths_lead_through_blocks_below():
    # `first.mixed` depends on `b` and on an unconnected select; `second.low` on a register.
    assert paths_of("Nested") == {"o": {"a", "b"}, "low": set()}


def test_inputs_have_their_sources():
    left, right = INSTANCES["left"].inputs, INSTANCES["right"].inputs
    assert left["a"] == (NetPiece(8, "", "x", 0),)
    assert left["b"] == (NetPiece(4, "", "x", 4), NetPiece(4, None))
    assert right["a"] == (NetPiece(2, "left", "stored", 6), NetPiece(6, "left", "mixed", 0))
    logic = frozenset([("left", "stored"), ("left", "mixed")])
    assert right["b"] == (NetPiece(8, None, sources=logic),)
    assert left["clk"] == (NetPiece(1, "", "clk", 0),)
    assert right["clk"] == (NetPiece(1, "", "other_clk", 0),)


def test_outputs_of_the_top_have_their_sources():
    outputs = INSTANCES[""].inputs
    assert outputs["whole"] == (NetPiece(8, "left", "stored", 0),)
    assert outputs["sliced"] == (NetPiece(4, "right", "o", 4), NetPiece(4, "left", "stored", 0))
    (piece,) = outputs["logic"]
    assert piece.sources == {("right", "o"), ("", "x")}
