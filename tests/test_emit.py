"""Emission: one module per kind, standard port names, the same bytes in every process."""

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from amaranth import *
from amaranth.back import rtlil
from amaranth.hdl import Fragment, _nir
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from spica.hw.axi import Axi4Signature
from spica.hw.emit import SharedBlock, describe, emit, module_name
from spica.hw.sram import Sram
from spica.sim.lint import lint


@dataclass(frozen=True, kw_only=True)
class ElementConfig:
    """Config of the example blocks."""

    width: int = 8
    deep: bool = False
    note: str = field(default="", repr=False)


class ScaleStep(SharedBlock):
    """A register and an adder."""

    def __init__(self, config):
        self.config = config
        super().__init__({"a": In(config.width), "sum": Out(config.width), "none": In(0)})

    def build(self, platform):
        m = Module()
        m.d.sync += self.sum.eq(self.a + 1)
        return m


class Pair(SharedBlock):
    """Two steps, the second in a domain of its own; a wire that needs no clock."""

    def __init__(self, config):
        self.config = config
        super().__init__({"i": In(config.width), "o": Out(config.width)})

    def build(self, platform):
        m = Module()
        m.submodules.first = first = ScaleStep(self.config)
        second = ScaleStep(self.config)
        m.submodules.second = DomainRenamer("late")(second)
        m.submodules.wire = wire = Wire(self.config.width)
        m.d.comb += [wire.i.eq(self.i), first.a.eq(wire.o), second.a.eq(first.sum)]
        m.d.comb += self.o.eq(second.sum)
        return m


class Wire(SharedBlock):
    """Combinational."""

    def __init__(self, config):
        self.config = config
        super().__init__({"i": In(config), "o": Out(config)})

    def build(self, platform):
        m = Module()
        m.d.comb += self.o.eq(~self.i)
        return m


class Top(wiring.Component):
    """Two pairs of one kind and one of another; an AXI master; a block moved to other domains."""

    def __init__(self, config=ElementConfig()):
        self.config = config
        layout = data.StructLayout({"low": config.width, "high": config.width})
        super().__init__({
            "m_axi0": Out(Axi4Signature(address_width=32, data_width=64, id_width=2)),
            "x": In(layout),
            "y": Out(layout).array(2),
            "nothing": In(range(1)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.near = near = Pair(self.config)
        moved = Pair(self.config)
        m.submodules.moved = DomainRenamer({"sync": "matrix", "late": "dma"})(moved)
        m.submodules.other = other = Pair(replace(self.config, deep=True))
        m.d.comb += [near.i.eq(self.x.low), moved.i.eq(self.x.high), other.i.eq(moved.o)]
        m.d.comb += [self.y[0].low.eq(near.o), self.y[0].high.eq(other.o)]
        return m


class Storage(wiring.Component):
    """A blank memory and a table."""

    i: In(6)
    o: Out(8)
    table: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = Sram(depth=64, width=8)
        m.submodules.rom = rom = memory.Memory(shape=8, depth=64, init=range(1, 65))
        port = rom.read_port()
        m.d.comb += [ram.read_address.eq(self.i), ram.read_enable.eq(1), self.o.eq(ram.read_data)]
        m.d.comb += [ram.write_address.eq(self.i), ram.write_mask.eq(self.i[0])]
        m.d.comb += [port.addr.eq(self.i), self.table.eq(port.data)]
        return m


@pytest.fixture(scope="module")
def emission():
    return emit(Top(), "top")


def test_each_kind_is_one_module(emission):
    names = re.findall(r"^module (\S+?)\(", emission.verilog, re.M)
    kinds = [re.sub(r"_[0-9a-f]{8}$", "", name) for name in names]
    assert sorted(kinds) == ["pair", "pair", "scale_step", "scale_step", "top", "wire"]
    counts = {
        (module.component, "deep=True" in module.config): module.instances
        for module in emission.modules
    }
    assert counts == {
        ("Pair", False): 2,
        ("Pair", True): 1,
        ("ScaleStep", False): 4,
        ("ScaleStep", True): 2,
        ("Wire", False): 3,
    }


def test_top_ports_have_the_names_of_the_field(emission):
    ports = {port.name: (port.direction, port.width) for port in emission.ports}
    assert ports["m_axi0_awaddr"] == ("output", 32)
    assert ports["m_axi0_rdata"] == ("input", 64)
    assert ports["x"] == ("input", 16)
    assert ports["y_1"] == ("output", 16)
    assert "nothing" not in ports
    assert list(ports)[:8] == [
        *("clk", "rst", "dma_clk", "dma_rst", "late_clk", "late_rst", "matrix_clk", "matrix_rst")
    ]
    assert emission.domains == ("sync", "dma", "late", "matrix")
    header = re.search(r"^module top\((.*?)\);", emission.verilog, re.M | re.S)
    assert header is not None
    assert set(re.findall(r"\w+", header[1])) == set(ports)


def test_domains_reach_through_nested_blocks(emission):
    top = emission.verilog[emission.verilog.index("module top(") :]
    moved = re.search(r" moved \((.*?)\);", top, re.S)
    assert moved is not None
    assert ".clk(matrix_clk)" in moved[1]
    assert ".late_clk(dma_clk)" in moved[1]
    wire = re.search(r"^module wire_\w+\((.*?)\);", emission.verilog, re.M | re.S)
    assert wire is not None
    assert "clk" not in wire[1]


def test_zero_width_members_vanish(emission):
    assert "none" not in emission.verilog
    assert "[-1:0]" not in emission.verilog


def test_lint_is_clean(emission):
    assert lint(emission) == []
    assert lint(emit(Storage(), "storage")) == []


def test_blank_memory_has_no_initial_lines_but_a_table_has():
    text = emit(Storage(), "storage").verilog
    assert len(re.findall(r"\[\d+\] = 8'h", text)) == 64
    assert "initial" in text


def test_registers_keep_their_reset():
    class Counter(wiring.Component):
        o: Out(4, init=3)

        def elaborate(self, platform):
            m = Module()
            m.d.sync += self.o.eq(self.o + 1)
            return m

    text = emit(Counter(), "counter").verilog
    assert re.search(r"reg \[3:0\] o = 4'h3;", text)
    assert re.search(r"if \(rst\).*?= 4'h3;", text, re.S)


def test_no_trace_of_the_machine(emission):
    assert "(* src" not in emission.verilog
    assert os.sep + "spica" not in emission.verilog
    assert emission.verilog.startswith("// Generated by Amaranth and Yosys")


def test_same_bytes_in_every_process(emission):
    program = (
        f"import runpy; names = runpy.run_path({__file__!r}, run_name={__name__!r}); "
        "print(names['emit'](names['Top'](), 'top').verilog, end='')"
    )
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout == emission.verilog


def test_unchecked_nets_are_the_same(emission, monkeypatch):
    monkeypatch.setattr("spica.hw.emit.unchecked_nets", nullcontext)
    assert emit(Top(), "top").verilog == emission.verilog
    with pytest.raises(AssertionError):  # the check is back
        _nir.Value([1.5])


def test_zeros_of_memories_are_left_out_early_or_late(monkeypatch):
    early = emit(Storage(), "storage").verilog
    assert f"connect \\DATA {64 * 8}'{'0' * 64 * 8}" in rtlil.convert(Storage())  # elsewhere kept
    monkeypatch.setattr("spica.hw.emit.blank_memories", nullcontext)
    assert emit(Storage(), "storage").verilog == early


def test_declared_domain_is_refused():
    class Declares(wiring.Component):
        o: Out(1)

        def elaborate(self, platform):
            m = Module()
            m.domains.matrix = ClockDomain()
            m.submodules.step = DomainRenamer("matrix")(ScaleStep(ElementConfig()))
            return m

    with pytest.raises(ValueError, match=r"must be left undeclared.*not declared as 'matrix' in"):
        emit(Declares(), "declares")


def name_of(block):
    Fragment.get(block, None)  # Amaranth warns of what is never elaborated
    return module_name(block)


def test_names_tell_class_and_every_field():
    name = name_of(ScaleStep(ElementConfig()))
    assert re.fullmatch(r"scale_step_[0-9a-f]{8}", name)
    assert name_of(Pair(ElementConfig())) != name
    for change in ({"width": 9}, {"deep": True}, {"note": "hidden from repr"}):
        assert name_of(ScaleStep(replace(ElementConfig(), **change))) != name


def test_shared_block_can_be_the_top():
    emission = emit(ScaleStep(ElementConfig()), "step")
    assert "module step(" in emission.verilog
    assert emission.modules == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1, None, "a"), "(1, None, 'a')"),
        ({"b": 1, "a": 2.5}, "{'b': 1, 'a': 2.5}"),
        (frozenset({3, 1, 2}), "{1, 2, 3}"),
        (ElementConfig(), "ElementConfig(width=8, deep=False, note='')"),
    ],
)
def test_configs_are_described_alike_everywhere(value: Any, text: str):
    assert describe(value) == text


def test_config_without_a_telling_repr_is_refused():
    with pytest.raises(TypeError, match="config must have a repr that tells all"):
        describe(object())


def test_repeated_port_name_is_refused():
    class Clash(wiring.Component):
        def __init__(self):
            inner = wiring.Signature({"b": In(1)})
            super().__init__({"a_b": In(1), "a": Out(inner)})

        def elaborate(self, platform):
            return Module()

    with pytest.raises(ValueError, match="port names of clash must be distinct, not 'a_b' twice"):
        emit(Clash(), "clash")


class Rotation(wiring.Component):
    """Each stage uses the one before three times, as expressions without a name."""

    i: In(16)
    amount: In(4)
    o: Out(16)

    def elaborate(self, platform):
        m = Module()
        value = self.i
        for stage in range(4):
            value = Mux(self.amount[stage], value.rotate_left(1 << stage), value)
        m.d.comb += self.o.eq(value)
        return m


def test_shared_expression_is_emitted_once():
    assert emit(Rotation(), "rotation").verilog.count(" ? ") == 4
