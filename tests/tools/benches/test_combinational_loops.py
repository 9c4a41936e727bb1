"""Tests that combinational loops are found before a bench hangs, in each distinct design."""

import pytest
from amaranth import *
from amaranth.hdl import CombinationalCycle
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.sim.engine import testbench as bench
from spica.sim.engine.testbench import require_no_loop


class Off:
    """A false value without a literal of its own."""

    def __bool__(self):
        return False


class Gates(wiring.Component):
    """Passes a bit on, or feeds its own output back."""

    i: In(1)
    o: Out(1)

    def __init__(self, has_loop):
        self.has_loop = has_loop
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(self.i ^ self.o if self.has_loop else self.i)
        return m


@pytest.fixture
def conversions(monkeypatch):
    """Return a list that grows by each converted design."""
    done, convert = [], bench.rtlil.convert
    monkeypatch.setattr(bench, "converted", set())
    monkeypatch.setattr(
        bench.rtlil, "convert", lambda *arguments, **rest: done.append(convert(*arguments, **rest))
    )
    return done


def test_a_loop_is_found_beside_an_equal_design_without(conversions):
    require_no_loop(Gates, False)
    with pytest.raises(CombinationalCycle):
        require_no_loop(Gates, True)
    design = Gates(True)
    with pytest.raises(CombinationalCycle):
        require_no_loop(design)
    with pytest.raises(CombinationalCycle):  # a failed design fails again
        require_no_loop(Gates, True)


def test_equal_designs_are_converted_once(conversions):
    for _ in range(3):
        require_no_loop(Gates, False)
    assert len(conversions) == 1


def test_a_design_of_what_has_no_text_is_converted_each_time(conversions):
    for _ in range(2):
        require_no_loop(Gates, Off())
    assert len(conversions) == 2
