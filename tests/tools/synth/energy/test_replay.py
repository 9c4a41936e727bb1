"""Replay of a run of the RTL on its mapped netlist: windows that count, and those that do not."""

import random

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from spica.base.errors import UserError
from spica.synth.design import design_of
from spica.synth.energy.mapped_netlist import map_block
from spica.synth.energy.power_library import library_of
from spica.synth.energy.program import compile_netlist
from spica.synth.energy.recorded_signals import PART
from spica.synth.energy.replay import replay
from spica.synth.liberty import read_library
from support.synth.small_library import SMALL_LIBRARY

CYCLES = 600
WINDOWS = [range(10, 74), range(100, 300), range(420, 500)]


class Averager(wiring.Component):
    """Sum of the last inputs, from a memory, with a counter and a flag."""

    i: In(6)
    enable: In(1)
    o: Out(10)
    is_large: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.past = past = Memory(shape=6, depth=8, init=[])
        read, write = past.read_port(), past.write_port()
        place = Signal(3)
        total = Signal(10)
        is_full = Signal()
        with m.If(self.enable):
            m.d.sync += place.eq(place + 1)
            m.d.sync += total.eq(total + self.i - Mux(is_full, read.data, 0))
            with m.If(place == 7):
                m.d.sync += is_full.eq(1)
        (self.unnamed,) = [Signal() for _ in range(1)]  # Amaranth calls it `$signal`
        m.d.sync += self.unnamed.eq(total[0] & self.enable)
        m.d.comb += [
            read.addr.eq(Mux(self.enable, place + 1, place)),
            read.en.eq(1),
            write.addr.eq(place),
            write.data.eq(self.i),
            write.en.eq(self.enable),
            self.o.eq(total),
            self.is_large.eq(total[7:].any() ^ self.unnamed),
        ]
        self.registers = {"place": place, "total": total, "is_full": is_full}
        self.read_data = read.data
        return m


@pytest.fixture(scope="module")
def recorded():
    """Return the values of ports, registers and the memory's output in each cycle."""
    averager = Averager()
    simulator = Simulator(averager)
    signals = {"rst": [0] * CYCLES}
    shapes = {"rst": 1}

    async def testbench(ctx):
        generator = random.Random(1)
        names = {
            "i": averager.i,
            "enable": averager.enable,
            "o": averager.o,
            "is_large": averager.is_large,
            "past.RD_DATA": averager.read_data,
            "$signal": averager.unnamed,
            **averager.registers,
        }
        for _ in range(CYCLES):
            ctx.set(averager.i, generator.getrandbits(6))
            ctx.set(averager.enable, generator.random() < 0.7)
            for name, signal in names.items():
                shapes[name] = len(signal)
                signals.setdefault(name, []).append(int(ctx.get(signal)))
            await ctx.tick()

    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    return {
        name: np.array([[value >> k & 1 for value in values] for k in range(shapes[name])], bool)
        for name, values in signals.items()
    }


def mapped(component, folder):
    """Return the netlist of a component, mapped to the small library."""
    path = folder / "small.lib"
    path.write_text(SMALL_LIBRARY)
    name = type(component).__name__.lower()
    block = design_of(component, name).blocks[name]
    return map_block(read_library(path), library_of(SMALL_LIBRARY), block)


@pytest.fixture(scope="module")
def netlist(tmp_path_factory):
    return mapped(Averager(), tmp_path_factory.mktemp("library"))


def test_windows_of_the_run_count(netlist, recorded):
    program = compile_netlist(netlist)
    result = replay(netlist, program, recorded, WINDOWS)
    assert result.counts == (True, True, True)
    assert result.differing == ()
    assert result.cycles == result.clocked_cycles == 64 + 200 + 80
    # Toggles of ports and registers are those of the recorded values.
    for name in ("i", "o", "place", "total", "is_full", "is_large", "$signal"):
        bits = recorded[name]
        for row, net in zip(bits, netlist.names[name], strict=True):
            toggles = sum(int((row[w] != row[np.array(w) - 1]).sum()) for w in WINDOWS)
            assert result.toggles[net] == toggles, name


@pytest.mark.parametrize(
    ("name", "cycle", "wrong"),
    [
        ("o", 73, 0),
        ("total", 9, 0),
        ("is_full", 299, 1),
        ("place", 450, 2),
        ("past.RD_DATA", None, 1),
    ],
)
@pytest.mark.quick(2)
def test_a_window_with_another_value_does_not_count(netlist, recorded, name, cycle, wrong):
    program = compile_netlist(netlist)
    changed = {**recorded, name: recorded[name].copy()}
    if cycle is None:  # the first of the window in which the memory's output matters
        cycle = 100 + int(recorded["enable"][0, 100:].argmax())
    changed[name][0, cycle] ^= True
    result = replay(netlist, program, changed, WINDOWS)
    assert [k for k, counts in enumerate(result.counts) if not counts] == [wrong]
    right = [window for k, window in enumerate(WINDOWS) if k != wrong]
    alone = replay(netlist, program, recorded, right)
    assert result.cycles == sum(map(len, right))
    assert result.toggles.tolist() == alone.toggles.tolist()
    assert {differing.split("[")[0] for differing in result.differing} <= set(recorded)


def test_sums_of_batches_are_parts_of_the_whole(netlist, recorded):
    program = compile_netlist(netlist)
    weights = np.random.default_rng(3).random(program.nets)
    result = replay(netlist, program, recorded, WINDOWS, weights=weights)
    assert result.weighted.sum() == pytest.approx(float(weights @ result.toggles))
    for window, sum_of_batch, cycles in zip(
        WINDOWS, result.weighted, result.batch_sums(np.ones(result.cycles)), strict=True
    ):
        alone = replay(netlist, program, recorded, [window])
        assert sum_of_batch == pytest.approx(float(weights @ alone.toggles))
        assert cycles == len(window)
    short = [range(first, first + 8) for first in range(10, 400, 20)]
    result = replay(netlist, program, recorded, short, weights=weights)
    assert len(result.weighted) == 3  # of at most seven windows
    assert result.weighted.sum() == pytest.approx(float(weights @ result.toggles))
    assert result.batch_sums(result.clocked).tolist() == [48.0, 56.0, 56.0]


def test_names_of_one_net_with_several_values_are_said(netlist, recorded):
    changed = {**recorded, "o": recorded["o"].copy()}
    changed["o"][3, 80] ^= True  # between two windows
    program = compile_netlist(netlist)
    assert replay(netlist, program, changed, WINDOWS).counts == (True, True, True)
    changed["o"][3, 73] ^= True
    result = replay(netlist, program, changed, WINDOWS)
    assert result.counts == (False, True, True)
    (differing,) = (text for text in result.differing if text.endswith(", which are one net"))
    assert set(differing.split(", ")[0].split(" and ")) == {"o[3]", "total[3]"}


class Merged(wiring.Component):
    """Two registers that synthesis merges; they are written with the same value, if at all."""

    i: In(2)
    enable: In(1)
    o: Out(2)

    def elaborate(self, platform):
        m = Module()
        first = Signal(2, reset_less=True)
        second = Signal(2, reset_less=True)
        written = Signal()
        with m.If(self.enable):
            m.d.sync += [first.eq(self.i), second.eq(self.i), written.eq(1)]
        m.d.comb += self.o.eq(Mux(written, first | second, 0))
        return m


def test_registers_that_are_merged_may_differ_until_they_are_written(tmp_path):
    netlist = mapped(Merged(), tmp_path)
    assert netlist.names["first"] == netlist.names["second"]
    rng, cycles = np.random.default_rng(1), 100
    i, enable = rng.integers(0, 4, cycles), np.arange(cycles) >= 60
    stored, written = np.full(cycles, 1), np.zeros(cycles, int)
    stored[61:], written[61:] = i[60:-1], 1
    recorded = {
        "rst": np.zeros((1, cycles), bool),
        "i": np.array([i & 1, i >> 1], bool),
        "enable": enable[None],
        "o": np.array([stored * written & 1, stored * written >> 1], bool),
        "first": np.array([stored & 1, stored >> 1], bool),
        "second": np.array([stored & 1, np.where(written, stored >> 1, 1)], bool),
        "written": written[None] == 1,
    }
    windows = [range(10, 40), range(50, 90)]
    result = replay(netlist, compile_netlist(netlist), recorded, windows)
    assert result.counts == (True, True)
    # A value that matters does not count.
    recorded["first"][0, 80] ^= True
    assert replay(netlist, compile_netlist(netlist), recorded, windows).counts == (True, False)


class Enabled(wiring.Component):
    """Register whose next value matters only while it is enabled."""

    i: In(2)
    enable: In(1)
    o: Out(2)

    def elaborate(self, platform):
        m = Module()
        enabled = Signal(2)
        with m.If(self.enable):
            m.d.comb += enabled.eq(self.i)
            m.d.sync += self.o.eq(enabled)
        return m


def test_a_value_that_does_not_matter_may_differ(tmp_path):
    netlist = mapped(Enabled(), tmp_path)
    assert netlist.names["enabled"] == netlist.names["i"]
    rng, cycles = np.random.default_rng(1), 100
    i, enable = rng.integers(0, 4, cycles), rng.integers(0, 2, cycles)
    o = np.zeros(cycles, int)
    for k in range(1, cycles):
        o[k] = i[k - 1] if enable[k - 1] else o[k - 1]
    enabled = i * enable
    recorded = {
        name: np.array([value & 1, value >> 1], bool)
        for name, value in {"enabled": enabled, "i": i, "o": o}.items()
    } | {"rst": np.zeros((1, cycles), bool), "enable": enable[None] == 1}
    windows = [range(10, 40), range(50, 90)]
    assert (enabled != i)[10:40].any()
    assert replay(netlist, compile_netlist(netlist), recorded, windows).counts == (True, True)


def without(recorded, name, bit):
    """Return recorded signals that lack a bit of one, on which nothing depends."""
    rest = {key: bits for key, bits in recorded.items() if key != name}
    bits = recorded[name]
    pieces = {f"{name}{PART}0": bits[:bit], f"{name}{PART}{bit + 1}": bits[bit + 1 :]}
    return {**rest, **pieces, f"{name}{PART}{bit}{PART}1": np.zeros((0, CYCLES), bool)}


@pytest.mark.parametrize("name", ["o", "total"])
def test_a_bit_that_is_left_out_is_read_by_its_other_name(netlist, recorded, name):
    # Both names are of the same nets.
    assert netlist.names["o"] == netlist.names["total"]
    program = compile_netlist(netlist)
    result = replay(netlist, program, without(recorded, name, 4), WINDOWS)
    whole = replay(netlist, program, recorded, WINDOWS)
    assert result.counts == (True, True, True)
    assert result.toggles.tolist() == whole.toggles.tolist()


def test_bits_that_are_left_out_are_0_and_not_compared(netlist, recorded):
    program = compile_netlist(netlist)
    # An output without a record is not compared.
    partial = {name: bits for name, bits in recorded.items() if name != "is_large"}
    partial[f"is_large{PART}0{PART}1"] = np.zeros((0, CYCLES), bool)
    assert replay(netlist, program, partial, WINDOWS).counts == (True, True, True)
    # An input without one is 0: then the sum is another one.
    result = replay(netlist, program, without(recorded, "i", 5), WINDOWS)
    assert result.counts == (False, False, False)


def test_withheld_clocks(netlist, recorded):
    program = compile_netlist(netlist)
    clocked = recorded["enable"][0].copy()  # otherwise no register changes
    result = replay(netlist, program, recorded, WINDOWS, clocked)
    assert result.counts == (True, True, True)
    edges = sum(int(clocked[np.array(window) - 1].sum()) for window in WINDOWS)
    assert result.clocked_cycles == edges < result.cycles


def test_recordings_that_are_refused(netlist, recorded):
    program = compile_netlist(netlist)
    absent = {name: bits for name, bits in recorded.items() if name != "place"}
    with pytest.raises(UserError, match=r"the recorded run must have place\[0\] of averager"):
        replay(netlist, program, absent, WINDOWS)
    for window in (range(0, 5), range(5, 5), range(5, 601), range(5, 9, 2)):
        with pytest.raises(ValueError, match="windows must be ranges of 1 to 600"):
            replay(netlist, program, recorded, [window])
    with pytest.raises(ValueError, match="equally many cycles"):
        replay(netlist, program, {**recorded, "i": recorded["i"][:, 1:]}, WINDOWS)
