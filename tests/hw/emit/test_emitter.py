"""Tests of emission: one module per kind, standard port names, reproducible text."""

import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from amaranth import *
from amaranth.hdl import Fragment, _nir
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from spica.hw.config.parts import OPTIONAL
from spica.hw.emit import amaranth_patches
from spica.hw.emit.emitter import emit
from spica.hw.emit.shared_block import SharedBlock, describe, module_name
from spica.hw.lib.axi import Axi4Signature
from spica.hw.lib.sram import Sram
from support.verilog.lint import lint


@dataclass(frozen=True, kw_only=True)
class ElementConfig:
    """Config of the example blocks."""

    width: int = 8
    deep: bool = False
    remark: str = field(default="", repr=False)


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
    """Two steps, the second in a separate domain; a wire without a clock."""

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
    """An uninitialised memory and a table."""

    i: In(6)
    o: Out(8)
    table: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = Sram(depth=64, width=8)
        m.submodules.rom = rom = memory.Memory(shape=8, depth=64, init=range(1, 65))
        port = rom.read_port()
        m.d.comb += [ram.read.payload.eq(self.i), ram.read.valid.eq(1), self.o.eq(ram.data)]
        m.d.comb += [ram.write.address.eq(self.i), ram.write.mask.eq(self.i[0])]
        m.d.comb += [port.addr.eq(self.i), self.table.eq(port.data)]
        return m


@pytest.fixture(scope="module")
def emission():
    return emit(Top(), "top")


def test_each_kind_is_one_module(emission):
    names = re.findall(r"^module (\w+) \(", emission.verilog, re.M)
    # A keyword is no name of a module.
    kinds = [re.sub(r"_[0-9a-f]{8}$", "_HASH", name) for name in names]
    assert sorted(kinds) == [
        *("pair_deep", "pair_no_deep", "scale_step_deep", "scale_step_no_deep", "top", "wire_HASH")
    ]
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
    header = re.search(r"^module top \((.*?)\);", emission.verilog, re.M | re.S)
    assert header is not None
    assert re.findall(r"(\w+)(?:,|\n)", header[1])[0] == "clk"
    assert set(re.findall(r"(\w+)(?:,|$)", header[1], re.M)) == set(ports)


def test_domains_reach_through_nested_blocks(emission):
    top = emission.verilog[emission.verilog.index("module top (") :]
    moved = re.search(r" moved \((.*?)\);", top, re.S)
    assert moved is not None
    assert ".clk(matrix_clk)" in moved[1]
    assert ".late_clk(dma_clk)" in moved[1]
    wire = re.search(r"^module wire_\w+ \((.*?)\);", emission.verilog, re.M | re.S)
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
    assert len(re.findall(r"\[\d+\] = 8'[hd]", text)) == 64
    assert "initial" in text


def test_registers_keep_their_reset():
    class Counter(wiring.Component):
        o: Out(4, init=3)

        def elaborate(self, platform):
            m = Module()
            m.d.sync += self.o.eq(self.o + 1)
            return m

    text = emit(Counter(), "counter").verilog
    assert re.search(r"if \(rst\).*?<= 4'd3;", text, re.S)


def test_no_trace_of_the_machine(emission):
    assert "(* src" not in emission.verilog
    assert os.sep + "spica" not in emission.verilog
    assert emission.verilog.startswith("// Generated by Spica")


@pytest.mark.full
def test_same_bytes_in_every_process(emission):
    program = (
        f"import runpy; names = runpy.run_path({__file__!r}, run_name={__name__!r}); "
        "print(names['emit'](names['Top'](), 'top').verilog, end='')"
    )
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout == emission.verilog


@pytest.mark.full
def test_patches_change_no_byte(emission, monkeypatch):
    monkeypatch.setattr("spica.hw.emit.amaranth_patches.PATCHES", ())
    assert emit(Top(), "top").verilog == emission.verilog
    blank = emit(Storage(), "storage").verilog
    monkeypatch.undo()
    assert emit(Storage(), "storage").verilog == blank


def test_patches_are_off_outside_an_emission():
    # No other thread emits meanwhile.
    with amaranth_patches.LOCK, pytest.raises(AssertionError):
        _nir.Value([1.5])


def test_overlapping_emissions_restore_amaranth(emission):
    """The second emission begins while the first one is patched, and ends after it."""
    patched, begun, ended = threading.Event(), threading.Event(), threading.Event()
    texts = {}

    class First(Top):
        def elaborate(self, platform):
            patched.set()
            assert begun.wait(60)
            time.sleep(0.1)  # the other thread reaches its conversion, or the lock
            return super().elaborate(platform)

    class Second(Top):
        def elaborate(self, platform):
            assert ended.wait(60)
            assert _nir.Value.__new__ is not originals[0]
            return super().elaborate(platform)

    def first():
        texts["first"] = emit(First(), "top").verilog
        ended.set()

    def second():
        assert patched.wait(60)
        begun.set()
        texts["second"] = emit(Second(), "top").verilog

    with amaranth_patches.LOCK:
        originals = _nir.Value.__new__, _nir.Netlist.check_comb_cycles
    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    # The comment before the top names its class.
    expected = emission.verilog[emission.verilog.index("module top (") :]
    for text in texts.values():
        assert text[text.index("module top (") :] == expected
    assert len(texts) == 2
    with amaranth_patches.LOCK:
        assert (_nir.Value.__new__, _nir.Netlist.check_comb_cycles) == originals


def test_patches_are_restored_after_an_error():
    class Broken(wiring.Component):
        o: Out(1)

        def elaborate(self, platform):
            raise ZeroDivisionError

    with amaranth_patches.LOCK:
        before = _nir.Value.__new__, _nir.Netlist.check_comb_cycles
        with pytest.raises(ZeroDivisionError):
            emit(Broken(), "broken")
        assert (_nir.Value.__new__, _nir.Netlist.check_comb_cycles) == before


@pytest.mark.parametrize(
    ("version", "good"), [("0.5.10", True), ("0.5.99", True), ("0.6.0", False)]
)
def test_patches_are_for_known_versions_of_amaranth(monkeypatch, version, good):
    monkeypatch.setattr("importlib.metadata.version", lambda name: version)
    if good:
        with amaranth_patches.patched_amaranth():
            pass
        return
    message = "Amaranth must be at least 0.5.10 and below 0.6 for emission, not 0.6.0"
    with pytest.raises(RuntimeError, match=message), amaranth_patches.patched_amaranth():
        pass


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
    Fragment.get(block, None)  # Amaranth warns about components that are never elaborated
    return module_name(block)


def test_names_have_class_and_every_field():
    name = name_of(ScaleStep(ElementConfig()))
    assert re.fullmatch(r"scale_step_[0-9a-f]{8}", name)
    assert name_of(Pair(ElementConfig())) != name
    for change in ({"width": 9}, {"deep": True}, {"remark": "hidden from repr"}):
        assert name_of(ScaleStep(replace(ElementConfig(), **change))) != name


@dataclass(frozen=True, kw_only=True)
class WithOption:
    """Config with an option that most blocks do not have."""

    width: int
    ways: int = field(default=1, metadata=OPTIONAL)


def test_module_names_do_not_depend_on_files():
    kind = type("Wire", (Wire,), {"__module__": "elsewhere"})
    kind.__qualname__ = Wire.__qualname__
    assert name_of(kind(8)) == name_of(Wire(8))


def test_shared_block_can_be_the_top():
    emission = emit(ScaleStep(ElementConfig()), "step")
    assert "module step (" in emission.verilog
    assert emission.modules == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1, None, "a"), "(1, None, 'a')"),
        ({"b": 1, "a": 2.5}, "{'b': 1, 'a': 2.5}"),
        (frozenset({3, 1, 2}), "{1, 2, 3}"),
        (ElementConfig(), "ElementConfig(width=8, deep=False, remark='')"),
        (WithOption(width=2), "WithOption(width=2)"),
        (WithOption(width=2, ways=1), "WithOption(width=2)"),
        (WithOption(width=2, ways=3), "WithOption(width=2, ways=3)"),
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
    """Each stage uses the previous one three times, as unnamed expressions."""

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


class Keyword(SharedBlock):
    """A block with a port whose name is a keyword."""

    def __init__(self, config):
        self.config = config
        super().__init__({"table": In(config), "output": Out(config)})

    def build(self, platform):
        m = Module()
        m.d.comb += self.output.eq(~self.table)
        return m


class Keywords(wiring.Component):
    """Two of them in a chain."""

    table: In(4)
    output: Out(4)

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = Keyword(4)
        m.submodules.second = second = Keyword(4)
        m.d.comb += [
            first.table.eq(self.table),
            second.table.eq(first.output + 1),
            self.output.eq(second.output),
        ]
        return m


def test_ports_may_have_the_names_of_keywords():
    for simulated in (False, True):
        emission = emit(Keywords(), "keywords", simulated=simulated)
        assert [port.name for port in emission.ports] == ["table", "output"]
        assert lint(emission) == []
