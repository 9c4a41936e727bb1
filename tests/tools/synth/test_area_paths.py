"""Tests of the deepest paths by signal names, through blocks that are never flattened."""

import pytest
from amaranth import *
from amaranth.lib.wiring import In, Out

from spica.hw.emit.shared_block import SharedBlock
from spica.synth.design import design_of
from spica.synth.measure import measure
from spica.synth.timing.paths import deepest_paths


class Source(SharedBlock):
    """A register followed by logic."""

    def __init__(self, config):
        self.config = config
        super().__init__({"i": In(8), "o": Out(8)})

    def build(self, platform):
        m = Module()
        stored = Signal(8)
        raised = Signal(8)
        m.d.sync += stored.eq(self.i)
        m.d.comb += [raised.eq(stored + 3), self.o.eq(raised)]
        return m


class Through(SharedBlock):
    """Combinational logic with one shallow input."""

    def __init__(self, config):
        self.config = config
        super().__init__({"i": In(8), "late": In(1), "o": Out(8)})

    def build(self, platform):
        m = Module()
        product = Signal(8)
        m.d.comb += [product.eq(self.i * self.config), self.o.eq(product ^ self.late)]
        return m


class Sink(SharedBlock):
    """Logic in front of a register, and a shallow internal path."""

    def __init__(self, config):
        self.config = config
        super().__init__({"i": In(8), "o": Out(8)})

    def build(self, platform):
        m = Module()
        total = Signal(8)
        m.d.comb += self.o.eq(total)
        m.d.sync += total.eq(self.i + total)
        return m


class Row(SharedBlock):
    """All three in series, with the middle twice."""

    def __init__(self, config):
        self.config = config
        super().__init__({"i": In(8), "o": Out(8)})

    def build(self, platform):
        m = Module()
        m.submodules.source = source = Source(0)
        m.submodules.first = first = Through(3)
        m.submodules.second = second = Through(5)
        m.submodules.sink = sink = Sink(0)
        m.d.comb += [
            source.i.eq(self.i),
            first.i.eq(source.o),
            second.i.eq(first.o),
            second.late.eq(sink.o[0]),
            sink.i.eq(second.o),
            self.o.eq(sink.o),
        ]
        return m


@pytest.fixture(scope="module")
def paths():
    return deepest_paths(design_of(Row(0), "row"), 10)


def test_a_path_through_four_blocks(paths):
    deepest = paths[0]
    assert deepest.block.startswith("row_")
    assert deepest.depth == measure(Row(0), "row").depth
    names = [name for name, _ in deepest.signals]
    for earlier, later in (
        ("source.stored", "source.raised"),
        ("source.raised", "first.product"),
        ("first.product", "second.product"),
        ("second.product", "sink.i"),
    ):
        assert names.index(earlier) < names.index(later)
    gates = [gates for _, gates in deepest.signals]
    assert gates == sorted(gates)
    assert gates[0] == 0
    assert gates[-1] < deepest.depth  # the sum in the sink has no name


def test_a_path_counts_where_it_is_whole(paths):
    depths = {path.block.rpartition("_")[0]: path for path in paths}
    assert set(depths) == {"row", "sink"}  # the others have no path from register to register
    assert depths["sink"].depth == measure(Sink(0), "sink").depth
    assert depths["sink"].signals == (("total", 0),)
    assert paths == sorted(paths, key=lambda path: -path.depth)


@pytest.mark.full
def test_only_so_many(paths):
    assert deepest_paths(design_of(Row(0), "row"), 1) == paths[:1]
