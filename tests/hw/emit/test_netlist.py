"""Tests of the connections of a module: combinational paths, and the split of a top."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.emit.emission import REST, TOP, EmittedPort
from spica.hw.emit.emitter import emit
from spica.hw.emit.netlist import NetPiece
from spica.hw.emit.shared_block import SharedBlock
from spica.hw.emit.sram_macros import MacroLimits


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


class Inner(wiring.Component):
    """Ordinary component with a block, which is of no clock domain of its own."""

    x: In(8)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        # An instance of the same name as one of the top.
        m.submodules.left = left = Mix(8)
        m.d.comb += [left.a.eq(self.x), self.o.eq(left.low)]
        return DomainRenamer("near")(m)


class Top(wiring.Component):
    """Two blocks in two clock domains, connected in whole, in slices and over logic."""

    def __init__(self):
        super().__init__({
            "x": In(8),
            "whole": Out(8),
            "sliced": Out(8),
            "logic": Out(8),
            "nested": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        left, right = Mix(8), Nested(8)
        m.submodules.left = DomainRenamer("near")(left)
        m.submodules.inner = inner = Inner()
        m.submodules.right = DomainRenamer("other")(right)
        m.d.comb += [
            left.a.eq(self.x),
            left.b.eq(Cat(self.x[4:8], C(5, 4))),
            right.a.eq(Cat(left.stored[6:8], left.mixed[0:6])),
            right.b.eq(left.stored + left.mixed),
            self.whole.eq(left.stored),
            self.sliced.eq(Cat(right.o[4:8], left.stored[0:4])),
            self.logic.eq(right.o ^ self.x),
            inner.x.eq(left.stored),
            self.nested.eq(inner.o),
        ]
        return m


EMISSION = emit(Top(), "top", simulated=True)
SPLIT = EMISSION.split
assert SPLIT is not None


def paths_of(component):
    """Return the combinational paths of the only block of a class."""
    (name,) = [one.name for one in EMISSION.modules if one.component == component]
    return {output: set(inputs) for output, inputs in SPLIT.modules[name].paths.items()}


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


def test_inputs_of_blocks_have_their_sources():
    left, right = SPLIT.blocks
    assert (left.name, left.clocks) == ("left", {"clk": "near"})
    assert (right.name, right.clocks) == ("right", {"clk": "other"})
    assert left.inputs == {
        "rst": (NetPiece(1, TOP, "near_rst"),),
        "a": (NetPiece(8, TOP, "x"),),
        "b": (NetPiece(8, REST, "left$b"),),  # a part of it is constant
        "choose": (NetPiece(1, REST, "left$choose"),),
    }
    assert right.inputs == {
        "rst": (NetPiece(1, TOP, "other_rst"),),
        "a": (NetPiece(2, "left", "stored", 6), NetPiece(6, "left", "mixed", 0)),
        "b": (NetPiece(8, REST, "right$b"),),
    }


def test_outputs_of_the_top_have_their_sources():
    assert SPLIT.outputs == {
        "whole": (NetPiece(8, "left", "stored"),),
        "sliced": (NetPiece(4, "right", "o", 4), NetPiece(4, "left", "stored")),
        "logic": (NetPiece(8, REST, "logic"),),
        "nested": (NetPiece(1, REST, "nested"),),
    }


def test_the_rest_has_what_its_outputs_need():
    assert SPLIT.rest.ports == (
        EmittedPort("near_clk", "input", 1),
        EmittedPort("near_rst", "input", 1),
        EmittedPort("x", "input", 8),
        EmittedPort("left$stored", "input", 8),
        EmittedPort("left$mixed", "input", 8),
        EmittedPort("right$o", "input", 8),
        EmittedPort("left$b", "output", 8),
        EmittedPort("left$choose", "output", 1),
        EmittedPort("right$b", "output", 8),
        EmittedPort("logic", "output", 8),
        EmittedPort("nested", "output", 1),
    )
    assert SPLIT.sources["left$stored"] == NetPiece(8, "left", "stored")
    assert SPLIT.sources["x"] == NetPiece(8, TOP, "x")


def test_paths_of_the_rest_lead_through_its_blocks():
    assert SPLIT.rest.paths == {
        "left$b": {"x"},
        "left$choose": set(),
        "right$b": {"left$stored", "left$mixed"},
        "logic": {"right$o", "x"},
        "nested": {"left$stored"},
    }
    (mix,) = [one.name for one in EMISSION.modules if one.component == "Mix"]
    assert SPLIT.rest.children == (mix,)


def test_a_split_is_for_simulators_without_macros():
    assert emit(Top(), "top").split is None
    assert emit(Top(), "top", simulated=True, limits=MacroLimits()).split is None
